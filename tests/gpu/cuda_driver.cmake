# What drives CUDA, on a test double of the driver: a shared library that does
# what the driver's documentation says.  No GPU is needed, and none is proven.
file(GLOB fake CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/double/fake_*.c)
add_library(fake_cuda SHARED ${fake})
target_include_directories(fake_cuda PRIVATE ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/runtime)
target_link_libraries(fake_cuda PRIVATE cz_warnings)
# A test spoils names of functions: the library finds its own without them.
target_link_options(fake_cuda PRIVATE -Wl,-Bsymbolic)
set_target_properties(fake_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Kernels that it runs.
add_library(fake_bodies OBJECT gpu/bodies/product_bodies.c)
target_include_directories(fake_bodies PRIVATE ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/runtime)
target_link_libraries(fake_bodies PRIVATE cz_warnings)
set_target_properties(fake_bodies PROPERTIES POSITION_INDEPENDENT_CODE ON)

# Bodies themselves, on the model of the device.
if(CMAKE_CXX_COMPILER)
  add_library(plain_bodies STATIC gpu/bodies/plain_bodies.cpp)
  cz_model_bodies(plain_bodies)
  set_target_properties(plain_bodies PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()

set(folders driver products world plan)
list(TRANSFORM folders PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/gpu/)
list(TRANSFORM folders APPEND /*_test.c)
file(GLOB tests CONFIGURE_DEPENDS ${folders})
# Where cuda_double.cmake has kernels run.
if(TARGET double_factor)
  set(factorise factorise_library factorise_newton)
else()
  list(FILTER tests EXCLUDE REGEX "factorise_(library|newton)_test")
endif()
foreach(file ${tests})
  get_filename_component(stem ${file} NAME_WE)
  set(name cuda_driver_${stem})
  string(REPLACE "_driver_driver" "_driver" name ${name})
  cz_cuda_program(${name} "fake_cuda;czr_cuda;cz_solve;PkgConfig::CMOCKA" ${file}
    $<TARGET_OBJECTS:fake_bodies>)
  cz_cuda_check(${name} 120 "unit;cuda" ${name}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

# Sums, packing and decisions by the host's functions.
foreach(name box world_nccl world_nccl_fault)
  target_sources(cuda_driver_${name}_test PRIVATE gpu/plan/host_collect.c
    gpu/plan/host_judge.c gpu/plan/deferred.c)
endforeach()

# The same bits on a GPU, with an NVRTC that tests/gpu/cuda.cmake knows of;
# without either the tests say skipped.
foreach(name queue graph multiply multiply_tensor multiply_batch multiply_chosen
    ${factorise})
  cz_cuda_check_if(cuda_gpu_${name} 240 "cuda;gpu" cuda_driver_${name}_test gpu
    ${installed} ${pinned})
endforeach()
cz_cuda_check_if(cuda_gpu_text 120 "cuda;gpu" cuda_driver_queue_test text
  ${installed} ${pinned})

cz_cuda_mutants(cuda_driver_mutants 120 600 driver/mutants.py ${CMAKE_C_COMPILER}
  ${CMAKE_SOURCE_DIR})
cz_cuda_mutants(cuda_nccl_mutants 240 1200 driver/nccl_mutants.py
  ${CMAKE_C_COMPILER} ${CMAKE_SOURCE_DIR})
set_property(TEST cuda_nccl_mutants APPEND PROPERTY LABELS nightly)

find_library(NCCL_LIBRARY libnccl.so.2 HINTS ENV CUDA_PATH PATHS /usr/local/cuda
  PATH_SUFFIXES lib lib64)
if(NOT NCCL_LIBRARY)
  set(NCCL_LIBRARY libnccl.so.2)
endif()
cz_cuda_check_if(cuda_nccl_library 60 cuda cuda_driver_nccl_test library
  ${NCCL_LIBRARY})

# The benchmark of products, whole, on doubles of all that it opens.
add_library(double_nvrtc MODULE gpu/double/double_nvrtc.c gpu/compile/fake_nvrtc.c
  $<TARGET_OBJECTS:fake_bodies>)
add_library(double_cublas MODULE gpu/double/double_cublas.c)
add_library(double_cublaslt MODULE gpu/double/double_cublaslt.c)
add_library(double_cusolver MODULE gpu/double/double_cusolver.c)
foreach(name nvrtc cublas cublaslt cusolver)
  target_include_directories(double_${name} PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/runtime)
  target_link_libraries(double_${name} PRIVATE fake_cuda czr_cuda cz_warnings)
endforeach()
target_link_libraries(cuda_driver_bench_gpu_test PRIVATE bench_gpu_parts)
target_compile_definitions(cuda_driver_bench_gpu_test PRIVATE
  NVRTC_PATH="$<TARGET_FILE:double_nvrtc>"
  CUBLAS_PATH="$<TARGET_FILE:double_cublas>"
  CUBLASLT_PATH="$<TARGET_FILE:double_cublaslt>")
add_dependencies(cuda_driver_bench_gpu_test double_nvrtc double_cublas
  double_cublaslt)
target_link_libraries(cuda_driver_bench_gpu_test PRIVATE plain_bodies)
target_link_libraries(double_nvrtc PRIVATE plain_bodies)

# Products and factorisations of stages.
foreach(name multiply multiply_tensor multiply_batch multiply_chosen
    multiply_library ${factorise} target)
  target_link_libraries(cuda_driver_${name}_test PRIVATE plain_bodies fake_cuda)
  target_compile_definitions(cuda_driver_${name}_test PRIVATE
    NVRTC_PATH="$<TARGET_FILE:double_nvrtc>"
    CUBLAS_PATH="$<TARGET_FILE:double_cublaslt>"
    CUBLASLT_PATH="$<TARGET_FILE:double_cublaslt>"
    CUSOLVER_PATH="$<TARGET_FILE:double_cusolver>")
  add_dependencies(cuda_driver_${name}_test double_nvrtc double_cublaslt
    double_cusolver)
endforeach()
if(TARGET double_factor)
  foreach(name library newton)
    target_link_libraries(cuda_driver_factorise_${name}_test PRIVATE double_factor)
    set_tests_properties(cuda_driver_factorise_${name}_test PROPERTIES
      TIMEOUT 240 SKIP_RETURN_CODE 77)
  endforeach()
  find_library(CUSOLVER_LIBRARY NAMES libcusolver.so.12 libcusolver.so.11
    HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES lib lib64)
  if(NOT CUSOLVER_LIBRARY)
    set(CUSOLVER_LIBRARY libcusolver.so.12)
  endif()
  cz_cuda_check_if(cuda_cusolver_library 60 cuda
    cuda_driver_factorise_library_test library ${CUSOLVER_LIBRARY})
endif()
