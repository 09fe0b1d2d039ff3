# Generated programs, executed: strict runs on every small mesh, on both host
# devices, and the planted fault that a run must find.
set(dp_tp dp tp)
# Instruments slow a step down tenfold, and two steps show them as much as four.
set(steps 4)
if(INSTRUMENTED)
  set(steps 2)
endif()
foreach(example gpt gpt_adamw)
  cz_runs(${example} ${examples}/${example}.cz "${dp_tp}" --steps=${steps}
    1x1 2x1 3x1 4x1 1x2 1x4 2x2 3x2)
endforeach()
cz_runs(late ${gpt} "${dp_tp}" "--late;--steps=3" 2x2 1x4)

# Views of fused and padded storage: tp = 4 and 8 cut inside query groups, and
# 8 ranks share fewer heads.
cz_runs(fused ${plans}/fused.cz "${dp_tp}" --steps=2 1x1 2x1 1x2 2x2 1x4 3x2 1x8)

# Rules that know where an element stands; the largest and the least of many;
# random numbers.
foreach(stem positions extremes random)
  cz_runs(${stem} ${plans}/${stem}.cz "${dp_tp}" --steps=3 1x1 4x2 2x4 1x8)
  cz_runs(${stem} ${plans}/${stem}.cz "${dp_tp}" "--late;--steps=3" 3x2)
endforeach()

# Groups by layer, angles, rows by number, loops that count.
cz_runs(by_layer ${plans}/by_layer.cz "${dp_tp}" --steps=3 1x1 2x2 4x2)

# Convolutions as matrices, parameters of one element.
cz_runs(convolution ${plans}/convolution.cz "${dp_tp}" --steps=3 1x1 2x2 1x4)

# Rules without products, on the ranks that have the rows, or with sums over shards.
cz_runs(rows ${plans}/rows.cz "${dp_tp}" --steps=3 1x1 4x2 2x4 1x8)
cz_runs(rows ${plans}/rows.cz "${dp_tp}" "--late;--steps=3" 3x2)
cz_run(rows_fsdp --steps=3 ${plans}/rows_fsdp.cz)
cz_run(few_rows --steps=3 -D mesh.dp=2 ${plans}/few_rows.cz)

# Iterations by way of the Gram matrix; some of them on ranks that share matrices.
cz_runs(form ${plans}/form.cz "${dp_tp}" "--steps=3;-D;form=gram" 1x1 2x2 1x4 3x2)
cz_runs(form_shared ${plans}/form_shared.cz "${dp_tp}"
  "--late;--steps=3;-D;form=gram;-D;tp_strategy=gram" 1x1 2x2 1x4 3x2)

# Factorisations: of matrices owned by one rank, bits of one rank on all meshes.
cz_runs(factor ${plans}/factor.cz "${dp_tp}" --steps=3 1x1 2x2 4x2 2x4 1x8)
cz_run(factor_4x2--late --late --steps=3 -D mesh.dp=4 -D mesh.tp=2 ${plans}/factor.cz)

# Matrices of all buckets, updated by one operation.
cz_runs(joined ${plans}/joined.cz dp "--late;--steps=3" 1 3 4)

# The library's rules with roots and eigenbases, through several refreshes.
cz_runs(bases ${plans}/bases.cz "${dp_tp}" --steps=6 2x2 1x2)

# run_STEM_DPxTP, and run_STEM_DPxTP_late, as late as waits allow.
function(cz_run_soon_and_late stem)
  foreach(mesh ${ARGN})
    cz_mesh(defines "dp;tp" ${mesh})
    cz_run(${stem}_${mesh} --steps=4 ${defines} ${plans}/${stem}.cz)
    cz_run(${stem}_${mesh}_late --steps=4 --late ${defines} ${plans}/${stem}.cz)
  endforeach()
endfunction()

# States of shapes of their own, whole at the owner; also as late as waits allow.
cz_run_soon_and_late(states 1x1 4x2 2x4 1x8 3x2 6x1)
# Matrices cut to tiles, each with states and owner of its own; also as late as
# waits allow, shared by ranks, and of FSDP's chunks.
cz_run_soon_and_late(tiles 2x2 1x4 4x2 3x2)
cz_run_soon_and_late(tiles_shared 1x4 2x2)
cz_runs(tiles_fsdp ${plans}/tiles_fsdp.cz "dp;fsdp;tp" "--late;--steps=3" 2x3x2 1x2x4)
# What is read as a matrix before it is written element by element.
cz_run_soon_and_late(parameter_as_matrix 1x1 2x2)
# What products take into their steps, and others need before these.
cz_run_soon_and_late(widened_operand 1x1 2x2)
# What the trainer gives each step; also as late as waits allow.
cz_run_soon_and_late(externs 1x1 2x2 4x2 2x4 1x8 3x2)
# States and externs on stages of a pipeline, of experts, of FSDP.
foreach(stem states_fsdp states_experts states_pipeline externs_stages)
  cz_run(${stem} --steps=3 ${plans}/${stem}.cz)
endforeach()

# FSDP's chunks, replicas x chunks; the same inside shards of tp: replicas x chunks x
# tp.
cz_runs(chunks ${plans}/chunks.cz "dp;fsdp" --steps=2 1x1 2x3 1x3 1x8 3x2)
# Uneven and empty shards of tp, FSDP inside; experts that have some of FSDP's ranks.
cz_runs(uneven_tp ${plans}/uneven_tp.cz "dp;fsdp;tp" --steps=2 2x2x3 1x1x4 1x3x2)
cz_runs(experts_fsdp ${plans}/experts_fsdp.cz "dp;fsdp;edp;ep" "--late;--steps=2"
  2x4x4x2 1x4x1x4 2x2x2x2)
cz_runs(fsdp ${plans}/fsdp.cz "dp;fsdp;tp" --steps=2 1x2x2 2x3x2 1x5x2 1x2x4 3x1x2)

# Experts that factor the ranks in a way of their own: edp x ep x etp, of 8 ranks
# dp x tp; etp is 1, tp, between, and beyond.
foreach(stem moe batch)
  cz_runs(experts_${stem} ${plans}/${stem}.cz "edp;ep;etp;dp;tp" --steps=3
    2x4x1_of_4x2 2x2x2_of_4x2 1x4x2_of_4x2 1x8x1_of_4x2 4x2x1_of_4x2
    2x2x2_of_2x4 4x1x2_of_2x4 1x2x4_of_4x2 2x2x2_of_1x8)
endforeach()
# Paths that tell apart experts which ranks share out: dp x tp, edp x ep x etp.
cz_runs(experts_paths ${plans}/experts_paths.cz "dp;tp;edp;ep;etp" --steps=3
  4x2_2x2x2 4x2_1x4x2 4x1_2x2x1 4x2_4x1x2 2x4_1x4x2 2x2_1x4x1 4x2_1x2x4)

# Gradients by path: dp x cp x tp.
cz_runs(grads ${plans}/grads.cz "dp;cp;tp" --steps=3 2x1x2 1x2x2 1x1x4 3x2x1 3x2x2)

# Stages of a pipeline: pp x dp x tp; also as late as waits allow, where stages skip
# what they do not have.
foreach(run "pipeline;2x2x2;3x1x2;6x2x1" "pipeline_listed;3x2x1;3x1x2;3x2x2"
    "pipeline_chunks;2x2x2;3x1x2;1x2x2" "pipeline_moe;2x4x1;2x2x2"
    "pipeline_paths;2x2x2" "pipeline_fsdp;2x1x2;4x2x1")
  list(POP_FRONT run stem)
  cz_runs(${stem} ${plans}/${stem}.cz "pp;dp;tp" --steps=3 ${run})
endforeach()
foreach(stem chunks paths)
  cz_run(late_pipeline_${stem} --late --steps=3 ${plans}/pipeline_${stem}.cz)
endforeach()

cz_run(finds_rank_order_reduction --plant-rank-order --steps=2 -D mesh.dp=2
  -D mesh.tp=2 ${gpt})
set_tests_properties(run_finds_rank_order_reduction PROPERTIES
  PASS_REGULAR_EXPRESSION "has other bits than on one rank")

# As `build` plans it, beside the interpreter.
foreach(stem few fused bases)
  cz_test(run_values_${stem} run 60 canzona run --check=values --steps=3
    ${plans}/${stem}.cz)
endforeach()

# Shampoo's first updates, and what is planted in its C.
cz_script(run_planted run 240 run/run_planted.py $<TARGET_FILE:canzona>)

# Random rules without products, on random shapes, where shards lie.
cz_script(run_rows_random run 240 run/run_rows.py $<TARGET_FILE:canzona> 2 1)
cz_script(run_rows_random_long "run;nightly" 3600 run/run_rows.py
  $<TARGET_FILE:canzona> 100 1001)

# Random programs of one rule, executed.
cz_tool(random_program_tool cz_dsl)
set(random run/run_random.py $<TARGET_FILE:canzona> $<TARGET_FILE:random_program_tool>)
cz_script(run_random run 240 ${random} 24 1)
cz_script(run_random_long "run;nightly" 3600 ${random} 600 1001)
cz_test(unit_passes_reference_random_programs_long "unit;nightly" 1800
  unit_passes_reference random_programs_test)
set_tests_properties(unit_passes_reference_random_programs_long PROPERTIES
  ENVIRONMENT RANDOM_PROGRAMS=400)

# Nobody is told of the last step's parameters by the next one.
cz_test(run_factor_not_finite run 60 canzona run ${plans}/not_finite.cz)
set_tests_properties(run_factor_not_finite PROPERTIES PASS_REGULAR_EXPRESSION
  "the last step made 'a' something that is not finite .E0701")

# Of tiny products libraries leave the room of sums untouched, which is no fault.
cz_test(run_values_of_tiny_products run 60 canzona run --check=values --steps=3
  ${plans}/room_of_products.cz)

# Names do not depend on the mesh: one rank has the tensors of many.
cz_run(pad_of_a_mesh --steps=3 ${plans}/pad_of_a_mesh.cz)

# Generated C as text: bytes, sizes, warnings, round trips.
cz_script(emit tree 300 golden/emit.py $<TARGET_FILE:canzona>)

# Matrices that ranks share: wide and tall, sharded along either dimension, fused
# too, by FSDP's chunks of unequal length, by blocks of both axes; also as late as
# waits allow.  Groups of 0 are all that shard a matrix.
function(cz_run_late_too name)
  foreach(late "" --late)
    cz_run(${name}${late} --steps=2 ${late} ${ARGN})
  endforeach()
endfunction()
foreach(case gpt_4x1x2_0 gpt_2x1x4_1 gpt_2x1x4_2 gpt_2x1x4_4 gpt_1x1x4_2
    fused_2x1x4_2 fused_2x1x2_0 fsdp_1x2x2_2 fsdp_2x2x2_0 chunks_2x2x1_0)
  string(REGEX MATCH "^([a-z]+)_(.*)$" _ ${case})
  set(file ${plans}/${CMAKE_MATCH_1}.cz)
  if("${CMAKE_MATCH_1}" STREQUAL "gpt")
    set(file ${gpt})
  endif()
  cz_mesh(defines "dp;fsdp;tp;tp_subgroup" ${CMAKE_MATCH_2})
  string(REGEX REPLACE "-D;(mesh.fsdp=1|tp_subgroup=0)(;|$)" "" defines "${defines}")
  cz_run_late_too(gram_${case} ${defines} -D tp_strategy=gram ${file})
endforeach()

# What cannot be shared is refused with the reason; three ranks may share in a
# plan that is not strict.
function(cz_refuses_to_share name command file message)
  cz_test(refuse_gram_${name} run 60 canzona ${command} ${ARGN}
    -D tp_strategy=gram ${file})
  set_tests_properties(refuse_gram_${name} PROPERTIES
    PASS_REGULAR_EXPRESSION ${message})
endfunction()
cz_refuses_to_share(group plan ${gpt}
  "'h.{0}.attn.q' is sharded over 2 ranks, which make no groups of 4"
  -D mesh.tp=2 -D tp_subgroup=4)
cz_refuses_to_share(length plan ${plans}/fused.cz
  "'head.weight.unpadded.' cannot be shared by 4 ranks: they do not divide its 50 columns"
  -D mesh.tp=4)
cz_refuses_to_share(rule plan ${plans}/two_sided.cz
  "'a' cannot be shared: its rule needs more than sums over the rest")
cz_refuses_to_share(phases plan ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/phases/matrices.cz
  "cannot be shared: a rule with `first` or `every` is not supported yet")
cz_refuses_to_share(blocks run ${gpt}
  "a strict run adds up its 96 columns in 8 blocks, whatever the mesh"
  --check -D gpt.width=96 -D gpt.vocab=258 -D mesh.tp=3)

# Matrices that the planner itself lets ranks share: groups of four, of two, and
# owners side by side; then several micro-groups, one behind the other: two,
# three and four.
foreach(case auto_few_1x4 auto_few_2x4 auto_few_1x2 auto_few_2x1 groups_1x4 groups_2x4
    groups_2x2 groups_3x2)
  string(REGEX MATCH "([a-z]+)_([0-9x]+)$" _ ${case})
  cz_mesh(defines "dp;tp" ${CMAKE_MATCH_2})
  cz_run_late_too(${case} ${defines} ${plans}/${CMAKE_MATCH_1}.cz)
endforeach()
# The ranks of each stage of a pipeline share its own.
foreach(dp 1 2)
  cz_run_late_too(few_stages_${dp} -D mesh.dp=${dp} ${plans}/few_stages.cz)
  cz_plan_json(few_stages_${dp} -D mesh.dp=${dp} ${plans}/few_stages.cz)
endforeach()
cz_plan_says(plan_stages_share_their_matrices "per rank: max/mean 1.0"
  ${plans}/few_stages.cz)
# On the ranks of one node among those that shard a matrix: replicas x chunks, so
# many to a node.
foreach(case 1x4_2 2x4_2 1x8_2 1x8_4 2x8_4 2x6_6 1x12_6 1x12_12)
  cz_mesh(defines "dp;fsdp;machine.gpus_per_node" ${case})
  cz_run_late_too(near_${case} ${defines} -D d=48 ${plans}/near.cz)
endforeach()
cz_run(auto_few_turned --steps=2 ${plans}/turned.cz)
