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
endif()
