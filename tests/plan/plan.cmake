# Plans: every figure of --json computed again from the schema alone, and the
# screen of the headline example.

# One thing wrong in the JSON of a plan is noticed: here, there and, at night, in
# each place.  That is about Python: an instrumented compiler just plans.
function(cz_plan_sees name)
  set(plan $<TARGET_FILE:canzona> plan --json ${ARGN})
  if(INSTRUMENTED)
    cz_script(${name} plan 300 plan/check_plan.py --run ${plan})
  else()
    cz_script(${name} plan 300 plan/check_plan.py --self-test ${plan})
    cz_script(${name}_all "plan;nightly" 1200 plan/check_plan.py --self-test=1500 ${plan})
  endif()
endfunction()

foreach(example gpt gpt_adamw)
  cz_plan_jsons(${example} ${examples}/${example}.cz "dp;tp"
    1x1 2x1 3x1 1x2 1x4 2x2 3x2 8x4)
endforeach()
cz_plan_jsons(qwen3-32b ${examples}/qwen3-32b.cz "dp;tp" 32x8 1x8 8x1)

# States that are whole, and externs: at the owner alone, in memory and in
# baselines.
foreach(stem states states_fsdp states_experts states_pipeline bases externs
    externs_stages joined)
  cz_plan_json(${stem} ${plans}/${stem}.cz)
endforeach()

cz_script(plan_joins_updates plan 60 simulate/joins_updates.py $<TARGET_FILE:canzona>)

# What a GPU takes besides.
foreach(stem fused pipeline_moe)
  cz_plan_json(gpu_${stem} --target=sm_90a ${plans}/${stem}.cz)
endforeach()

# Tiles: pieces apart by rows, or by columns.
cz_plan_jsons(tiles ${plans}/tiles.cz "dp;tp" 1x1 2x2 1x4 3x2 1x8)
cz_plan_sees(plan_json_sees_tiles -D mesh.dp=1 ${plans}/tiles_fsdp.cz)
# Fused and padded storage: pieces, uneven shards, empty ones.
cz_plan_jsons(fused ${plans}/fused.cz "dp;tp" 1x1 2x2 1x4 3x2 1x8)
cz_plan_jsons(chunks ${plans}/chunks.cz "dp;fsdp" 2x3 1x8 3x2)
# Factorisations, whose kernels are of a kind of their own.
cz_plan_jsons(factor ${plans}/factor.cz "dp;tp" 1x1 2x2 2x4)
cz_plan_jsons(fsdp ${plans}/fsdp.cz "dp;fsdp;tp" 2x3x2 1x2x4 1x5x2)
cz_plan_jsons(uneven_tp ${plans}/uneven_tp.cz "dp;fsdp;tp" 2x2x3 1x1x4)
cz_plan_jsons(experts_fsdp ${plans}/experts_fsdp.cz "dp;fsdp;edp;ep" 2x4x4x2 1x4x1x4 2x2x2x2)
cz_plan_sees(plan_json_sees_fsdp -D mesh.dp=1 -D mesh.fsdp=2 -D layers=1
  ${plans}/fsdp.cz)
# Of 36 rows each rank along tp has 18, and of these along fsdp 6: the second
# rank along tp begins at row 18, as in torch, though fsdp is the major axis.
cz_plan_says(plan_fsdp_inside_tp
  "up.weight\",\"shape\":.36,20.,\"dtype\":\"bf16\",\"shard\":..\"fsdp\",\"tp\".,...,\"bounds\":..0,6,18,24,6,12,24,30,12,18,30,36.,null"
  --json ${plans}/fsdp.cz)
# ceil(10 / 3) = 4 rows, and ceil(2 / 3) = 1: as torch.chunk does.
cz_plan_says(plan_chunks_short_tail
  "up.weight\",\"shape\":.10,10.,\"dtype\":\"bf16\",\"shard\":..\"fsdp\".,...,\"bounds\":..0,4,4,8,8,10.,null"
  --json ${plans}/chunks.cz)
cz_plan_says(verify_takes_f64_params_of_f32_rules "schedule    "
  ${plans}/f64_params.cz)
cz_plan_says(plan_chunks_empty_tail
  "thin.weight\",\"shape\":.2,10.,\"dtype\":\"bf16\",\"shard\":..\"fsdp\".,...,\"bounds\":..0,1,1,2,2,2.,null"
  --json ${plans}/chunks.cz)
cz_plan_sees(plan_json_sees_factor -D mesh.dp=2 -D mesh.tp=2 ${plans}/factor.cz)
cz_plan_sees(plan_json_sees_form -D form=gram -D mesh.dp=1 ${plans}/form_shared.cz)
cz_plan_sees(plan_json_sees_fused -D mesh.dp=1 -D mesh.tp=4 ${plans}/fused.cz)

# Experts that factor the ranks in their own way: dealt out over parts of dp and
# tp, over dp alone, over all; whole or cut.
foreach(mesh 2x4x1 2x2x2 1x4x2 1x8x1 4x2x1)
  cz_mesh(defines "edp;ep;etp" ${mesh})
  cz_plan_sees(plan_json_experts_${mesh} ${defines} ${plans}/moe.cz)
endforeach()

cz_plan_sees(plan_json_batch ${plans}/batch.cz)

# The largest models of the library, on the meshes they are meant for: counts,
# every figure, and less than 3 s.
foreach(stem deepseek-v3 qwen3-235b-a22b)
  cz_script(plan_large_${stem} plan 120 plan/plan_large.py $<TARGET_FILE:canzona>
    ${examples}/${stem}.cz)
endforeach()

cz_script(plan_large_405b_is_not_refused plan 120 plan/plan_large.py
  $<TARGET_FILE:canzona> ${plans}/large/llama-3-405b.cz)
# Sharing takes 1.9 GB of a rank, where an owner's buffers take 3.5.
cz_test(plan_large_shares_within_owners_buffers plan 120 canzona plan --no-baselines
  --allow-path=${examples} -D mesh.dp=128 ${plans}/large/llama-3-405b.cz)
set_tests_properties(plan_large_shares_within_owners_buffers PROPERTIES
  PASS_REGULAR_EXPRESSION "per rank: max/mean 1.[01]")
# Sums are formed over its ranks, and none of them is beyond 2^62; of a thousand
# matrices of 10^12 elements the first is.
cz_test(plan_large_405b_on_8192_is_not_refused plan 120 canzona plan
  --allow-path=${examples} -D mesh.dp=1024 ${plans}/large/llama-3-405b.cz)
cz_test(plan_large_times_overflow plan 60 canzona plan ${plans}/large/overflow.cz)
set_tests_properties(plan_large_times_overflow PROPERTIES
  PASS_REGULAR_EXPRESSION "longer than 2.62 ps.*E0901")
cz_test(plan_large_rule_unrolls_too_far plan 60 canzona plan
  ${plans}/large/unrolled.cz)
set_tests_properties(plan_large_rule_unrolls_too_far PROPERTIES
  PASS_REGULAR_EXPRESSION "'o.32x32' unrolls to more than 4096 operations.*E0901")
# What shards send to an owner is an entry, and no row for each of 256 ranks.
cz_test(plan_large_fsdp_is_not_rows plan 120 sh -c
  "test $($<TARGET_FILE:canzona> plan --ir ${examples}/qwen3-32b-fsdp.cz | wc -c) -lt 10000000")
# Ranks whose entries are equal have them once in generated C.
cz_test(plan_large_fsdp_builds_2_mb plan 120 sh -c
  "$<TARGET_FILE:canzona> build --force -D mesh.fsdp=1024 ${examples}/qwen3-32b-fsdp.cz && \
   test $(wc -c < qwen3_32b_fsdp.c) -lt 2000000")
cz_script(plan_large_near_limit plan 120 plan/check_plan.py --run
  $<TARGET_FILE:canzona> plan --json ${plans}/large/near_limit.cz)
# One matrix on 262,144 rows of ranks, most of them empty.
cz_test(plan_large_owners_are_not_quadratic plan 60 canzona plan
  ${plans}/large/ranks.cz)
# Tens of thousands of matrices on few ranks have thousands of micro-groups.
cz_test(plan_large_micro_groups_are_not_quadratic plan 15 canzona plan
  --no-baselines ${plans}/large/experts.cz)
foreach(stem llama-3-405b near_limit)
  cz_test(simulate_large_${stem} plan 60 canzona simulate
    --allow-path=${examples} ${plans}/large/${stem}.cz)
endforeach()

# Every machine of the library is whole.
file(GLOB machines CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dsl/std/machine/*.cz)
foreach(file ${machines})
  get_filename_component(stem ${file} NAME_WE)
  cz_test(machine_${stem} plan 60 canzona check -D machine=${stem} ${examples}/gpt.cz)
endforeach()

# Stages of a pipeline: even, listed, two chunks each, with experts and ties.
foreach(stem pipeline pipeline_listed pipeline_chunks pipeline_paths)
  cz_plan_json(${stem} ${plans}/${stem}.cz)
endforeach()
cz_plan_sees(plan_json_sees_pipeline -D mesh.dp=2 -D mesh.tp=2 ${plans}/pipeline_moe.cz)

# The largest on stages, experts in a mesh of their own, and a dense one.
cz_script(plan_large_stages plan 120 plan/plan_large.py $<TARGET_FILE:canzona>
  ${plans}/stages/deepseek-v3.cz)
cz_plan_json(qwen3-32b_stages -D mesh.pp=4 -D mesh.dp=8 ${examples}/qwen3-32b.cz)
cz_plan_says(plan_screen_stages
  "max/mean 1\\.058.*stages      0: 16 layers, 8\\.58 G elements; 14\\.77 TF on the busiest rank, max/mean 1\\.058\n +1 to 2: 16 layers, 7\\.80 G elements each; "
  -D mesh.pp=4 -D mesh.dp=8 ${examples}/qwen3-32b.cz)

# Experts that a path tells apart.
cz_plan_jsons(experts_paths ${plans}/experts_paths.cz "edp;ep;etp" 2x2x2 1x4x2)

# The checker notices any figure that is off by one.
cz_plan_sees(plan_json_sees ${examples}/gpt.cz)

cz_plan_says(plan_screen_counts
  "32,762,123,264 parameters in 707 tensors; 448 matrices of 31,205,621,760 elements"
  ${examples}/qwen3-32b.cz)
cz_plan_says(plan_screen_load "max/mean 1\\.058" ${examples}/qwen3-32b.cz)
cz_plan_says(plan_screen_bound "item bound 1\\.058" ${examples}/qwen3-32b.cz)

# Schedules by hand through the verifier and the threads world: both accept
# the one that holds, neither the one that needs buffers.
add_executable(schedule_tool tools/schedule_tool.c)
target_link_libraries(schedule_tool PRIVATE cz_frontend cz_verify cz_run
  cz_warnings)
set_target_properties(schedule_tool PROPERTIES ENABLE_EXPORTS ON
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

function(cz_schedule_test stem verdict status)
  cz_test(schedule_${stem} plan 120
    schedule_tool ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/schedules/${stem}.mlir)
  set_tests_properties(schedule_${stem} PROPERTIES
    PASS_REGULAR_EXPRESSION "verifier: ${verdict}\nthreads: ${status}\n")
endfunction()
cz_schedule_test(valid accepts CZR_OK)
cz_schedule_test(sends_before_receives rejects CZR_ERR_TIMEOUT)

# One rank, primes, a mesh larger than the work, 100,000 parameters.
cz_script(plan_edge plan 300 plan/plan_edge.py $<TARGET_FILE:canzona> prime)
cz_script(plan_edge_all plan 300 plan/plan_edge.py $<TARGET_FILE:canzona>)

# Random models on random meshes, and what they found.
set(random adversary/plan_random.py $<TARGET_FILE:canzona>)
file(GLOB found CONFIGURE_DEPENDS ${plans}/found/*.cz)
cz_script(plan_random plan 300 ${random} 100 1)
cz_script(plan_random_found plan 300 ${random} ${found})
cz_script(plan_random_long "plan;nightly" 1800 ${random} 1000 1001)

# Ours against the best baseline, by the iteration.
set(never simulate/never_behind.py $<TARGET_FILE:canzona>)
cz_script(plan_never_behind plan 300 ${never} 24 1)
# Ranks that are level only with three matrices of a kind each, or with buckets that are
# tried where a baseline is quicker.
foreach(seed 1166 1244 1252)
  cz_script(plan_never_behind_${seed} plan 60 ${never} 1 ${seed})
endforeach()
cz_script(plan_never_behind_long "plan;nightly" 3600 ${never} 300 1001)

# Caps that no plan keeps, and the change that helps.
cz_script(plan_caps plan 120 plan/plan_caps.py $<TARGET_FILE:canzona>)

# Families are defined one after the other, but layers are computed so.
foreach(stem qwen3-32b qwen3-235b-a22b deepseek-v3)
  cz_script(plan_order_${stem} plan 120 plan/plan_order.py $<TARGET_FILE:canzona>
    ${examples}/${stem}.cz)
endforeach()

# Matrices that ranks share: blocks of two inside four, of both axes, of chunks of
# unequal length, with experts on the stages of a pipeline.
set(gram -D tp_strategy=gram -D tp_subgroup=2)
cz_plan_json(gram_gpt -D mesh.dp=2 -D mesh.tp=4 ${gram} ${examples}/gpt.cz)
cz_plan_json(gram_fused -D mesh.dp=2 -D mesh.tp=4 ${gram} ${plans}/fused.cz)
cz_plan_json(gram_fsdp -D mesh.dp=1 -D mesh.fsdp=2 -D mesh.tp=2 ${gram} ${plans}/fsdp.cz)
cz_plan_json(gram_pipeline_moe -D mesh.dp=2 -D mesh.tp=2 ${gram}
  ${plans}/pipeline_moe.cz)
cz_plan_sees(plan_json_sees_gram -D mesh.dp=2 -D mesh.fsdp=2
  -D tp_strategy=gram ${plans}/chunks.cz)
cz_script(plan_gram_of_three plan 60 plan/check_plan.py --run $<TARGET_FILE:canzona>
  plan --json -D gpt.width=96 -D gpt.vocab=258 -D mesh.tp=3 -D tp_strategy=gram
  ${examples}/gpt.cz)

# Blocks of ranks interleave, so that their own shards need not travel.
cz_script(plan_gram_strides plan 60 plan/plan_strides.py $<TARGET_FILE:canzona>
  ${examples}/gpt.cz 8)

# Rules without products are updated where shards lie.
cz_plan_jsons(rows ${plans}/rows.cz "dp;tp" 2x2 1x4 3x2)
cz_plan_says(plan_screen_rows "local: shards updated where they lie"
  ${plans}/rows_fsdp.cz)
cz_plan_json(rows_fsdp ${plans}/rows_fsdp.cz)
cz_plan_json(few_rows -D mesh.dp=2 ${plans}/few_rows.cz)
cz_plan_says(plan_screen_few_beside_rows "gram: parts gathered.*gram: shards"
  ${plans}/few_rows.cz)

# Few matrices: the planner lets ranks share them.
cz_plan_json(few -D mesh.dp=2 ${plans}/few.cz)
cz_plan_says(plan_screen_few "gram: .*max/mean 1\\.0" ${plans}/few.cz)
cz_plan_says(plan_owners_alone_where_states_cannot_be_even "gram: " -D mesh.dp=2
  ${plans}/few.cz)
cz_plan_sees(plan_json_sees_fit ${plans}/few.cz)
cz_plan_sees(plan_json_sees_fit_of_stage ${plans}/fit_of_stage.cz)
cz_plan_says(plan_screen_fit_of_stage
  "plan takes, .*: pieces of matrices do not fit 2 ranks" ${plans}/fit_of_stage.cz)
cz_plan_says(plan_screen_fit
  "plan takes, .*: pieces of matrices do not fit 4 ranks" ${plans}/few.cz)
# Lengths that ranks can share are those of what is stored: half of the ranks of
# a matrix stored turned had nothing to do.
cz_plan_says(plan_few_turned "owners +4 updates of matrices, 1 to 1 on a rank"
  ${plans}/turned.cz)
# Those of a node share: blocks of more ranks than a node has sent their sums over
# the network.  Of six, two share, of twelve four.
foreach(case 1x8_2:2 2x4_2:2 1x8_4:4 2x8_4:4 2x6_6:2 1x12_6:2 1x12_12:4)
  string(REGEX MATCH "^(.*):(.*)$" _ ${case})
  set(name near_${CMAKE_MATCH_1})
  set(group ${CMAKE_MATCH_2})
  cz_mesh(defines "dp;fsdp;machine.gpus_per_node" ${CMAKE_MATCH_1})
  list(APPEND defines -D d=48 ${plans}/near.cz)
  math(EXPR twice "2 * ${group}")
  cz_plan_json(${name} ${defines})
  cz_plan_says(plan_${name} "\"group\":${group},\"stride\"" --json ${defines})
  set_tests_properties(plan_${name} PROPERTIES
    FAIL_REGULAR_EXPRESSION "\"group\":(${twice}|8),\"stride\"")
endforeach()

# FSDP over 256 GPUs, and 8 replicas of 32: every figure, and one plan that keeps all
# caps at once.
foreach(stem qwen3-32b-fsdp qwen3-32b-hsdp)
  cz_script(plan_json_${stem} plan 300 plan/check_plan.py --run $<TARGET_FILE:canzona>
    plan --json --no-baselines ${examples}/${stem}.cz)
  cz_script(plan_reach_${stem} plan 300 plan/plan_reach.py $<TARGET_FILE:canzona>
    ${examples}/${stem}.cz)
endforeach()
set_tests_properties(plan_json_qwen3-32b-fsdp PROPERTIES
  LABELS "plan;nightly") # 256 shards of each matrix: 40 s
cz_script(plan_reach_kernels_longer_where_sums_overlap plan 300 plan/plan_reach.py
  $<TARGET_FILE:canzona> ${plans}/reach_qwen3_8b.cz)

# Micro-groups: the fastest, whatever the machine; shown by the screen.
cz_script(plan_micro_groups plan 300 run/micro_groups.py $<TARGET_FILE:canzona>)
cz_plan_json(groups ${plans}/groups.cz)
