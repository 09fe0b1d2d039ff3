# Single instructions on a GPU beside the model of the device; `cuda_gpu_record`
# writes what the GPU says to tests/gpu/golden, by which the model is held to it
# without one.  cuda_gpu_primitives says skipped without a GPU, cuda_golden where
# nothing is recorded.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(here ${CMAKE_CURRENT_SOURCE_DIR}/gpu/primitives)
  set(golden ${CMAKE_CURRENT_SOURCE_DIR}/gpu/golden)
  add_library(cuda_primitives_model OBJECT ${here}/model.cpp)
  set(files ${here}/run.c ${here}/cases.c ${here}/device.c ${here}/golden.c
    gpu/compile/compiling.c $<TARGET_OBJECTS:cuda_primitives_model>)
  add_executable(cuda_primitives ${files})
  # Without the double, whose functions have the names of the driver's.
  add_executable(cuda_gpu_primitives ${files} gpu/double/no_double.c)
  foreach(target cuda_primitives cuda_gpu_primitives cuda_primitives_model)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}
      ${CMAKE_CURRENT_SOURCE_DIR}/gpu)
    target_compile_definitions(${target} PRIVATE
      FAKE_PATH="$<TARGET_FILE:fake_cuda>")
    set_target_properties(${target} PROPERTIES CXX_STANDARD 17
      CXX_STANDARD_REQUIRED ON LINKER_LANGUAGE CXX
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  endforeach()
  target_compile_options(cuda_primitives_model PRIVATE -O2 -Wall -Wextra -Wshadow
    -Werror -Wno-unused-parameter -Wno-unknown-pragmas -Wno-psabi
    -Wno-pass-failed)
  target_link_libraries(cuda_primitives PRIVATE fake_cuda czr_cuda cz_warnings)
  target_link_libraries(cuda_gpu_primitives PRIVATE czr_cuda cz_warnings)
  set(sources ${here}/bodies_sm80.cu ${here}/bodies_sm90.cu ${installed}
    ${pinned})

  cz_cuda_check_if(cuda_primitives 120 cuda cuda_primitives double)
  cz_cuda_check_if(cuda_compile_primitives 120 cuda cuda_primitives compile ${sources})
  cz_cuda_check_if(cuda_golden 120 cuda cuda_primitives golden ${golden})
  cz_cuda_check_if(cuda_gpu_primitives 240 "cuda;gpu" cuda_gpu_primitives device
    ${sources})
  add_custom_target(cuda_gpu_record
    COMMAND ${CMAKE_COMMAND} -E make_directory ${golden}
    COMMAND cuda_gpu_primitives device --record ${golden} ${sources} VERBATIM)

  # Objects of its own meet the libraries: instruments are in none of them.
  if(NOT INSTRUMENTED)
    cz_cuda_mutants(cuda_primitives_mutants 120 600 kernels/primitives_mutants.py
      ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR}
      $<TARGET_FILE:cuda_primitives>
      $<FILTER:$<TARGET_OBJECTS:cuda_primitives>,EXCLUDE,model>
      $<TARGET_FILE:fake_cuda> $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr> -ldl
      -lpthread -lm -Wl,-rpath,$<TARGET_FILE_DIR:fake_cuda>)
  endif()
endif()
