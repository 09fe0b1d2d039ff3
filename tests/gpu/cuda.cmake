# What files beside this one make tests of.

# cz_cuda_program(NAME LIBRARIES FILES...): a program in C.
function(cz_cuda_program name libraries)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/runtime)
  target_link_libraries(${name} PRIVATE ${libraries} cz_warnings)
  target_compile_definitions(${name} PRIVATE FAKE_PATH="$<TARGET_FILE:fake_cuda>")
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

# cz_model_program(NAME PLAN LIBRARIES FILES...): one with kernels on the model of
# the device, by the doubles of driver and NVRTC; PROGRAM is PLAN.
function(cz_model_program name plan libraries)
  cz_cuda_program(${name} "${libraries};plain_bodies;fake_cuda;czr_cuda;PkgConfig::CMOCKA"
    ${ARGN})
  target_compile_definitions(${name} PRIVATE PROGRAM=${plan}
    NVRTC_PATH="$<TARGET_FILE:double_nvrtc>")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  add_dependencies(${name} double_nvrtc)
endfunction()

# cz_model_bodies(NAME): whose C++ has bodies of kernels and the model.
function(cz_model_bodies name)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/runtime ${CMAKE_SOURCE_DIR}/runtime/cuda/kernels)
  target_compile_options(${name} PRIVATE -O2 -Wall -Wextra -Wshadow -Werror
    -Wno-unknown-pragmas -Wno-psabi -Wno-pass-failed)
endfunction()

# cz_cuda_check(NAME SECONDS LABELS COMMAND...): a test.
function(cz_cuda_check name seconds labels)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} LABELS "${labels}")
endfunction()

# cz_cuda_check_if(NAME SECONDS LABELS COMMAND...): a test that says skipped where
# there is no GPU or no library.  What NVRTC itself never frees is no leak of ours.
function(cz_cuda_check_if name seconds labels)
  cz_cuda_check(${name} ${seconds} "${labels}" ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endfunction()

# cz_cuda_mutants(NAME SECONDS LONG SCRIPT ARGUMENTS...): some of the bugs that a
# script of tests/gpu plants, and nightly, in so many seconds, all.
function(cz_cuda_mutants name seconds long script)
  set(command ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/${script} ${ARGN})
  cz_cuda_check(${name} ${seconds} cuda ${command} --few COMMAND_EXPAND_LISTS)
  cz_cuda_check(${name}_long ${long} "cuda;nightly" ${command} COMMAND_EXPAND_LISTS)
endfunction()

# CUDA without a GPU: kernel bodies run on a model of the device, in C++ and for
# x86-64 alone; tests/gpu/simt/fibers.hpp switches stacks.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  if(CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
  enable_language(CXX)
  add_library(cuda_tiles OBJECT ${CMAKE_SOURCE_DIR}/passes/gpu/tile_order.c)
  target_include_directories(cuda_tiles PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(cuda_tiles PRIVATE cz_warnings)

  # cz_cuda_test(NAME FILE DEFINITIONS...): one body, specialised.
  function(cz_cuda_test name file)
    add_executable(cuda_${name} gpu/kernels/${file}.cpp $<TARGET_OBJECTS:cuda_tiles>)
    cz_model_bodies(cuda_${name})
    target_compile_definitions(cuda_${name} PRIVATE ${ARGN})
    cz_cuda_check(cuda_${name} 60 cuda cuda_${name} 2)
    cz_cuda_check(cuda_${name}_long 600 "cuda;nightly" cuda_${name} 100 100)
  endfunction()

  # Rows and columns of a tile, stages, buffers; orders of the operands.
  foreach(tile "128;128;5;2;0;0" "128;192;4;2;0;1" "128;256;3;2;1;1" "128;256;4;1;1;0"
      "192;192;3;1;1;1")
    list(GET tile 0 m)
    list(GET tile 1 n)
    list(GET tile 2 stages)
    list(GET tile 3 buffers)
    list(GET tile 4 m_major)
    list(GET tile 5 n_major)
    cz_cuda_test(sm90_symmetric_${m}x${n}x${stages} product_sm90_test BM=${m}
      BN=${n} STAGES=${stages} BUFFERS=${buffers} SYMMETRIC=1 M_MAJOR=${m_major}
      N_MAJOR=${n_major})
  endforeach()
  foreach(order nt:0:0 nn:0:1 tt:1:0 tn:1:1)
    string(REPLACE ":" ";" order ${order})
    list(GET order 0 name)
    list(GET order 1 m_major)
    list(GET order 2 n_major)
    cz_cuda_test(sm90_${name} product_sm90_test BM=128 BN=256 STAGES=4 BUFFERS=2
      SYMMETRIC=0 M_MAJOR=${m_major} N_MAJOR=${n_major})
    cz_cuda_test(sm80_${name} product_sm80_test SYMMETRIC=0 M_MAJOR=${m_major}
      N_MAJOR=${n_major})
  endforeach()
  cz_cuda_test(sm80_symmetric product_sm80_test SYMMETRIC=1 M_MAJOR=1 N_MAJOR=1)

  cz_cuda_test(sm90_symmetric_f16 product_sm90_test BM=128 BN=128 STAGES=5
    BUFFERS=2 SYMMETRIC=1 M_MAJOR=0 N_MAJOR=1 FP16=1)
  cz_cuda_test(sm90_tn_f16 product_sm90_test BM=128 BN=256 STAGES=4 BUFFERS=2
    SYMMETRIC=0 M_MAJOR=1 N_MAJOR=1 FP16=1)
  cz_cuda_test(sm80_symmetric_f16 product_sm80_test SYMMETRIC=1 M_MAJOR=0 N_MAJOR=0
    FP16=1)
  cz_cuda_test(sm80_nn_f16 product_sm80_test SYMMETRIC=0 M_MAJOR=0 N_MAJOR=1 FP16=1)

  # Against the host's product in a fixed order.
  foreach(levels 0 3)
    cz_cuda_test(plain_product_${levels} product_plain_test LEVELS=${levels})
    target_link_libraries(cuda_plain_product_${levels} PRIVATE czr_cuda)
  endforeach()

  cz_cuda_mutants(cuda_mutants 120 2400 kernels/kernel_mutants.py
    ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR})
endif()

# Bodies of products for all tiles, forms and targets, by an installed NVRTC that is
# new enough, else by the one that `nvrtc` puts into the build folder; without either
# the test says skipped.  Machine code nightly.
find_library(NVRTC NAMES libnvrtc.so.13 libnvrtc.so.12 nvrtc
  HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES lib64 lib)
set(installed ${NVRTC})
if(NOT NVRTC)
  set(installed libnvrtc.so)
endif()
set(folder ${CMAKE_BINARY_DIR}/nvrtc)
set(pinned ${folder}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12)
set(compiling gpu/compile/compiling.c gpu/compile/cubin.c)
cz_cuda_program(cuda_compile "czr_cuda;cz_solve" gpu/compile/compile_test.c
  ${compiling})
cz_cuda_check_if(cuda_compile 300 cuda cuda_compile text ${installed} ${pinned})
cz_cuda_check_if(cuda_compile_long 300 "cuda;nightly" cuda_compile code ${installed}
  ${pinned})
# Older versions pack instructions otherwise: `make test-nvrtc` has both.
cz_cuda_check_if(cuda_compile_pinned 300 "cuda;nightly" cuda_compile code ${pinned})

# `nvrtc` fetches; `nvrtc_if_none` where no installed one serves.
set(fetch ${CMAKE_COMMAND} -DPYTHON=${PYTHON} -DFOLDER=${folder})
set(script ${CMAKE_SOURCE_DIR}/cmake/nvrtc.cmake)
add_custom_target(nvrtc COMMAND ${fetch} -P ${script} VERBATIM)
add_custom_target(nvrtc_if_none COMMAND ${fetch}
  -DPROBE=$<TARGET_FILE:cuda_compile> -DINSTALLED=${installed} -P ${script}
  DEPENDS cuda_compile VERBATIM)
cz_cuda_check(cuda_nvrtc_fetch 60 cuda ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/compile/nvrtc_fetch.py ${CMAKE_COMMAND}
  ${CMAKE_SOURCE_DIR})

# The cache of compiled code, above a compiler that is none.
add_library(cuda_fake_nvrtc MODULE gpu/compile/fake_nvrtc.c gpu/compile/fake_nvrtc_copy.c)
target_include_directories(cuda_fake_nvrtc PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cuda_fake_nvrtc PRIVATE cz_warnings)
foreach(name cache cache_folder)
  cz_cuda_program(cuda_${name} "czr_cuda;PkgConfig::CMOCKA;${CMAKE_DL_LIBS}"
    gpu/compile/${name}_test.c gpu/compile/cache_setting.c)
  cz_cuda_check(cuda_${name} 60 cuda cuda_${name} $<TARGET_FILE:cuda_fake_nvrtc>)
endforeach()

# Plans of products with the compiler's tiles, and the runtime's checks of them.
cz_cuda_program(cuda_product_host "czr_cuda;cz_solve;PkgConfig::CMOCKA"
  gpu/kernels/product_host_test.c)
cz_cuda_check(cuda_product_host 60 cuda cuda_product_host)

# What all kernels of a plan take to compile, and from the cache.
cz_cuda_program(cuda_plan_kernels "czr_cuda;cz_solve"
  gpu/compile/plan_kernels_test.c ${compiling})
cz_cuda_check_if(cuda_plan_kernels 300 "cuda;nightly" ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/compile/plan_kernels.py $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/qwen3-32b.cz $<TARGET_FILE:cuda_plan_kernels>
  ${installed} ${pinned})
