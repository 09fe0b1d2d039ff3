# Which target runs a test: `make check` what has the label check, `make test`
# all without the label nightly, `make nightly` everything.  A test whose
# registration says nightly is; of others this page says it, in one place.

# After each change, under two minutes: units, goldens, two runs, the tree, and a
# smoke of the verifier.
set(check_tests
  "^unit_(dsl|frontend|runtime|codegen|examples)"
  "^unit_passes_(cut|kernel|math|grid|cost|bound|schedule|share|timeline|verify|gpu)"
  "^(golden|tree|rules|(ir|errors|optimizers|functions)_page|language|writing|lsp_session)"
  "^(driver|after_pass|textmate|expand|emit|counts|published|published_sees)$"
  "^(run_gpt_2x2|run_gram_few_2x2)$"
  "^(run_gpt_adamw_1x2|plan_json_gpt_2x2|verify_smoke|verify_edits|schedule_)")

# Doubles and models of the GPU: a smoke stays; `make test-cuda` is all of them,
# for changes of runtime/cuda and codegen/cuda.
set(nightly_tests
  "^cuda_(elementwise|elementwise_(mutants|compile|parts))$"
  "^cuda_(batch_(library|run|moe|fused)|collect_(run|mutants)|mutants)$"
  "^cuda_(stages_(roots|parts|elements|mutants)|plain_compile_[03])$"
  "^cuda_(loopback|nccl)_(model_loopback|few|fused|pipeline_moe|externs|chunks)$"
  "^cuda_(nccl_(model_turns|form_shared|buckets|signs)|loopback_(bases|factor))$"
  "^cuda_(loopback_(gpt_strict|mutants)|driver_mutants|world_double_(nccl|loopback))$"
  "^cuda_(run_(few|few_square|fused|shampoo|loopback|batches)|bench_plans)$"
  "^(published_run|cuda_(run_by_layer|nccl_rows)|simulate_qwen3-32b)$"
  "^cuda_driver_(world_nccl|world_nccl_fault|factorise_newton|bench_gpu)_test$"
  "^cuda_sm90_(nt|nn|tt)(_|$)"
  "^cuda_sm90_symmetric_(192|256)x"
# Meshes in pairs instead of every product: each size of each axis stays, with
# and without delays, but not all of them together.
  "^run_gpt_(1x1|2x1|3x1|4x1|1x2)$" "^run_gpt_adamw_(1x1|2x1|3x1|4x1|1x4|2x2)$"
  "^run_(states|externs)_(1x1|4x2|1x8|2x2|6x1)$"
  "^run_(states|externs)_(2x4|3x2)_late$"
  "^run_tiles_(2x2|4x2|1x4_late|3x2)$" "^run_tiles_shared_(1x4|2x2_late)$"
  "^run_near_(2x4_2|1x8_2|1x12_6|2x8_4)(--late)?$" "^run_near_.*_[46]$"
  "^run_wire_sums_(1x1_0|1x8_[248]|2x4_4|1x4_4|4x2_2)--late$"
  "^run_wire_sums_(2x4_2|1x8_4)$" "^run_wire_few_(4x2|1x4)_0$"
  "^run_gram_gpt_(2x1x4_1|1x1x4_2|4x1x2_0|2x1x4_4)$"
  "^run_gram_(fsdp|fused)_.*[0-9]--late$" "^run_auto_few_(2x1|1x2|2x4)--late$"
  "^run_(random|positions|extremes)_(1x1|2x4|1x8)$" "^run_factor_(1x1|2x2|2x4)$"
  "^run_groups_(2x2|3x2|2x4)--late$" "^run_wire_(gpt_2x4_2|2x1|1x4|3x2)$"
  "^run_(form|form_shared)_(1x1|2x2)$" "^run_fsdp_(1x5x2|3x1x2|1x2x4)$"
  "^run_(fused|chunks)_(1x1|2x1|1x3|2x2)$" "^run_phases_.*_(1x1|2x1|1x4|4x2)$"
  "^run_experts_paths_(4x2_1x2x4|2x4_1x4x2|4x2_4x1x2)$"
  "^run_(moe|batch)_(2x2x2_4x2|1x4x2_4x2|4x2x1_4x2|1x2x4_4x2)$"
# One of a sweep stays; what is as long as a minute of others.
  "^plan_edge_all$" "^library_run_1x4$" "^plan_wire_half_shared_split(_64x4|_128x2)?$"
  "^plan_json_(gpt|gpt_adamw)_(1x1|2x1|3x1|1x2|1x4|8x4)$"
  "^plan_json_(tiles|fused)_(1x1|2x2|1x8)$" "^plan_json_sees_(tiles|fsdp|fused)$"
  "^oracle_library_(scaled|muons)_bf16$" "^simulate_qwen3-235b$"
  "^verify_(mutants|random_plans_1|large)$" "^storage_library$" "^plan_random$"
  "^(hostile|storage_counts)_all$"
  "^fuzz_compile_replay$" "^diff_qwen3-235b-a22b$" "^plan_large_(stages|qwen.*|deepseek-v3)$")

# cz_tier(TEST): the label of the first page above that has it.
function(cz_tier test)
  foreach(tier nightly check)
    foreach(pattern ${${tier}_tests})
      if(test MATCHES "${pattern}")
        set_property(TEST ${test} APPEND PROPERTY LABELS ${tier})
        return()
      endif()
    endforeach()
  endforeach()
endfunction()
