# Plans of the compiler's on all ranks in loop-back: the engine on the double of
# the driver, with the host's arithmetic as its kernels.
foreach(world loopback nccl)
  cz_cuda_program(cuda_${world}_plan "fake_cuda;czr_cuda;PkgConfig::CMOCKA"
    gpu/plan/${world}_plan.c gpu/world/nccl_rank.c gpu/plan/host_plan.c
    gpu/plan/loopback_rank.c gpu/plan/loopback_host.c gpu/plan/deferred.c
    gpu/plan/host_collect.c gpu/plan/host_judge.c gpu/plan/host_stage.c)
  set_target_properties(cuda_${world}_plan PROPERTIES ENABLE_EXPORTS ON)
endforeach()

set(run_plan sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/run_plan.sh $<TARGET_FILE:canzona>
  ${CMAKE_C_COMPILER})
# cz_plan_checks(KIND SECONDS PROGRAM FOLDER OPTIONS STEMS...): plans of a folder.
function(cz_plan_checks kind seconds program folder options)
  foreach(stem ${ARGN})
    cz_cuda_check(cuda_${kind}_${stem} ${seconds} cuda ${run_plan}
      $<TARGET_FILE:${program}> ${CMAKE_SOURCE_DIR} ${folder}/${stem} ${options})
  endforeach()
endfunction()

# Clipping; skipping; phases; narrow parameters with masters; shared matrices in
# bands; experts, pipelines, fused storage, equal parts.
cz_plan_checks(loopback 300 cuda_loopback_plan tests/fixtures/plans "" few form_shared
  tiles_shared factor externs pipeline_moe fused fsdp grads bases chunks rows)
cz_plan_checks(loopback 300 cuda_loopback_plan tests/fixtures/gpu "" failing buckets)
set(small -D gpt.width=16 -D gpt.vocab=32 -D gpt.context=8)
cz_plan_checks(loopback 300 cuda_loopback_plan examples "${small}" gpt)
cz_cuda_check(cuda_loopback_gpt_strict 300 cuda ${run_plan}
  $<TARGET_FILE:cuda_loopback_plan> ${CMAKE_SOURCE_DIR} examples/gpt ${small} --strict)

# In batches, where equal matrices have scratch of their own and come in another
# order.
cz_plan_checks(batch 300 cuda_loopback_plan tests/fixtures/plans --target=cpu,sm_90a
  fused pipeline_moe moe rows)

# Some of them with a rank for each thread and GPU of the double, over the double
# of NCCL.  Strict: else NCCL adds up in an order of its own.
cz_plan_checks(nccl 120 cuda_nccl_plan tests/fixtures/plans --strict few form_shared
  pipeline_moe fused fsdp chunks bases rows)
cz_plan_checks(nccl 120 cuda_nccl_plan tests/fixtures/gpu --strict failing signs buckets)
cz_plan_checks(nccl 300 cuda_nccl_plan tests/fixtures/plans --strict tiles_shared)
# Ranks that leave, are slow or late, rules and calls that fail; captured and not.
foreach(n 8 200)
  set(test cuda_nccl_faults_${n})
  cz_cuda_check(${test} 1200 cuda ${run_plan} $<TARGET_FILE:cuda_nccl_plan>
    ${CMAKE_SOURCE_DIR} tests/fixtures/gpu/failing --strict)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT CANZONA_FAULTS=${n})
endforeach()
# The longest, which show little that the others do not.
foreach(name loopback_tiles_shared loopback_grads loopback_fsdp
    batch_pipeline_moe nccl_pipeline_moe nccl_fsdp nccl_bases nccl_tiles_shared
    nccl_faults_200)
  set_tests_properties(cuda_${name} PROPERTIES LABELS "cuda;nightly")
endforeach()

# The same with NAME.cu and the engine's own kernels on the model of the device.
if(TARGET double_collect)
  foreach(name loopback turns)
    cz_double_program(${name} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/gpu/${name}.cz
      --strict)
    foreach(world loopback nccl)
      set(test cuda_${world}_model_${name})
      cz_model_program(${test} ${name} "double_${name};double_collect"
        gpu/plan/${world}_plan.c gpu/world/nccl_rank.c gpu/plan/host_plan.c
        gpu/plan/loopback_rank.c gpu/plan/loopback_model.c)
    endforeach()
    cz_cuda_check(cuda_loopback_model_${name} 300 cuda
      cuda_loopback_model_${name} 3 6 12)
    cz_cuda_check(cuda_nccl_model_${name} 300 cuda cuda_nccl_model_${name} 1)
  endforeach()
endif()

# Equal matrices of a plan that is not strict as one, with doubles of products.
if(TARGET double_collect)
  cz_double_program(batches ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/gpu/batches.cz)
  cz_model_program(cuda_batch_run batches "double_batches;double_collect"
    gpu/stages/batch_run.c gpu/plan/loopback_rank.c $<TARGET_OBJECTS:fake_bodies>)
  cz_cuda_check(cuda_batch_run 300 cuda cuda_batch_run)
  # With cuBLASLt where the loader finds it: its double, under its name.
  set(present ${CMAKE_BINARY_DIR}/tests/present)
  add_library(present_cublaslt MODULE gpu/double/double_cublaslt.c)
  target_include_directories(present_cublaslt PRIVATE ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/runtime)
  target_link_libraries(present_cublaslt PRIVATE fake_cuda czr_cuda cz_warnings)
  set_target_properties(present_cublaslt PROPERTIES OUTPUT_NAME cublasLt
    SUFFIX .so.13 LIBRARY_OUTPUT_DIRECTORY ${present})
  add_dependencies(cuda_batch_run present_cublaslt)
  cz_cuda_check(cuda_batch_library 300 cuda cuda_batch_run library)
  set_tests_properties(cuda_batch_library PROPERTIES ENVIRONMENT
    LD_LIBRARY_PATH=${present}:$ENV{LD_LIBRARY_PATH})
  if(NOT INSTRUMENTED)
    cz_cuda_mutants(cuda_batch_mutants 120 300 stages/batch_mutants.py
      ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR}
      $<TARGET_FILE:fake_cuda> $<TARGET_FILE:double_nvrtc>
      $<TARGET_FILE:double_batches> $<TARGET_FILE:double_collect>
      $<TARGET_FILE:plain_bodies> $<TARGET_FILE:fake_cuda>
      $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr>
      -Wl,-rpath,$<TARGET_FILE_DIR:fake_cuda>)
    set_property(TEST cuda_batch_mutants APPEND PROPERTY LABELS nightly)
  endif()
endif()

# Objects of its own meet the libraries: instruments are in none of them.
if(NOT INSTRUMENTED)
  cz_cuda_mutants(cuda_loopback_mutants 120 600 plan/loopback_mutants.py
    $<TARGET_FILE:canzona> ${CMAKE_C_COMPILER} ${CMAKE_SOURCE_DIR}
    $<TARGET_FILE:fake_cuda> $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr>)
endif()
