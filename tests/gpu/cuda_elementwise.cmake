# Generated element-wise kernels: on the model of the device beside the loops of C,
# with bugs planted, and by NVRTC where cuda.cmake finds one.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(elementwise ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels)
  add_test(NAME cuda_elementwise COMMAND ${elementwise}/elementwise.py
    $<TARGET_FILE:canzona> ${CMAKE_CXX_COMPILER} 3 1)
  set_tests_properties(cuda_elementwise PROPERTIES TIMEOUT 240 LABELS cuda)
  add_test(NAME cuda_elementwise_long COMMAND ${elementwise}/elementwise.py
    $<TARGET_FILE:canzona> ${CMAKE_CXX_COMPILER} 40 100)
  set_tests_properties(cuda_elementwise_long PROPERTIES TIMEOUT 1200
    LABELS "cuda;nightly")
  set(mutants ${elementwise}/elementwise_mutants.py $<TARGET_FILE:canzona>
    ${CMAKE_CXX_COMPILER})
  add_test(NAME cuda_elementwise_mutants COMMAND ${mutants} --few)
  set_tests_properties(cuda_elementwise_mutants PROPERTIES TIMEOUT 120
    LABELS cuda)
  add_test(NAME cuda_elementwise_mutants_long COMMAND ${mutants})
  set_tests_properties(cuda_elementwise_mutants_long PROPERTIES TIMEOUT 600
    LABELS "cuda;nightly")

  add_test(NAME cuda_elementwise_parts COMMAND ${elementwise}/elementwise_parts.py
    $<TARGET_FILE:canzona> ${CMAKE_CXX_COMPILER} 20 1)
  set_tests_properties(cuda_elementwise_parts PROPERTIES TIMEOUT 240 LABELS cuda)

  add_executable(cuda_pack gpu/kernels/pack_test.cpp ${CMAKE_SOURCE_DIR}/runtime/cuda/collect/pack.c)
  set_target_properties(cuda_pack PROPERTIES CXX_STANDARD 17
    CXX_STANDARD_REQUIRED ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(cuda_pack PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/runtime/cuda/kernels)
  target_compile_options(cuda_pack PRIVATE -O2 -Wall -Wextra -Wshadow -Werror
    -Wno-unknown-pragmas -Wno-psabi -Wno-pass-failed)
  add_test(NAME cuda_pack COMMAND cuda_pack 100 1)
  set(mutants ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/pack_mutants.py
    ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR})
  add_test(NAME cuda_pack_mutants COMMAND ${mutants} --few)
  set_tests_properties(cuda_pack cuda_pack_mutants PROPERTIES TIMEOUT 60
    LABELS cuda)
  add_test(NAME cuda_pack_long COMMAND cuda_pack 5000 1000)
  add_test(NAME cuda_pack_mutants_long COMMAND ${mutants})
  set_tests_properties(cuda_pack_long cuda_pack_mutants_long PROPERTIES
    TIMEOUT 600 LABELS "cuda;nightly")
endif()

add_executable(cuda_elementwise_compile gpu/compile/elementwise_compile_test.c
  gpu/compile/compiling.c)
target_include_directories(cuda_elementwise_compile PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(cuda_elementwise_compile PRIVATE czr_cuda cz_warnings)
set_target_properties(cuda_elementwise_compile PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(golden ${CMAKE_CURRENT_SOURCE_DIR}/golden/cuda)
set(compile $<TARGET_FILE:cuda_elementwise_compile> ${installed} ${pinned})
add_test(NAME cuda_elementwise_compile COMMAND ${compile} ${golden}/forms.cu
  ${golden}/parts.strict.cu)
foreach(levels 0 3)
  add_test(NAME cuda_plain_compile_${levels} COMMAND ${compile} -DKERNEL=kernel
    -DLEVELS=${levels} ${CMAKE_SOURCE_DIR}/runtime/cuda/kernels/product_plain.cu)
  set_tests_properties(cuda_plain_compile_${levels} PROPERTIES TIMEOUT 60
    LABELS cuda SKIP_RETURN_CODE 77 ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endforeach()
add_test(NAME cuda_elementwise_compile_long COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/elementwise_compile.py $<TARGET_FILE:canzona>
  ${compile})
set_tests_properties(cuda_elementwise_compile cuda_elementwise_compile_long
  PROPERTIES TIMEOUT 300 LABELS cuda SKIP_RETURN_CODE 77
  ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
set_property(TEST cuda_elementwise_compile_long APPEND PROPERTY LABELS nightly)
