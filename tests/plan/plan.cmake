# Plans: every figure of --json computed again from the schema alone, and the
# screen of the headline example.
set(plan_checker ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py)
set(plan_examples ${CMAKE_SOURCE_DIR}/examples)

# One thing wrong in the JSON of a plan is noticed: here, there and, at night, in
# each place.  That is about Python: an instrumented compiler just plans.
function(cz_plan_sees name)
  set(plan $<TARGET_FILE:canzona> plan --json ${ARGN})
  if(INSTRUMENTED)
    add_test(NAME ${name} COMMAND ${plan_checker} --run ${plan})
  else()
    add_test(NAME ${name} COMMAND ${plan_checker} --self-test ${plan})
    add_test(NAME ${name}_all COMMAND ${plan_checker} --self-test=1500 ${plan})
    set_tests_properties(${name}_all PROPERTIES LABELS "plan;nightly"
      TIMEOUT 1200)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS plan TIMEOUT 300)
endfunction()

# plan_json_NAME_DPxAXIS of a file on meshes DP:AXIS, `axis` being tp or fsdp.
function(cz_plan_tests name file axis)
  foreach(mesh ${ARGN})
    string(REPLACE ":" ";" sizes ${mesh})
    list(GET sizes 0 dp)
    list(GET sizes 1 size)
    add_test(NAME plan_json_${name}_${dp}x${size}
      COMMAND ${plan_checker} --run $<TARGET_FILE:canzona> plan --json
        -D mesh.dp=${dp} -D mesh.${axis}=${size} ${file})
    set_tests_properties(plan_json_${name}_${dp}x${size}
      PROPERTIES LABELS plan TIMEOUT 120)
  endforeach()
endfunction()

foreach(example gpt gpt_adamw)
  cz_plan_tests(${example} ${plan_examples}/${example}.cz tp
    1:1 2:1 3:1 1:2 1:4 2:2 3:2 8:4)
endforeach()
cz_plan_tests(qwen3-32b ${plan_examples}/qwen3-32b.cz tp 32:8 1:8 8:1)

# States that are whole, and externs: at the owner alone, in memory and in
# baselines.
foreach(stem states states_fsdp states_experts states_pipeline bases externs
    externs_stages)
  add_test(NAME plan_json_${stem} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  set_tests_properties(plan_json_${stem} PROPERTIES LABELS plan TIMEOUT 120)
endforeach()

# What a GPU takes besides.
foreach(stem fused pipeline_moe)
  add_test(NAME plan_json_gpu_${stem} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json --target=sm_90a
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  set_tests_properties(plan_json_gpu_${stem} PROPERTIES LABELS plan TIMEOUT 120)
endforeach()

# Tiles: pieces apart by rows, or by columns.
cz_plan_tests(tiles ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/tiles.cz tp
  1:1 2:2 1:4 3:2 1:8)
cz_plan_sees(plan_json_sees_tiles -D mesh.dp=1
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/tiles_fsdp.cz)
# Fused and padded storage: pieces, uneven shards, empty ones.
cz_plan_tests(fused ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fused.cz tp
  1:1 2:2 1:4 3:2 1:8)
cz_plan_tests(chunks ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/chunks.cz fsdp
  2:3 1:8 3:2)
# Factorisations, whose kernels are of a kind of their own.
cz_plan_tests(factor ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/factor.cz tp 1:1 2:2 2:4)
foreach(mesh 2:3:2 1:2:4 1:5:2)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 dp)
  list(GET sizes 1 fsdp)
  list(GET sizes 2 tp)
  add_test(NAME plan_json_fsdp_${dp}x${fsdp}x${tp}
    COMMAND ${plan_checker} --run $<TARGET_FILE:canzona> plan --json
      -D mesh.dp=${dp} -D mesh.fsdp=${fsdp} -D mesh.tp=${tp}
      ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fsdp.cz)
  set_tests_properties(plan_json_fsdp_${dp}x${fsdp}x${tp}
    PROPERTIES LABELS plan TIMEOUT 120)
endforeach()
cz_plan_sees(plan_json_sees_fsdp -D mesh.dp=1 -D mesh.fsdp=2 -D layers=1
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fsdp.cz)
# Of 36 rows each rank along tp has 18, and of these along fsdp 6: the second
# rank along tp begins at row 18, as in torch, though fsdp is the major axis.
add_test(NAME plan_fsdp_inside_tp COMMAND canzona plan --json
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fsdp.cz)
set_tests_properties(plan_fsdp_inside_tp PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "up.weight\",\"shape\":.36,20.,\"dtype\":\"bf16\",\"shard\":..\"fsdp\",\"tp\".,...,\"bounds\":..0,6,18,24,6,12,24,30,12,18,30,36.,null")
# ceil(10 / 3) = 4 rows, and ceil(2 / 3) = 1: as torch.chunk does.
add_test(NAME plan_chunks_short_tail COMMAND canzona plan --json
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/chunks.cz)
set_tests_properties(plan_chunks_short_tail PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "up.weight\",\"shape\":.10,10.,\"dtype\":\"bf16\",\"shard\":..\"fsdp\".,...,\"bounds\":..0,4,4,8,8,10.,null")
add_test(NAME plan_chunks_empty_tail COMMAND canzona plan --json
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/chunks.cz)
set_tests_properties(plan_chunks_empty_tail PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "thin.weight\",\"shape\":.2,10.,\"dtype\":\"bf16\",\"shard\":..\"fsdp\".,...,\"bounds\":..0,1,1,2,2,2.,null")
cz_plan_sees(plan_json_sees_factor -D mesh.dp=2 -D mesh.tp=2
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/factor.cz)
cz_plan_sees(plan_json_sees_form -D form=gram -D mesh.dp=1
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/form_shared.cz)
cz_plan_sees(plan_json_sees_fused -D mesh.dp=1 -D mesh.tp=4
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fused.cz)

# Experts that factor the ranks in their own way: dealt out over parts of dp and
# tp, over dp alone, over all; whole or cut.
foreach(mesh 2:4:1 2:2:2 1:4:2 1:8:1 4:2:1)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 edp)
  list(GET sizes 1 ep)
  list(GET sizes 2 etp)
  cz_plan_sees(plan_json_experts_${edp}x${ep}x${etp} -D mesh.edp=${edp}
    -D mesh.ep=${ep} -D mesh.etp=${etp} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/moe.cz)
endforeach()

cz_plan_sees(plan_json_batch ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/batch.cz)

# The largest models of the library, on the meshes they are meant for: counts,
# every figure, and less than 3 s.
foreach(stem deepseek-v3 qwen3-235b-a22b)
  add_test(NAME plan_large_${stem} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_large.py $<TARGET_FILE:canzona>
    ${plan_examples}/${stem}.cz)
  set_tests_properties(plan_large_${stem} PROPERTIES LABELS plan TIMEOUT 120)
endforeach()

# Every machine of the library is whole.
file(GLOB machines CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dsl/std/machine/*.cz)
foreach(file ${machines})
  get_filename_component(stem ${file} NAME_WE)
  add_test(NAME machine_${stem} COMMAND canzona check -D machine=${stem}
    ${plan_examples}/gpt.cz)
  set_tests_properties(machine_${stem} PROPERTIES LABELS plan TIMEOUT 60)
endforeach()

# Stages of a pipeline: even, listed, two chunks each, with experts and ties.
foreach(stem pipeline pipeline_listed pipeline_chunks pipeline_paths)
  add_test(NAME plan_json_${stem} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  set_tests_properties(plan_json_${stem} PROPERTIES LABELS plan TIMEOUT 120)
endforeach()
cz_plan_sees(plan_json_sees_pipeline
  -D mesh.dp=2 -D mesh.tp=2 ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/pipeline_moe.cz)

# The largest on stages, experts in a mesh of their own, and a dense one.
add_test(NAME plan_large_stages COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_large.py $<TARGET_FILE:canzona>
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/stages/deepseek-v3.cz)
set_tests_properties(plan_large_stages PROPERTIES LABELS plan TIMEOUT 120)
add_test(NAME plan_json_qwen3-32b_stages COMMAND ${plan_checker} --run
  $<TARGET_FILE:canzona> plan --json -D mesh.pp=4 -D mesh.dp=8
  ${plan_examples}/qwen3-32b.cz)
set_tests_properties(plan_json_qwen3-32b_stages PROPERTIES LABELS plan
  TIMEOUT 120)
add_test(NAME plan_screen_stages COMMAND canzona plan -D mesh.pp=4
  -D mesh.dp=8 ${plan_examples}/qwen3-32b.cz)
set_tests_properties(plan_screen_stages PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "max/mean 1\\.058.*stages      0: 16 layers, 8\\.58 G elements; 14\\.77 TF on the busiest rank, max/mean 1\\.058\n +1 to 2: 16 layers, 7\\.80 G elements each; ")

# Experts that a path tells apart.
foreach(mesh 2:2:2 1:4:2)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 edp)
  list(GET sizes 1 ep)
  list(GET sizes 2 etp)
  add_test(NAME plan_json_experts_paths_${edp}x${ep}x${etp}
    COMMAND ${plan_checker} --run $<TARGET_FILE:canzona> plan --json
      -D mesh.edp=${edp} -D mesh.ep=${ep} -D mesh.etp=${etp}
      ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/experts_paths.cz)
  set_tests_properties(plan_json_experts_paths_${edp}x${ep}x${etp}
    PROPERTIES LABELS plan TIMEOUT 120)
endforeach()

# The checker notices any figure that is off by one.
cz_plan_sees(plan_json_sees ${plan_examples}/gpt.cz)

# One regular expression each: CTest passes when any of a list matches.
function(cz_screen_test name pattern)
  add_test(NAME plan_screen_${name} COMMAND canzona plan
    ${plan_examples}/qwen3-32b.cz)
  set_tests_properties(plan_screen_${name} PROPERTIES LABELS plan TIMEOUT 60
    PASS_REGULAR_EXPRESSION "${pattern}")
endfunction()
cz_screen_test(counts
  "32,762,123,264 parameters in 707 tensors; 448 matrices of 31,205,621,760 elements")
cz_screen_test(load "max/mean 1\\.058")
cz_screen_test(bound "item bound 1\\.058")

# Schedules by hand through the verifier and the threads world: both accept
# the one that holds, neither the one that needs buffers.
add_executable(schedule_tool tools/schedule_tool.c)
target_link_libraries(schedule_tool PRIVATE cz_frontend cz_verify cz_run
  cz_warnings)
set_target_properties(schedule_tool PROPERTIES ENABLE_EXPORTS ON
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

function(cz_schedule_test stem verdict status)
  add_test(NAME schedule_${stem}
    COMMAND schedule_tool ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/schedules/${stem}.mlir)
  set_tests_properties(schedule_${stem} PROPERTIES LABELS plan TIMEOUT 120
    PASS_REGULAR_EXPRESSION "verifier: ${verdict}\nthreads: ${status}\n")
endfunction()
cz_schedule_test(valid accepts CZR_OK)
cz_schedule_test(sends_before_receives rejects CZR_ERR_TIMEOUT)

# One rank, primes, a mesh larger than the work, 100,000 parameters.
set(edge ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_edge.py
  $<TARGET_FILE:canzona>)
add_test(NAME plan_edge COMMAND ${edge} prime)
add_test(NAME plan_edge_all COMMAND ${edge})
set_tests_properties(plan_edge plan_edge_all PROPERTIES LABELS plan TIMEOUT 300)

# Random models on random meshes, and what they found.
set(random ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/adversary/plan_random.py
  $<TARGET_FILE:canzona>)
file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/found/*.cz)
add_test(NAME plan_random COMMAND ${random} 100 1)
add_test(NAME plan_random_found COMMAND ${random} ${found})
set_tests_properties(plan_random plan_random_found PROPERTIES
  LABELS plan TIMEOUT 300)
add_test(NAME plan_random_long COMMAND ${random} 1000 1001)
set_tests_properties(plan_random_long PROPERTIES
  LABELS "plan;nightly" TIMEOUT 1800)

# Caps that no plan keeps, and the change that helps.
add_test(NAME plan_caps COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_caps.py $<TARGET_FILE:canzona>)
set_tests_properties(plan_caps PROPERTIES LABELS plan TIMEOUT 120)

# Families are defined one after the other, but layers are computed so.
foreach(stem qwen3-32b qwen3-235b-a22b)
  add_test(NAME plan_order_${stem} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_order.py $<TARGET_FILE:canzona>
    ${plan_examples}/${stem}.cz)
  set_tests_properties(plan_order_${stem} PROPERTIES LABELS plan TIMEOUT 120)
endforeach()

# Matrices that ranks share: blocks of two inside four, of both axes, of chunks of
# unequal length, with experts on the stages of a pipeline.
foreach(case examples/gpt:dp=2,tp=4:2 tests/fixtures/plans/fused:dp=2,tp=4:2
             tests/fixtures/plans/fsdp:dp=1,fsdp=2,tp=2:2 tests/fixtures/plans/pipeline_moe:dp=2,tp=2:2)
  string(REGEX MATCH "^(.*)/([a-z_]+):(.*):([0-9]+)$" _ ${case})
  set(file ${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.cz)
  set(name plan_json_gram_${CMAKE_MATCH_2})
  set(group ${CMAKE_MATCH_4})
  string(REGEX REPLACE "([a-z]+=[0-9]+),?" "-D;mesh.\\1;" defines ${CMAKE_MATCH_3})
  add_test(NAME ${name} COMMAND ${plan_checker} --run $<TARGET_FILE:canzona> plan
    --json ${defines} -D tp_strategy=gram -D tp_group=${group} ${file})
  set_tests_properties(${name} PROPERTIES LABELS plan TIMEOUT 120)
endforeach()
cz_plan_sees(plan_json_sees_gram -D mesh.dp=2 -D mesh.fsdp=2
  -D tp_strategy=gram ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/chunks.cz)
add_test(NAME plan_gram_of_three COMMAND ${plan_checker} --run
  $<TARGET_FILE:canzona> plan --json -D gpt.width=96 -D gpt.vocab=258
  -D mesh.tp=3 -D tp_strategy=gram ${plan_examples}/gpt.cz)
set_tests_properties(plan_gram_of_three PROPERTIES LABELS plan TIMEOUT 60)

# Blocks of ranks interleave, so that their own shards need not travel.
add_test(NAME plan_gram_strides COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_strides.py $<TARGET_FILE:canzona>
  ${plan_examples}/gpt.cz 8)
set_tests_properties(plan_gram_strides PROPERTIES LABELS plan TIMEOUT 60)

# Few matrices: the planner lets ranks share them.
add_test(NAME plan_json_few COMMAND ${plan_checker} --run
  $<TARGET_FILE:canzona> plan --json -D mesh.dp=2
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/few.cz)
add_test(NAME plan_screen_few COMMAND canzona plan
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/few.cz)
set_tests_properties(plan_screen_few PROPERTIES
  PASS_REGULAR_EXPRESSION "gram: .*max/mean 1\\.0")
add_test(NAME plan_owners_alone_where_states_cannot_be_even COMMAND canzona plan
  -D mesh.dp=2 ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/few.cz)
set_tests_properties(plan_owners_alone_where_states_cannot_be_even PROPERTIES
  PASS_REGULAR_EXPRESSION "gram: " LABELS plan TIMEOUT 60)
cz_plan_sees(plan_json_sees_fit ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/few.cz)
cz_plan_sees(plan_json_sees_fit_of_stage
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fit_of_stage.cz)
add_test(NAME plan_screen_fit_of_stage COMMAND canzona plan
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fit_of_stage.cz)
set_tests_properties(plan_screen_fit_of_stage PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "plan takes, .*: pieces of matrices do not fit 2 ranks")
add_test(NAME plan_screen_fit COMMAND canzona plan
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/few.cz)
set_tests_properties(plan_screen_fit PROPERTIES
  PASS_REGULAR_EXPRESSION "plan takes, .*: pieces of matrices do not fit 4 ranks")
# Lengths that ranks can share are those of what is stored: half of the ranks of
# a matrix stored turned had nothing to do.
add_test(NAME plan_few_turned COMMAND canzona plan
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/turned.cz)
set_tests_properties(plan_few_turned PROPERTIES
  PASS_REGULAR_EXPRESSION "owners +4 updates of matrices, 1 to 1 on a rank")
set_tests_properties(plan_json_few plan_screen_few plan_screen_fit
  plan_few_turned PROPERTIES LABELS plan TIMEOUT 60)
# Those of a node share: blocks of more ranks than a node has sent their sums over
# the network.  Of six, two share, of twelve four.
foreach(case 1x8:2:2 2x4:2:2 1x8:4:4 2x8:4:4 2x6:6:2 1x12:6:2 1x12:12:4)
  string(REGEX MATCH "(.*)x(.*):(.*):(.*)" matched ${case})
  set(name near_${CMAKE_MATCH_1}x${CMAKE_MATCH_2}_${CMAKE_MATCH_3})
  set(arguments plan --json -D mesh.dp=${CMAKE_MATCH_1}
    -D mesh.fsdp=${CMAKE_MATCH_2} -D machine.gpus_per_node=${CMAKE_MATCH_3}
    -D d=48 ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/near.cz)
  math(EXPR twice "2 * ${CMAKE_MATCH_4}")
  add_test(NAME plan_json_${name} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> ${arguments})
  add_test(NAME plan_${name} COMMAND canzona ${arguments})
  set_tests_properties(plan_${name} PROPERTIES
    PASS_REGULAR_EXPRESSION "\"group\":${CMAKE_MATCH_4},\"stride\""
    FAIL_REGULAR_EXPRESSION "\"group\":(${twice}|8),\"stride\"")
  set_tests_properties(plan_json_${name} plan_${name} PROPERTIES
    LABELS plan TIMEOUT 60)
endforeach()

# FSDP over 256 GPUs, and 8 replicas of 32: every figure, and one plan that keeps all
# caps at once.
foreach(stem qwen3-32b-fsdp qwen3-32b-hsdp)
  add_test(NAME plan_json_${stem} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json --no-baselines
    ${plan_examples}/${stem}.cz)
  add_test(NAME plan_reach_${stem} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_reach.py $<TARGET_FILE:canzona>
    ${plan_examples}/${stem}.cz)
  set_tests_properties(plan_json_${stem} plan_reach_${stem} PROPERTIES
    LABELS plan TIMEOUT 300)
endforeach()
set_tests_properties(plan_json_qwen3-32b-fsdp PROPERTIES
  LABELS "plan;nightly") # 256 shards of each matrix: 40 s
add_test(NAME plan_reach_kernels_longer_where_sums_overlap COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/plan_reach.py $<TARGET_FILE:canzona>
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/reach_qwen3_8b.cz)
set_tests_properties(plan_reach_kernels_longer_where_sums_overlap PROPERTIES
  LABELS plan TIMEOUT 300)

# Micro-groups: the fastest, whatever the machine; shown by the screen.
add_test(NAME plan_micro_groups COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/run/micro_groups.py $<TARGET_FILE:canzona>)
set_tests_properties(plan_micro_groups PROPERTIES LABELS plan TIMEOUT 300)
add_test(NAME plan_json_groups COMMAND ${plan_checker} --run
  $<TARGET_FILE:canzona> plan --json
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/groups.cz)
set_tests_properties(plan_json_groups PROPERTIES LABELS plan TIMEOUT 60)
