# `canzona run` itself on the double of the driver: the loader finds
# tests/run/NAME/libcuda.so.1, with the kernels of one plan, in the driver's place
# and a double in NVRTC's, which has parts of the runtime that the command has, too.
# It is behind cuda_double.cmake and cuda_driver.cmake.
set(run_script ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/run.py)
if(TARGET double_collect)
  set_target_properties(double_collect PROPERTIES POSITION_INDEPENDENT_CODE ON)

  # NAME FILE WHAT STEPS OPTIONS...: `double` and `nccl` run strict plans, as --check
  # does, `values` those of `build`, as --check=values.
  function(cz_run_on_double name file what steps)
    set(folder ${CMAKE_BINARY_DIR}/tests/run/${name})
    set(source ${folder}/run_${name}.cz)
    configure_file(${CMAKE_SOURCE_DIR}/${file} ${source} COPYONLY)
    if(NOT what STREQUAL values)
      cz_double_program(run_${name} ${source} --strict ${ARGN})
    else()
      cz_double_program(run_${name} ${source} ${ARGN})
    endif()
    set_target_properties(double_run_${name} PROPERTIES
      POSITION_INDEPENDENT_CODE ON)
    add_library(cuda_run_${name} SHARED gpu/double/run_double.c
      $<TARGET_OBJECTS:fake_bodies>)
    target_include_directories(cuda_run_${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_definitions(cuda_run_${name} PRIVATE PROGRAM=run_${name})
    target_link_libraries(cuda_run_${name} PRIVATE double_run_${name}
      double_collect plain_bodies fake_cuda czr_cuda cz_warnings)
    set_target_properties(cuda_run_${name} PROPERTIES LINKER_LANGUAGE CXX
      OUTPUT_NAME cuda SUFFIX .so.1 LIBRARY_OUTPUT_DIRECTORY ${folder})
    add_dependencies(cuda_run_${name} double_nvrtc)
    cz_cuda_check(cuda_run_${name} 240 cuda ${run_script} ${what}
      $<TARGET_FILE:canzona> $<TARGET_FILE:double_nvrtc> ${source} ${steps}
      ${ARGN})
    set_tests_properties(cuda_run_${name} PROPERTIES ENVIRONMENT
      ASAN_OPTIONS=detect_odr_violation=0)
  endfunction()

  # Matrices that four ranks share, and on a mesh of both kinds of axes; fused
  # storage, in bf16; roots, by the host; one by one.
  cz_run_on_double(few tests/fixtures/plans/few.cz double 2 -D few.d=16)
  cz_run_on_double(few_square tests/fixtures/plans/few.cz double 2 -D few.d=16
    -D mesh.dp=2 -D mesh.tp=2)
  cz_run_on_double(fused tests/fixtures/plans/fused.cz double 2)
  cz_run_on_double(shampoo tests/fixtures/gpu/shampoo.cz double 4)
  cz_run_on_double(loopback tests/fixtures/gpu/loopback.cz double 3)
  # Angles, and a group for each layer.
  cz_run_on_double(by_layer tests/fixtures/plans/by_layer.cz double 3)
  # A process over NCCL.
  cz_run_on_double(solo tests/fixtures/gpu/loopback.cz nccl 3 -D mesh.dp=1
    -D mesh.tp=1)
  set_property(TEST cuda_run_solo APPEND PROPERTY ENVIRONMENT
    ASAN_OPTIONS=detect_odr_violation=0:detect_leaks=0)
  set_tests_properties(cuda_run_solo PROPERTIES SKIP_RETURN_CODE 77)
  # Bodies of tensor cores, of equal matrices at once.
  cz_run_on_double(batches tests/fixtures/gpu/batches.cz values 2)

  # Ranges of the same run, for a tool of NVTX that lists them.
  if(NVTX_HEADER)
    add_library(nvtx_ranges MODULE gpu/double/nvtx_ranges.c)
    target_include_directories(nvtx_ranges SYSTEM PRIVATE ${NVTX_HEADER})
    target_link_libraries(nvtx_ranges PRIVATE cz_warnings)
    cz_cuda_check(cuda_run_ranges 240 cuda ${run_script} ranges
      $<TARGET_FILE:canzona> $<TARGET_FILE:double_nvrtc>
      ${CMAKE_BINARY_DIR}/tests/run/loopback/run_loopback.cz 4
      $<TARGET_FILE:nvtx_ranges>)
    set_tests_properties(cuda_run_ranges PROPERTIES ENVIRONMENT
      ASAN_OPTIONS=detect_odr_violation=0)
  endif()

  cz_cuda_check(cuda_run_faults 240 cuda ${run_script} faults
    $<TARGET_FILE:canzona> $<TARGET_FILE:double_nvrtc>
    ${CMAKE_BINARY_DIR}/tests/run/loopback/run_loopback.cz 3)
  set_tests_properties(cuda_run_faults PROPERTIES ENVIRONMENT
    ASAN_OPTIONS=detect_odr_violation=0)
endif()

# On the machine's GPU; without one, or without NVRTC, it says skipped.
cz_cuda_check_if(cuda_gpu_run 300 "cuda;gpu" ${run_script} gpu $<TARGET_FILE:canzona>
  ${pinned} ${CMAKE_SOURCE_DIR}/examples/gpt.cz 4 -D mesh.dp=2 -D mesh.tp=2)
