# Generated programs, executed: strict runs on every small mesh, on both host
# devices, and the planted fault that a run must find.
# Instruments slow a step down tenfold, and two steps show them as much as ten.
set(steps 10)
if(INSTRUMENTED)
  set(steps 2)
endif()
foreach(example gpt gpt_adamw)
  foreach(mesh 1x1 2x1 3x1 4x1 1x2 1x4 2x2 3x2)
    string(REGEX MATCH "^[0-9]+" dp ${mesh})
    string(REGEX MATCH "[0-9]+$" tp ${mesh})
    set(name run_${example}_${mesh})
    add_test(NAME ${name} COMMAND canzona run --check --steps=${steps}
      -D mesh.dp=${dp} -D mesh.tp=${tp}
      ${CMAKE_SOURCE_DIR}/examples/${example}.cz)
    set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
endforeach()

# Views of fused and padded storage: tp = 4 and 8 cut inside query groups, and
# 8 ranks share fewer heads.
foreach(mesh 1x1 2x1 1x2 2x2 1x4 3x2 1x8)
  string(REGEX MATCH "^[0-9]+" dp ${mesh})
  string(REGEX MATCH "[0-9]+$" tp ${mesh})
  add_test(NAME run_fused_${mesh} COMMAND canzona run --check --steps=2
    -D mesh.dp=${dp} -D mesh.tp=${tp}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fused.cz)
  set_tests_properties(run_fused_${mesh} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# Rules that know where an element stands; the largest and the least of many;
# random numbers.
foreach(stem positions extremes random)
  foreach(mesh 1x1 4x2 2x4 1x8 3x2)
    string(REGEX MATCH "^[0-9]+" dp ${mesh})
    string(REGEX MATCH "[0-9]+$" tp ${mesh})
    if(mesh STREQUAL 3x2)
      set(late --late)
    else()
      set(late)
    endif()
    add_test(NAME run_${stem}_${mesh} COMMAND canzona run --check ${late}
      --steps=3 -D mesh.dp=${dp} -D mesh.tp=${tp}
      ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
    set_tests_properties(run_${stem}_${mesh} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
endforeach()

# Iterations by way of the Gram matrix; some of them on ranks that share matrices.
foreach(mesh 1x1 2x2 1x4 3x2)
  string(REGEX MATCH "^([0-9]+)x([0-9]+)$" _ ${mesh})
  set(axes -D mesh.dp=${CMAKE_MATCH_1} -D mesh.tp=${CMAKE_MATCH_2})
  add_test(NAME run_form_${mesh} COMMAND canzona run --check --steps=3
    -D form=gram ${axes} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/form.cz)
  add_test(NAME run_form_shared_${mesh} COMMAND canzona run --check --late
    --steps=3 -D form=gram -D tp_strategy=gram ${axes}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/form_shared.cz)
  set_tests_properties(run_form_${mesh} run_form_shared_${mesh} PROPERTIES
    LABELS run TIMEOUT 120)
endforeach()

# Factorisations: of matrices owned by one rank, bits of one rank on all meshes.
foreach(mesh 1x1 2x2 4x2 2x4 1x8 4x2--late)
  string(REGEX MATCH "^([0-9]+)x([0-9]+)(.*)$" _ ${mesh})
  add_test(NAME run_factor_${mesh} COMMAND canzona run --check --steps=3
    ${CMAKE_MATCH_3} -D mesh.dp=${CMAKE_MATCH_1} -D mesh.tp=${CMAKE_MATCH_2}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/factor.cz)
  set_tests_properties(run_factor_${mesh} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# The library's rules with roots and eigenbases, through several refreshes.
foreach(mesh 2x2 1x2)
  string(REGEX MATCH "^([0-9]+)x([0-9]+)$" _ ${mesh})
  add_test(NAME run_bases_${mesh} COMMAND canzona run --check --steps=6
    -D mesh.dp=${CMAKE_MATCH_1} -D mesh.tp=${CMAKE_MATCH_2}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/bases.cz)
  set_tests_properties(run_bases_${mesh} PROPERTIES LABELS run TIMEOUT 60)
endforeach()

# run_STEM_DPxTP of tests/fixtures/plans/STEM.cz, and run_STEM_DPxTP_late, as late as waits
# allow.
function(cz_run_soon_and_late stem)
  foreach(mesh ${ARGN})
    string(REGEX MATCH "^[0-9]+" dp ${mesh})
    string(REGEX MATCH "[0-9]+$" tp ${mesh})
    foreach(late "" _late)
      set(name run_${stem}_${mesh}${late})
      string(REPLACE "_" "--" option "${late}")
      add_test(NAME ${name} COMMAND canzona run --check --steps=4 ${option}
        -D mesh.dp=${dp} -D mesh.tp=${tp}
        ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
      set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
    endforeach()
  endforeach()
endfunction()

# States of shapes of their own, whole at the owner; also as late as waits allow.
cz_run_soon_and_late(states 1x1 4x2 2x4 1x8 3x2 6x1)
foreach(stem fsdp experts pipeline)
  add_test(NAME run_states_${stem} COMMAND canzona run --check --steps=3
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/states_${stem}.cz)
  set_tests_properties(run_states_${stem} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# Matrices cut to tiles, each with states and owner of its own; also as late as
# waits allow, shared by ranks, and of FSDP's chunks.
cz_run_soon_and_late(tiles 2x2 1x4 4x2 3x2)
cz_run_soon_and_late(tiles_shared 1x4 2x2)
foreach(mesh 2:3:2 1:2:4)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 dp)
  list(GET sizes 1 fsdp)
  list(GET sizes 2 tp)
  set(name run_tiles_fsdp_${dp}x${fsdp}x${tp})
  add_test(NAME ${name} COMMAND canzona run --check --late --steps=3
    -D mesh.dp=${dp} -D mesh.fsdp=${fsdp} -D mesh.tp=${tp}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/tiles_fsdp.cz)
  set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# What is read as a matrix before it is written element by element.
cz_run_soon_and_late(parameter_as_matrix 1x1 2x2)

# What products take into their steps, and others need before these.
cz_run_soon_and_late(widened_operand 1x1 2x2)

# What the trainer gives each step; also as late as waits allow, on stages of a
# pipeline and of experts.
cz_run_soon_and_late(externs 1x1 2x2 4x2 2x4 1x8 3x2)
add_test(NAME run_externs_stages COMMAND canzona run --check --steps=3
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/externs_stages.cz)
set_tests_properties(run_externs_stages PROPERTIES LABELS run TIMEOUT 120)

# FSDP's chunks, replicas x chunks.
foreach(mesh 1x1 2x3 1x3 1x8 3x2)
  string(REGEX MATCH "^[0-9]+" dp ${mesh})
  string(REGEX MATCH "[0-9]+$" fsdp ${mesh})
  add_test(NAME run_chunks_${mesh} COMMAND canzona run --check --steps=2
    -D mesh.dp=${dp} -D mesh.fsdp=${fsdp}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/chunks.cz)
  set_tests_properties(run_chunks_${mesh} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# The same inside shards of tp: replicas x chunks x tp.
foreach(mesh 1:2:2 2:3:2 1:5:2 1:2:4 3:1:2)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 dp)
  list(GET sizes 1 fsdp)
  list(GET sizes 2 tp)
  set(name run_fsdp_${dp}x${fsdp}x${tp})
  add_test(NAME ${name} COMMAND canzona run --check --steps=2
    -D mesh.dp=${dp} -D mesh.fsdp=${fsdp} -D mesh.tp=${tp}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fsdp.cz)
  set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

foreach(mesh 2x2 1x4)
  string(REGEX MATCH "^[0-9]+" dp ${mesh})
  string(REGEX MATCH "[0-9]+$" tp ${mesh})
  add_test(NAME run_late_${mesh} COMMAND canzona run --check --late --steps=3
    -D mesh.dp=${dp} -D mesh.tp=${tp}
    ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
  set_tests_properties(run_late_${mesh} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# Experts that factor the ranks in a way of their own: edp x ep x etp, of 8 ranks
# dp x tp; etp is 1, tp, between, and beyond.
foreach(mesh 2:4:1:4:2 2:2:2:4:2 1:4:2:4:2 1:8:1:4:2 4:2:1:4:2
        2:2:2:2:4 4:1:2:2:4 1:2:4:4:2 2:2:2:1:8)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 edp)
  list(GET sizes 1 ep)
  list(GET sizes 2 etp)
  list(GET sizes 3 dp)
  list(GET sizes 4 tp)
  foreach(stem moe batch)
    set(name run_experts_${stem}_${edp}x${ep}x${etp}_of_${dp}x${tp})
    add_test(NAME ${name} COMMAND canzona run --check --steps=3
      -D mesh.dp=${dp} -D mesh.tp=${tp}
      -D mesh.edp=${edp} -D mesh.ep=${ep} -D mesh.etp=${etp}
      ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
    set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
endforeach()

# Paths that tell apart experts which ranks share out: dp x tp, edp x ep x etp.
foreach(mesh 4:2:2:2:2 4:2:1:4:2 4:1:2:2:1 4:2:4:1:2 2:4:1:4:2 2:2:1:4:1
        4:2:1:2:4)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 dp)
  list(GET sizes 1 tp)
  list(GET sizes 2 edp)
  list(GET sizes 3 ep)
  list(GET sizes 4 etp)
  set(name run_experts_paths_${dp}x${tp}_${edp}x${ep}x${etp})
  add_test(NAME ${name} COMMAND canzona run --check --steps=3
    -D mesh.dp=${dp} -D mesh.tp=${tp} -D mesh.edp=${edp} -D mesh.ep=${ep}
    -D mesh.etp=${etp} ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/experts_paths.cz)
  set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# Gradients by path: dp x cp x tp.
foreach(mesh 2:1:2 1:2:2 1:1:4 3:2:1 3:2:2)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 dp)
  list(GET sizes 1 cp)
  list(GET sizes 2 tp)
  set(name run_grads_${dp}x${cp}x${tp})
  add_test(NAME ${name} COMMAND canzona run --check --steps=3
    -D mesh.dp=${dp} -D mesh.cp=${cp} -D mesh.tp=${tp}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/grads.cz)
  set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

# As late as waits allow, where stages skip what they do not have.
foreach(stem chunks paths)
  add_test(NAME run_late_pipeline_${stem} COMMAND canzona run --check --late
    --steps=3 ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/pipeline_${stem}.cz)
  set_tests_properties(run_late_pipeline_${stem} PROPERTIES LABELS run
    TIMEOUT 120)
endforeach()

# Stages of a pipeline: pp x dp x tp.
foreach(run pipeline:2:2:2 pipeline:3:1:2 pipeline:6:2:1
    pipeline_listed:3:2:1 pipeline_listed:3:1:2 pipeline_listed:3:2:2
    pipeline_chunks:2:2:2 pipeline_chunks:3:1:2 pipeline_chunks:1:2:2
    pipeline_moe:2:4:1 pipeline_moe:2:2:2 pipeline_paths:2:2:2
    pipeline_fsdp:2:1:2 pipeline_fsdp:4:2:1)
  string(REPLACE ":" ";" sizes ${run})
  list(GET sizes 0 stem)
  list(GET sizes 1 pp)
  list(GET sizes 2 dp)
  list(GET sizes 3 tp)
  set(name run_${stem}_${pp}x${dp}x${tp})
  add_test(NAME ${name} COMMAND canzona run --check --steps=3
    -D mesh.pp=${pp} -D mesh.dp=${dp} -D mesh.tp=${tp}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
endforeach()

add_test(NAME run_finds_rank_order_reduction COMMAND canzona run --check
  --plant-rank-order --steps=2 -D mesh.dp=2 -D mesh.tp=2
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
set_tests_properties(run_finds_rank_order_reduction PROPERTIES LABELS run
  PASS_REGULAR_EXPRESSION "has other bits than on one rank" TIMEOUT 120)

# As `build` plans it, beside the interpreter.
foreach(stem few fused bases)
  add_test(NAME run_values_${stem} COMMAND canzona run --check=values --steps=3
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  set_tests_properties(run_values_${stem} PROPERTIES LABELS run TIMEOUT 60)
endforeach()

# Shampoo's first updates, and what is planted in its C.
add_test(NAME run_planted COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/run/run_planted.py $<TARGET_FILE:canzona>)
set_tests_properties(run_planted PROPERTIES LABELS run TIMEOUT 240)

# Random programs of one rule, executed.
add_executable(random_program_tool tools/random_program_tool.c)
target_link_libraries(random_program_tool PRIVATE cz_dsl cz_warnings)
set_target_properties(random_program_tool PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(random ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/run/run_random.py
  $<TARGET_FILE:canzona> $<TARGET_FILE:random_program_tool>)
add_test(NAME run_random COMMAND ${random} 24 1)
set_tests_properties(run_random PROPERTIES LABELS run TIMEOUT 240)
add_test(NAME run_random_long COMMAND ${random} 600 1001)
set_tests_properties(run_random_long PROPERTIES
  LABELS "run;nightly" TIMEOUT 3600)

# Generated C as text: bytes, sizes, warnings, round trips.
add_test(NAME emit COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/emit.py
  $<TARGET_FILE:canzona>)
set_tests_properties(emit PROPERTIES LABELS tree TIMEOUT 300)

# Matrices that ranks share: wide and tall, sharded along either dimension, fused
# too, by FSDP's chunks of unequal length, by blocks of both axes; also as late as
# waits allow.  Groups of 0 are all that shard a matrix.
foreach(case gpt:4x1x2:0 gpt:2x1x4:1 gpt:2x1x4:2 gpt:2x1x4:4 gpt:1x1x4:2
             fused:2x1x4:2 fused:2x1x2:0 fsdp:1x2x2:2
             fsdp:2x2x2:0 chunks:2x2x1:0)
  string(REGEX MATCH "^([a-z]+):([0-9]+)x([0-9]+)x([0-9]+):([0-9]+)$" _ ${case})
  set(stem ${CMAKE_MATCH_1})
  set(name run_gram_${stem}_${CMAKE_MATCH_2}x${CMAKE_MATCH_3}x${CMAKE_MATCH_4}_${CMAKE_MATCH_5})
  set(defines -D mesh.dp=${CMAKE_MATCH_2} -D mesh.tp=${CMAKE_MATCH_4}
      -D tp_strategy=gram)
  if(CMAKE_MATCH_3 GREATER 1)
    list(APPEND defines -D mesh.fsdp=${CMAKE_MATCH_3})
  endif()
  if(CMAKE_MATCH_5 GREATER 0)
    list(APPEND defines -D tp_group=${CMAKE_MATCH_5})
  endif()
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  if(stem STREQUAL gpt)
    set(file ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
  endif()
  foreach(late "" --late)
    add_test(NAME ${name}${late} COMMAND canzona run --check --steps=2 ${late}
      ${defines} ${file})
    set_tests_properties(${name}${late} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
endforeach()

# What cannot be shared is refused with the reason; three ranks may share in a
# plan that is not strict.
function(cz_refuses_to_share name command file message)
  add_test(NAME refuse_gram_${name} COMMAND canzona ${command} ${ARGN}
    -D tp_strategy=gram ${file})
  set_tests_properties(refuse_gram_${name} PROPERTIES LABELS run TIMEOUT 60
    PASS_REGULAR_EXPRESSION ${message})
endfunction()
set(plans ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans)
set(gpt ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
cz_refuses_to_share(group plan ${gpt}
  "'h.{0}.attn.q' is sharded over 2 ranks, which make no groups of 4"
  -D mesh.tp=2 -D tp_group=4)
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
foreach(case auto_few:few:1x4 auto_few:few:2x4 auto_few:few:1x2 auto_few:few:2x1
    groups:groups:1x4 groups:groups:2x4 groups:groups:2x2 groups:groups:3x2)
  string(REGEX MATCH "(.*):(.*):(.*)x(.*)" matched ${case})
  set(name run_${CMAKE_MATCH_1}_${CMAKE_MATCH_3}x${CMAKE_MATCH_4})
  set(arguments -D mesh.dp=${CMAKE_MATCH_3} -D mesh.tp=${CMAKE_MATCH_4}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${CMAKE_MATCH_2}.cz)
  foreach(late "" --late)
    add_test(NAME ${name}${late} COMMAND canzona run --check --steps=2 ${late}
      ${arguments})
    set_tests_properties(${name}${late} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
endforeach()
# On the ranks of one node among those that shard a matrix: replicas x chunks, so
# many to a node.
foreach(case 1x4:2 2x4:2 1x8:2 1x8:4 2x8:4 2x6:6 1x12:6 1x12:12)
  string(REGEX MATCH "(.*)x(.*):(.*)" matched ${case})
  set(name run_near_${CMAKE_MATCH_1}x${CMAKE_MATCH_2}_${CMAKE_MATCH_3})
  set(arguments -D mesh.dp=${CMAKE_MATCH_1} -D mesh.fsdp=${CMAKE_MATCH_2}
    -D machine.gpus_per_node=${CMAKE_MATCH_3}
    -D d=48 ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/near.cz)
  foreach(late "" --late)
    add_test(NAME ${name}${late} COMMAND canzona run --check --steps=2 ${late}
      ${arguments})
    set_tests_properties(${name}${late} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
endforeach()
add_test(NAME run_auto_few_turned COMMAND canzona run --check --steps=2
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/turned.cz)
set_tests_properties(run_auto_few_turned PROPERTIES LABELS run TIMEOUT 120)
