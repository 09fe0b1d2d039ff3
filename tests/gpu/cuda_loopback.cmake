# Plans of the compiler's on all ranks in loop-back: the engine on the double of
# the driver, with the host's arithmetic as its kernels.
foreach(world loopback nccl)
  add_executable(cuda_${world}_plan gpu/plan/${world}_plan.c
    gpu/world/nccl_rank.c gpu/plan/host_plan.c
    gpu/plan/loopback_rank.c
    gpu/plan/loopback_host.c gpu/plan/deferred.c
    gpu/plan/host_collect.c gpu/plan/host_judge.c
    gpu/plan/host_stage.c)
  target_include_directories(cuda_${world}_plan PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/runtime)
  target_link_libraries(cuda_${world}_plan PRIVATE fake_cuda czr_cuda
    PkgConfig::CMOCKA cz_warnings)
  target_compile_definitions(cuda_${world}_plan PRIVATE
    FAKE_PATH="$<TARGET_FILE:fake_cuda>")
  set_target_properties(cuda_${world}_plan PROPERTIES ENABLE_EXPORTS ON
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

# Clipping; skipping; phases; narrow parameters with masters; shared matrices in
# bands; experts, pipelines, fused storage, equal parts.
set(run sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/run_plan.sh
  $<TARGET_FILE:canzona> ${CMAKE_C_COMPILER} $<TARGET_FILE:cuda_loopback_plan>
  ${CMAKE_SOURCE_DIR})
foreach(stem few form_shared tiles_shared factor externs pipeline_moe fused fsdp
    grads bases chunks)
  add_test(NAME cuda_loopback_${stem} COMMAND ${run} tests/fixtures/plans/${stem})
  set_tests_properties(cuda_loopback_${stem} PROPERTIES TIMEOUT 300 LABELS cuda)
endforeach()
foreach(stem failing buckets)
  add_test(NAME cuda_loopback_${stem} COMMAND ${run} tests/fixtures/gpu/${stem})
  set_tests_properties(cuda_loopback_${stem} PROPERTIES TIMEOUT 300 LABELS cuda)
endforeach()
add_test(NAME cuda_loopback_gpt COMMAND ${run} examples/gpt -D gpt.width=16
  -D gpt.vocab=32 -D gpt.context=8)
add_test(NAME cuda_loopback_gpt_strict COMMAND ${run} examples/gpt
  -D gpt.width=16 -D gpt.vocab=32 -D gpt.context=8 --strict)
set_tests_properties(cuda_loopback_gpt cuda_loopback_gpt_strict PROPERTIES
  TIMEOUT 300 LABELS cuda)

# In batches, where equal matrices have scratch of their own and come in another
# order.
foreach(stem fused pipeline_moe moe)
  add_test(NAME cuda_batch_${stem} COMMAND ${run} tests/fixtures/plans/${stem}
    --target=cpu,sm_90a)
  set_tests_properties(cuda_batch_${stem} PROPERTIES TIMEOUT 300 LABELS cuda)
endforeach()

# Some of them with a rank for each thread and GPU of the double, over the double
# of NCCL.  Strict: else NCCL adds up in an order of its own.
set(run sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/run_plan.sh
  $<TARGET_FILE:canzona> ${CMAKE_C_COMPILER} $<TARGET_FILE:cuda_nccl_plan>
  ${CMAKE_SOURCE_DIR})
foreach(stem few form_shared pipeline_moe fused fsdp chunks bases)
  add_test(NAME cuda_nccl_${stem} COMMAND ${run} tests/fixtures/plans/${stem} --strict)
  set_tests_properties(cuda_nccl_${stem} PROPERTIES TIMEOUT 120 LABELS cuda)
endforeach()
foreach(stem failing signs buckets)
  add_test(NAME cuda_nccl_${stem} COMMAND ${run} tests/fixtures/gpu/${stem}
    --strict)
  set_tests_properties(cuda_nccl_${stem} PROPERTIES TIMEOUT 120 LABELS cuda)
endforeach()
# The longest, which show little that the others do not.
foreach(name loopback_tiles_shared loopback_grads loopback_fsdp
    batch_pipeline_moe nccl_pipeline_moe nccl_fsdp nccl_bases)
  set_tests_properties(cuda_${name} PROPERTIES LABELS "cuda;nightly")
endforeach()
add_test(NAME cuda_nccl_tiles_shared COMMAND ${run} tests/fixtures/plans/tiles_shared
  --strict)
set_tests_properties(cuda_nccl_tiles_shared PROPERTIES TIMEOUT 300
  LABELS "cuda;nightly")

# The same with NAME.cu and the engine's own kernels on the model of the device.
if(TARGET double_collect)
  foreach(name loopback turns)
    cz_double_program(${name} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/gpu/${name}.cz
      --strict)
    foreach(world loopback nccl)
      set(test cuda_${world}_model_${name})
      add_executable(${test} gpu/plan/${world}_plan.c
        gpu/world/nccl_rank.c gpu/plan/host_plan.c
        gpu/plan/loopback_rank.c gpu/plan/loopback_model.c)
      target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR})
      target_compile_definitions(${test} PRIVATE PROGRAM=${name}
        FAKE_PATH="$<TARGET_FILE:fake_cuda>"
        NVRTC_PATH="$<TARGET_FILE:double_nvrtc>")
      target_link_libraries(${test} PRIVATE double_${name} double_collect
        plain_bodies fake_cuda czr_cuda PkgConfig::CMOCKA cz_warnings)
      set_target_properties(${test} PROPERTIES LINKER_LANGUAGE CXX
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
      add_dependencies(${test} double_nvrtc)
    endforeach()
    add_test(NAME cuda_loopback_model_${name}
      COMMAND cuda_loopback_model_${name} 3 6 12)
    add_test(NAME cuda_nccl_model_${name} COMMAND cuda_nccl_model_${name} 1)
    set_tests_properties(cuda_loopback_model_${name} cuda_nccl_model_${name}
      PROPERTIES TIMEOUT 300 LABELS cuda)
  endforeach()
endif()

# Equal matrices of a plan that is not strict as one, with doubles of products.
if(TARGET double_collect)
  cz_double_program(batches ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/gpu/batches.cz)
  add_executable(cuda_batch_run gpu/stages/batch_run.c
    gpu/plan/loopback_rank.c $<TARGET_OBJECTS:fake_bodies>)
  target_include_directories(cuda_batch_run PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(cuda_batch_run PRIVATE
    FAKE_PATH="$<TARGET_FILE:fake_cuda>"
    NVRTC_PATH="$<TARGET_FILE:double_nvrtc>")
  target_link_libraries(cuda_batch_run PRIVATE double_batches double_collect
    plain_bodies fake_cuda czr_cuda PkgConfig::CMOCKA cz_warnings)
  set_target_properties(cuda_batch_run PROPERTIES LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(cuda_batch_run double_nvrtc)
  add_test(NAME cuda_batch_run COMMAND cuda_batch_run)
  set_tests_properties(cuda_batch_run PROPERTIES TIMEOUT 300 LABELS cuda)
  # With cuBLASLt where the loader finds it: its double, under its name.
  set(present ${CMAKE_BINARY_DIR}/tests/present)
  add_library(present_cublaslt MODULE gpu/double/double_cublaslt.c)
  target_include_directories(present_cublaslt PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/runtime)
  target_link_libraries(present_cublaslt PRIVATE fake_cuda czr_cuda cz_warnings)
  set_target_properties(present_cublaslt PROPERTIES OUTPUT_NAME cublasLt
    SUFFIX .so.13 LIBRARY_OUTPUT_DIRECTORY ${present})
  add_dependencies(cuda_batch_run present_cublaslt)
  add_test(NAME cuda_batch_library COMMAND cuda_batch_run library)
  set_tests_properties(cuda_batch_library PROPERTIES TIMEOUT 300 LABELS cuda
    ENVIRONMENT LD_LIBRARY_PATH=${present}:$ENV{LD_LIBRARY_PATH})
  if(NOT INSTRUMENTED)
    set(command ${PYTHON} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/gpu/stages/batch_mutants.py
      ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR}
      $<TARGET_FILE:fake_cuda> $<TARGET_FILE:double_nvrtc>
      $<TARGET_FILE:double_batches> $<TARGET_FILE:double_collect>
      $<TARGET_FILE:plain_bodies> $<TARGET_FILE:fake_cuda>
      $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr>
      -Wl,-rpath,$<TARGET_FILE_DIR:fake_cuda>)
    add_test(NAME cuda_batch_mutants COMMAND ${command} --few)
    set_tests_properties(cuda_batch_mutants PROPERTIES TIMEOUT 120
      LABELS "cuda;nightly")
    add_test(NAME cuda_batch_mutants_long COMMAND ${command})
    set_tests_properties(cuda_batch_mutants_long PROPERTIES TIMEOUT 300
      LABELS "cuda;nightly")
  endif()
endif()

# Objects of its own meet the libraries: instruments are in none of them.
if(NOT INSTRUMENTED)
  set(command ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/plan/loopback_mutants.py
    $<TARGET_FILE:canzona> ${CMAKE_C_COMPILER} ${CMAKE_SOURCE_DIR}
    $<TARGET_FILE:fake_cuda> $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr>)
  add_test(NAME cuda_loopback_mutants COMMAND ${command} --few)
  set_tests_properties(cuda_loopback_mutants PROPERTIES TIMEOUT 120 LABELS cuda)
  add_test(NAME cuda_loopback_mutants_long COMMAND ${command})
  set_tests_properties(cuda_loopback_mutants_long PROPERTIES TIMEOUT 600
    LABELS "cuda;nightly")
endif()
