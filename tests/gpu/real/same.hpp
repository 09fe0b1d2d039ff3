// Whether a prototype of ours is that of a header: as many arguments, each of the
// same size, pointers where it has pointers; likewise the result.
#ifndef TESTS_GPU_REAL_SAME_HPP
#define TESTS_GPU_REAL_SAME_HPP

#include <type_traits>

template <typename A, typename B> constexpr bool is_same()
{
    return sizeof(A) == sizeof(B) &&
           std::is_pointer<A>::value == std::is_pointer<B>::value;
}

template <typename F, typename G> struct same;
template <typename Q, typename... A, typename R, typename... B>
struct same<Q (*)(A...), R (*)(B...)> {
    static constexpr bool value()
    {
        if constexpr (sizeof...(A) == sizeof...(B))
            return is_same<Q, R>() && (is_same<A, B>() && ...);
        else
            return false;
    }
};

#endif
