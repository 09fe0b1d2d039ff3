# Single instructions on a GPU beside the model of the device, in bf16 and fp16;
# `cuda_gpu_record` writes what the GPU says to tests/gpu/golden, by which the
# model is held to it without one.  cuda_gpu_* say skipped without a GPU,
# cuda_golden_* where nothing is recorded.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(here ${CMAKE_CURRENT_SOURCE_DIR}/gpu/primitives)
  set(golden ${CMAKE_CURRENT_SOURCE_DIR}/gpu/golden)
  add_custom_target(cuda_gpu_record)
  foreach(element bf16 fp16)
    set(name cuda_primitives_${element})
    add_library(${name}_model OBJECT ${here}/model.cpp)
    set(files ${here}/run.c ${here}/cases.c ${here}/device.c ${here}/golden.c
      gpu/compile/compiling.c $<TARGET_OBJECTS:${name}_model>)
    set(gpu cuda_gpu_primitives_${element})
    add_executable(${name} ${files})
    # Without the double, whose functions have the names of the driver's.
    add_executable(${gpu} ${files} gpu/double/no_double.c)
    foreach(target ${name} ${gpu} ${name}_model)
      target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}
        ${CMAKE_CURRENT_SOURCE_DIR}/gpu)
      target_compile_definitions(${target} PRIVATE
        FP16=$<STREQUAL:${element},fp16> FAKE_PATH="$<TARGET_FILE:fake_cuda>")
      set_target_properties(${target} PROPERTIES CXX_STANDARD 17
        CXX_STANDARD_REQUIRED ON LINKER_LANGUAGE CXX
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    endforeach()
    target_compile_options(${name}_model PRIVATE -O2 -Wall -Wextra -Wshadow
      -Werror -Wno-unused-parameter -Wno-unknown-pragmas -Wno-psabi
      -Wno-pass-failed)
    target_link_libraries(${name} PRIVATE fake_cuda czr_cuda cz_warnings)
    target_link_libraries(${gpu} PRIVATE czr_cuda cz_warnings)
    set(sources ${here}/bodies_sm80.cu ${here}/bodies_sm90.cu ${installed}
      ${pinned})

    add_test(NAME ${name} COMMAND ${name} double)
    add_test(NAME cuda_compile_primitives_${element} COMMAND ${name} compile
      ${sources})
    add_test(NAME cuda_golden_${element} COMMAND ${name} golden ${golden})
    add_test(NAME ${gpu} COMMAND ${gpu} device
      ${sources})
    set_tests_properties(${name} cuda_compile_primitives_${element}
      cuda_golden_${element} PROPERTIES TIMEOUT 120 LABELS cuda
      SKIP_RETURN_CODE 77 ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    set_tests_properties(${gpu} PROPERTIES TIMEOUT 240
      LABELS "cuda;gpu" SKIP_RETURN_CODE 77
      ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    add_custom_target(${name}_record
      COMMAND ${CMAKE_COMMAND} -E make_directory ${golden}
      COMMAND ${gpu} device --record ${golden} ${sources} VERBATIM)
    add_dependencies(cuda_gpu_record ${name}_record)
  endforeach()

  # Objects of its own meet the libraries: instruments are in none of them.
  if(NOT INSTRUMENTED)
    set(name cuda_primitives_fp16)
    set(mutants ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR} $<TARGET_FILE:${name}>
      $<FILTER:$<TARGET_OBJECTS:${name}>,EXCLUDE,model> $<TARGET_FILE:fake_cuda>
      $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr> -ldl -lpthread -lm
      -Wl,-rpath,$<TARGET_FILE_DIR:fake_cuda>)
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
