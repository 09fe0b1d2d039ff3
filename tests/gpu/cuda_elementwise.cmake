# Generated element-wise kernels: on the model of the device beside the loops of C,
# with bugs planted, and by NVRTC where cuda.cmake finds one.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(elementwise ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels)
  set(program $<TARGET_FILE:canzona> ${CMAKE_CXX_COMPILER})
  cz_cuda_check(cuda_elementwise 240 cuda ${elementwise}/elementwise.py ${program} 3 1)
  cz_cuda_check(cuda_elementwise_long 1200 "cuda;nightly"
    ${elementwise}/elementwise.py ${program} 40 100)
  cz_cuda_mutants(cuda_elementwise_mutants 120 600 kernels/elementwise_mutants.py
    ${program})
  cz_cuda_check(cuda_elementwise_parts 240 cuda ${elementwise}/elementwise_parts.py
    ${program} 20 1)

  add_executable(cuda_pack gpu/kernels/pack_test.cpp
    ${CMAKE_SOURCE_DIR}/runtime/cuda/collect/pack.c)
  cz_model_bodies(cuda_pack)
  cz_cuda_check(cuda_pack 60 cuda cuda_pack 100 1)
  cz_cuda_check(cuda_pack_long 600 "cuda;nightly" cuda_pack 2000 1000)
  cz_cuda_mutants(cuda_pack_mutants 60 600 kernels/pack_mutants.py
    ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR})
endif()

cz_cuda_program(cuda_elementwise_compile czr_cuda
  gpu/compile/elementwise_compile_test.c gpu/compile/compiling.c)
set(golden ${CMAKE_CURRENT_SOURCE_DIR}/golden/cuda)
set(compile $<TARGET_FILE:cuda_elementwise_compile> ${installed} ${pinned})
cz_cuda_check_if(cuda_elementwise_compile 300 cuda ${compile} ${golden}/forms.cu
  ${golden}/parts.strict.cu)
foreach(levels 0 3)
  cz_cuda_check_if(cuda_plain_compile_${levels} 60 cuda ${compile} -DKERNEL=kernel
    -DLEVELS=${levels} ${CMAKE_SOURCE_DIR}/runtime/cuda/kernels/product_plain.cu)
endforeach()
cz_cuda_check_if(cuda_elementwise_compile_long 300 "cuda;nightly" ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/elementwise_compile.py $<TARGET_FILE:canzona>
  ${compile})
