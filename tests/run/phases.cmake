# Rules with `first` and `every`, executed: bits of one rank on every mesh, the
# float64 interpreter, and formulas.
set(steps 12)
if(INSTRUMENTED)
  set(steps 3)
endif()
set(phases ${CMAKE_SOURCE_DIR}/tests/fixtures/phases)
# What another phase needs of scratch stays untouched.
add_test(NAME run_phases_scratch_of_one_update
  COMMAND canzona run --check --steps=1 ${phases}/turns.cz)
set_tests_properties(run_phases_scratch_of_one_update PROPERTIES LABELS run)

foreach(example elements matrices statistics staggered)
  set(meshes 1x1 2x1 1x2 2x2 3x2)
  if(example STREQUAL staggered)
    list(APPEND meshes 4x2 1x4)
  endif()
  foreach(mesh ${meshes})
    string(REGEX MATCH "^[0-9]+" dp ${mesh})
    string(REGEX MATCH "[0-9]+$" tp ${mesh})
    set(name run_phases_${example}_${mesh})
    add_test(NAME ${name} COMMAND canzona run --check --steps=${steps}
      -D mesh.dp=${dp} -D mesh.tp=${tp} ${phases}/${example}.cz)
    set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
  add_test(NAME plan_json_phases_${example} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --run $<TARGET_FILE:canzona>
    plan --json ${phases}/${example}.cz)
  set_tests_properties(plan_json_phases_${example} PROPERTIES
    LABELS plan TIMEOUT 120)
  add_test(NAME run_phases_${example}_late COMMAND canzona run --check --late
    --steps=3 ${phases}/${example}.cz)
  set_tests_properties(run_phases_${example}_late PROPERTIES
    LABELS run TIMEOUT 120)
endforeach()

# Turns of parameters on stages of a pipeline and of experts dealt out: pp x dp x tp
# and ep.
foreach(mesh 2:4:1:2 2:2:2:2 1:4:1:2 1:2:2:1 2:2:1:1)
  string(REPLACE ":" ";" sizes ${mesh})
  list(GET sizes 0 pp)
  list(GET sizes 1 dp)
  list(GET sizes 2 tp)
  list(GET sizes 3 ep)
  set(name run_phases_turns_${pp}x${dp}x${tp}_${ep})
  add_test(NAME ${name} COMMAND canzona run --check --steps=${steps}
    -D mesh.pp=${pp} -D mesh.dp=${dp} -D mesh.tp=${tp} -D mesh.ep=${ep}
    ${phases}/turns.cz)
  set_tests_properties(${name} PROPERTIES LABELS run TIMEOUT 120)
endforeach()
add_test(NAME plan_json_phases_turns COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --self-test
  $<TARGET_FILE:canzona> plan --json -D mesh.dp=2 -D mesh.tp=2
  ${phases}/turns.cz)
add_test(NAME plan_json_sees_phases COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --self-test
  $<TARGET_FILE:canzona> plan --json
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/explain/staggered.cz)
set_tests_properties(plan_json_phases_turns plan_json_sees_phases PROPERTIES
  LABELS plan TIMEOUT 120)

# Links the runtime itself, without what an instrumented one needs.
if(NOT INSTRUMENTED)
  add_test(NAME oracle_phases COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/numbers/oracle_phases.py $<TARGET_FILE:canzona>
    $<TARGET_FILE:czr>)
  set_tests_properties(oracle_phases PROPERTIES LABELS oracle TIMEOUT 300)
endif()
