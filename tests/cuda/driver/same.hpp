// Whether a prototype of ours is that of a header: as many arguments, each of the
// same size, pointers where it has pointers.
#ifndef TESTS_CUDA_SAME_HPP
#define TESTS_CUDA_SAME_HPP

#include <type_traits>

template <typename A, typename B> constexpr bool is_same()
{
    return sizeof(A) == sizeof(B) &&
           std::is_pointer<A>::value == std::is_pointer<B>::value;
}

template <typename F, typename G> struct same;
template <typename... A, typename R, typename... B>
struct same<int (*)(A...), R (*)(B...)> {
    static constexpr bool value()
    {
        if constexpr (sizeof...(A) == sizeof...(B))
            return sizeof(R) == sizeof(int) && (is_same<A, B>() && ...);
        else
            return false;
    }
};

#endif
