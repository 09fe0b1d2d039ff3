# The engine's own kernels on the model of the device beside the host's functions.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(part sum step memory)
    cz_cuda_test(collect_${part} collect_${part}_test)
    target_link_libraries(cuda_collect_${part} PRIVATE czr)
    # Draws are small, so there are many.
    cz_cuda_check(cuda_collect_${part}_many 120 cuda cuda_collect_${part} 50 7)
  endforeach()
  # Mutants are built without sanitizers, so the library has to be.
  if(NOT CANZONA_SANITIZE AND NOT CANZONA_TSAN)
    cz_cuda_mutants(cuda_collect_mutants 120 1200 kernels/collect_mutants.py
      ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR} $<TARGET_FILE:czr>)
  endif()

  # On the double of the driver; double_collect is cuda_double.cmake's.
  cz_model_program(cuda_collect_run collect double_collect gpu/stages/collect_run.c)
  cz_cuda_check(cuda_collect_run 240 cuda cuda_collect_run)
  # The same bits on a GPU, where there is one.
  cz_cuda_check_if(cuda_gpu_collect 240 "cuda;gpu" cuda_collect_run gpu ${installed}
    ${pinned})
endif()
