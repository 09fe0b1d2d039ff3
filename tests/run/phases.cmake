# Rules with `first` and `every`, executed: bits of one rank on every mesh, the
# float64 interpreter, and formulas.
set(steps 12)
if(INSTRUMENTED)
  set(steps 3)
endif()
set(phases ${CMAKE_SOURCE_DIR}/tests/fixtures/phases)
# What another phase needs of scratch stays untouched.
cz_run(phases_scratch_of_one_update --steps=1 ${phases}/turns.cz)

foreach(example elements matrices statistics staggered)
  cz_runs(phases_${example} ${phases}/${example}.cz "dp;tp" --steps=${steps}
    1x1 2x1 1x2 2x2 3x2)
  cz_plan_json(phases_${example} ${phases}/${example}.cz)
  cz_run(phases_${example}_late --late --steps=3 ${phases}/${example}.cz)
endforeach()
cz_runs(phases_staggered ${phases}/staggered.cz "dp;tp" --steps=${steps} 4x2 1x4)

# Turns of parameters on stages of a pipeline and of experts dealt out: pp x dp x tp
# and ep.
cz_runs(phases_turns ${phases}/turns.cz "pp;dp;tp;ep" --steps=${steps}
  2x4x1_2 2x2x2_2 1x4x1_2 1x2x2_1 2x2x1_1)
set(sees plan 120 plan/check_plan.py --self-test $<TARGET_FILE:canzona> plan --json)
cz_script(plan_json_phases_turns ${sees} -D mesh.dp=2 -D mesh.tp=2 ${phases}/turns.cz)
cz_script(plan_json_sees_phases ${sees}
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/explain/staggered.cz)

# Links the runtime itself, without what an instrumented one needs.
if(NOT INSTRUMENTED)
  cz_script(oracle_phases oracle 300 numbers/oracle_phases.py $<TARGET_FILE:canzona>
    $<TARGET_FILE:czr>)
endif()
