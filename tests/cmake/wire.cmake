# What travels narrower than it is: bits of one rank, counters, and float64
# within the bound, on every mesh and shared by ranks; nothing without a
# tolerance that admits it.
set(wire ${CMAKE_CURRENT_SOURCE_DIR}/wire/tolerance.cz)
function(cz_wire_test name)
  add_test(NAME run_wire_${name} COMMAND canzona run --check --steps=3 ${ARGN}
    ${wire})
  set_tests_properties(run_wire_${name} PROPERTIES LABELS run TIMEOUT 120)
endfunction()
foreach(mesh 1x1 2x1 2x2 3x2 1x4)
  string(REGEX MATCH "^[0-9]+" dp ${mesh})
  string(REGEX MATCH "[0-9]+$" tp ${mesh})
  cz_wire_test(${mesh} -D mesh.dp=${dp} -D mesh.tp=${tp})
endforeach()
cz_wire_test(late --late)
cz_wire_test(shared -D tp_strategy=gram)
cz_wire_test(below -D schedule.tolerance=0.04)
foreach(tolerance 0.04 0.05)
  add_test(NAME plan_json_wire_${tolerance} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/check_plan.py --run $<TARGET_FILE:canzona>
    plan --json -D schedule.tolerance=${tolerance} ${wire})
  set_tests_properties(plan_json_wire_${tolerance} PROPERTIES
    LABELS plan TIMEOUT 120)
endforeach()

# Half the bytes, and not one less tolerance than that.
add_test(NAME plan_wire_bytes COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/wire_bytes.py $<TARGET_FILE:canzona> ${wire})
set_tests_properties(plan_wire_bytes PROPERTIES LABELS plan TIMEOUT 60)
