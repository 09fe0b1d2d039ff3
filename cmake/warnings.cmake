# The warnings every file of ours is compiled with, and the sanitizers.
option(CANZONA_SANITIZE "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(CANZONA_TSAN "ThreadSanitizer" OFF)
option(CANZONA_COVERAGE "gcov counters" OFF)
option(CANZONA_FUZZ "libFuzzer programs of tests/fuzz; needs clang" OFF)

# clang takes the text of assert(!"text") for a mistake.
add_library(cz_warnings INTERFACE)
target_compile_options(cz_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow
  -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wformat=2
  -Wswitch-enum -Wcast-qual
  $<$<C_COMPILER_ID:Clang>:-Wno-string-conversion>)

if(CANZONA_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(CANZONA_TSAN)
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
endif()
if(CANZONA_FUZZ)
  # Comparisons are not traced: dictionaries do that work at half the cost.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-coverage=trace-cmp -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(CZ_ARENA_BLOCK_BYTES=0)
endif()
if(CANZONA_COVERAGE)
  # Ranks are threads: counters must not race.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
add_compile_options(-ffp-contract=off -fno-math-errno)
# Our own mistakes are asserted in every build: they cost little.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

# Bounds that the C library can check are checked, and addresses of functions are
# read-only once a program runs: of what is shipped.  Instruments do better, and
# bring their own.
macro(cz_harden)
  if(NOT CANZONA_SANITIZE AND NOT CANZONA_TSAN AND NOT CANZONA_FUZZ)
    add_compile_options(-fstack-protector-strong
      $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
      $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
    add_link_options(LINKER:-z,relro,-z,now)
  endif()
endmacro()
