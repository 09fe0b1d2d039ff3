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
    set_target_properties(cuda_${name} PROPERTIES CXX_STANDARD 17
      CXX_STANDARD_REQUIRED ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_include_directories(cuda_${name} PRIVATE ${CMAKE_SOURCE_DIR}
      ${CMAKE_SOURCE_DIR}/runtime/cuda/kernels)
    target_compile_definitions(cuda_${name} PRIVATE ${ARGN})
    target_compile_options(cuda_${name} PRIVATE -O2 -Wall -Wextra -Wshadow
      -Werror -Wno-unknown-pragmas -Wno-psabi -Wno-pass-failed)
    add_test(NAME cuda_${name} COMMAND cuda_${name} 2)
    set_tests_properties(cuda_${name} PROPERTIES TIMEOUT 60 LABELS cuda)
    add_test(NAME cuda_${name}_long COMMAND cuda_${name} 100 100)
    set_tests_properties(cuda_${name}_long PROPERTIES TIMEOUT 600
      LABELS "cuda;nightly")
  endfunction()

  # Rows and columns of a tile, stages, buffers, blocks of a cluster.
  foreach(tile "128;128;5;2;1" "128;192;4;2;1" "128;256;3;2;1" "128;256;4;1;1"
      "192;192;3;1;1" "256;128;3;1;1" "128;128;5;2;2" "128;192;4;2;2"
      "128;256;4;1;2")
    list(GET tile 0 m)
    list(GET tile 1 n)
    list(GET tile 2 stages)
    list(GET tile 3 buffers)
    list(GET tile 4 cluster)
    cz_cuda_test(sm90_symmetric_${m}x${n}x${stages}_${cluster} product_sm90_test
      BM=${m} BN=${n} STAGES=${stages} BUFFERS=${buffers} CLUSTER=${cluster}
      SYMMETRIC=1 N_MAJOR=0)
  endforeach()
  foreach(major 0 1)
    foreach(cluster 1 2)
      cz_cuda_test(sm90_product_${major}_${cluster} product_sm90_test BM=128
        BN=256 STAGES=4 BUFFERS=2 CLUSTER=${cluster} SYMMETRIC=0
        N_MAJOR=${major})
    endforeach()
    cz_cuda_test(sm80_product_${major} product_sm80_test SYMMETRIC=0
      N_MAJOR=${major})
  endforeach()
  cz_cuda_test(sm80_symmetric product_sm80_test SYMMETRIC=1 N_MAJOR=0)

  # Against the LAPACK that the runtime opens, where there is one.
  cz_cuda_test(eigen_4 eigen_test MAX_SWEEPS=4 WIDE_SWEEPS=3)
  cz_cuda_test(eigen_30 eigen_test MAX_SWEEPS=30 WIDE_SWEEPS=30)
  cz_cuda_test(eigen_wide eigen_test MAX_SWEEPS=2 WIDE_SWEEPS=30)
  foreach(name 4 30 wide)
    target_link_libraries(cuda_eigen_${name} PRIVATE czr)
  endforeach()

  # Against the host's product in a fixed order.
  foreach(levels 0 3)
    cz_cuda_test(plain_product_${levels} product_plain_test LEVELS=${levels})
    target_link_libraries(cuda_plain_product_${levels} PRIVATE czr_cuda)
  endforeach()

  set(command ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/kernel_mutants.py
    ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR})
  add_test(NAME cuda_mutants COMMAND ${command} --few)
  set_tests_properties(cuda_mutants PROPERTIES TIMEOUT 120 LABELS cuda)
  add_test(NAME cuda_mutants_long COMMAND ${command})
  set_tests_properties(cuda_mutants_long PROPERTIES TIMEOUT 2400
    LABELS "cuda;nightly")
endif()

# Every kernel for every target, by an installed NVRTC that is new enough, else by
# the one that `nvrtc` puts into the build folder; without either the test says
# skipped.  What NVRTC itself never frees is no leak of ours.
find_library(NVRTC NAMES libnvrtc.so.13 libnvrtc.so.12 nvrtc
  HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES lib64 lib)
set(installed ${NVRTC})
if(NOT NVRTC)
  set(installed libnvrtc.so)
endif()
set(folder ${CMAKE_BINARY_DIR}/nvrtc)
set(pinned ${folder}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12)
add_executable(cuda_compile gpu/compile/compile_test.c gpu/compile/compiling.c gpu/compile/cubin.c)
target_include_directories(cuda_compile PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cuda_compile PRIVATE czr_cuda cz_warnings)
set_target_properties(cuda_compile PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME cuda_compile COMMAND cuda_compile ${installed} ${pinned})
# Older versions pack instructions otherwise: `make test-nvrtc` has both.
add_test(NAME cuda_compile_pinned COMMAND cuda_compile ${pinned})
set_tests_properties(cuda_compile cuda_compile_pinned PROPERTIES TIMEOUT 300
  LABELS cuda SKIP_RETURN_CODE 77 ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
set_property(TEST cuda_compile_pinned APPEND PROPERTY LABELS nightly)

# `nvrtc` fetches; `nvrtc_if_none` where no installed one serves.
set(fetch ${CMAKE_COMMAND} -DPYTHON=${PYTHON} -DFOLDER=${folder})
set(script ${CMAKE_SOURCE_DIR}/cmake/nvrtc.cmake)
add_custom_target(nvrtc COMMAND ${fetch} -P ${script} VERBATIM)
add_custom_target(nvrtc_if_none COMMAND ${fetch}
  -DPROBE=$<TARGET_FILE:cuda_compile> -DINSTALLED=${installed} -P ${script}
  DEPENDS cuda_compile VERBATIM)
add_test(NAME cuda_nvrtc_fetch COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/compile/nvrtc_fetch.py ${CMAKE_COMMAND}
  ${CMAKE_SOURCE_DIR})
set_tests_properties(cuda_nvrtc_fetch PROPERTIES TIMEOUT 60 LABELS cuda)

# The cache of compiled code, above a compiler that is none.
add_library(cuda_fake_nvrtc MODULE gpu/compile/fake_nvrtc.c gpu/compile/fake_nvrtc_copy.c)
target_include_directories(cuda_fake_nvrtc PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cuda_fake_nvrtc PRIVATE cz_warnings)
foreach(name cache cache_folder)
  add_executable(cuda_${name} gpu/compile/${name}_test.c gpu/compile/cache_setting.c)
  target_include_directories(cuda_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(cuda_${name} PRIVATE czr_cuda PkgConfig::CMOCKA
    ${CMAKE_DL_LIBS} cz_warnings)
  set_target_properties(cuda_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME cuda_${name}
    COMMAND cuda_${name} $<TARGET_FILE:cuda_fake_nvrtc>)
  set_tests_properties(cuda_${name} PROPERTIES TIMEOUT 60 LABELS cuda)
endforeach()

# Plans of products with the compiler's tiles, and the runtime's checks of them.
add_executable(cuda_product_host gpu/kernels/product_host_test.c)
target_include_directories(cuda_product_host PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cuda_product_host PRIVATE czr_cuda cz_solve
  PkgConfig::CMOCKA cz_warnings)
set_target_properties(cuda_product_host PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME cuda_product_host COMMAND cuda_product_host)
set_tests_properties(cuda_product_host PROPERTIES TIMEOUT 60 LABELS cuda)

# The text that a plan puts in front of a body, for all tiles and forms: what the
# host reckons with is what the body has.  Machine code nightly.
add_executable(cuda_specialise gpu/compile/specialise_test.c gpu/compile/compiling.c
  gpu/compile/cubin.c)
target_include_directories(cuda_specialise PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cuda_specialise PRIVATE czr_cuda cz_solve cz_warnings)
set_target_properties(cuda_specialise PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME cuda_specialise COMMAND cuda_specialise text ${installed}
  ${pinned})
add_test(NAME cuda_specialise_long COMMAND cuda_specialise code
  ${installed} ${pinned})
set_tests_properties(cuda_specialise cuda_specialise_long PROPERTIES
  TIMEOUT 300 LABELS cuda SKIP_RETURN_CODE 77
  ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
set_property(TEST cuda_specialise_long APPEND PROPERTY LABELS nightly)

# What all kernels of a plan take to compile, and from the cache.
add_executable(cuda_plan_kernels gpu/compile/plan_kernels_test.c gpu/compile/compiling.c)
target_include_directories(cuda_plan_kernels PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cuda_plan_kernels PRIVATE czr_cuda cz_solve cz_warnings)
set_target_properties(cuda_plan_kernels PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME cuda_plan_kernels COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/compile/plan_kernels.py $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/qwen3-32b.cz $<TARGET_FILE:cuda_plan_kernels>
  ${installed} ${pinned})
set_tests_properties(cuda_plan_kernels PROPERTIES TIMEOUT 300
  LABELS "cuda;nightly" SKIP_RETURN_CODE 77
  ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
