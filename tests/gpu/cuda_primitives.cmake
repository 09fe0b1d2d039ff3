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

  add_test(NAME cuda_primitives COMMAND cuda_primitives double)
  add_test(NAME cuda_compile_primitives COMMAND cuda_primitives compile
    ${sources})
  add_test(NAME cuda_golden COMMAND cuda_primitives golden ${golden})
  add_test(NAME cuda_gpu_primitives COMMAND cuda_gpu_primitives device ${sources})
  set_tests_properties(cuda_primitives cuda_compile_primitives cuda_golden
    PROPERTIES TIMEOUT 120 LABELS cuda SKIP_RETURN_CODE 77
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  set_tests_properties(cuda_gpu_primitives PROPERTIES TIMEOUT 240
    LABELS "cuda;gpu" SKIP_RETURN_CODE 77
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  add_custom_target(cuda_gpu_record
    COMMAND ${CMAKE_COMMAND} -E make_directory ${golden}
    COMMAND cuda_gpu_primitives device --record ${golden} ${sources} VERBATIM)

  # Objects of its own meet the libraries: instruments are in none of them.
  if(NOT INSTRUMENTED)
    set(mutants ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR}
      $<TARGET_FILE:cuda_primitives>
      $<FILTER:$<TARGET_OBJECTS:cuda_primitives>,EXCLUDE,model>
      $<TARGET_FILE:fake_cuda> $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr> -ldl
      -lpthread -lm -Wl,-rpath,$<TARGET_FILE_DIR:fake_cuda>)
    set(command ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/primitives_mutants.py)
    add_test(NAME cuda_primitives_mutants COMMAND ${command} --few ${mutants}
      COMMAND_EXPAND_LISTS)
    set_tests_properties(cuda_primitives_mutants PROPERTIES TIMEOUT 120
      LABELS cuda)
    add_test(NAME cuda_primitives_mutants_long COMMAND ${command} ${mutants}
      COMMAND_EXPAND_LISTS)
    set_tests_properties(cuda_primitives_mutants_long PROPERTIES TIMEOUT 600
      LABELS "cuda;nightly")
  endif()
endif()
