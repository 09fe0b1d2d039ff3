# The engine's own kernels on the model of the device beside the host's functions.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(part sum step memory)
    cz_cuda_test(collect_${part} collect_${part}_test)
    target_link_libraries(cuda_collect_${part} PRIVATE czr)
    # Draws are small, so there are many.
    add_test(NAME cuda_collect_${part}_many COMMAND cuda_collect_${part} 50 7)
    set_tests_properties(cuda_collect_${part}_many PROPERTIES TIMEOUT 120
      LABELS cuda)
  endforeach()
  # Mutants are built without sanitizers, so the library has to be.
  if(NOT CANZONA_SANITIZE AND NOT CANZONA_TSAN)
    set(mutants ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/collect_mutants.py
      ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR} $<TARGET_FILE:czr>)
    add_test(NAME cuda_collect_mutants COMMAND ${mutants} --few)
    set_tests_properties(cuda_collect_mutants PROPERTIES TIMEOUT 120 LABELS cuda)
    add_test(NAME cuda_collect_mutants_long COMMAND ${mutants})
    set_tests_properties(cuda_collect_mutants_long PROPERTIES TIMEOUT 1200
      LABELS "cuda;nightly")
  endif()

  # On the double of the driver; double_collect is cuda_double.cmake's.
  add_executable(cuda_collect_run gpu/stages/collect_run.c)
  target_include_directories(cuda_collect_run PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(cuda_collect_run PRIVATE
    FAKE_PATH="$<TARGET_FILE:fake_cuda>"
    NVRTC_PATH="$<TARGET_FILE:double_nvrtc>")
  target_link_libraries(cuda_collect_run PRIVATE double_collect fake_cuda czr_cuda
    PkgConfig::CMOCKA cz_warnings)
  set_target_properties(cuda_collect_run PROPERTIES LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(cuda_collect_run double_nvrtc)
  add_test(NAME cuda_collect_run COMMAND cuda_collect_run)
  set_tests_properties(cuda_collect_run PROPERTIES TIMEOUT 240 LABELS cuda)
  # The same bits on a GPU, where there is one.
  add_test(NAME cuda_gpu_collect COMMAND cuda_collect_run gpu ${installed}
    ${pinned})
  set_tests_properties(cuda_gpu_collect PROPERTIES TIMEOUT 240
    LABELS "cuda;gpu" SKIP_RETURN_CODE 77
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
