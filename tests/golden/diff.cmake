# canzona diff, against the JSON of the plans, and with JSON from an enemy.
function(cz_diff_test stem option)
  add_test(NAME diff_${stem} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/golden/diff.py $<TARGET_FILE:canzona>
    ${CMAKE_SOURCE_DIR}/examples/${stem}.cz ${option})
  set_tests_properties(diff_${stem} PROPERTIES LABELS plan TIMEOUT 300)
endfunction()

cz_diff_test(gpt mesh.dp=4)
cz_diff_test(qwen3-32b mesh.tp=4)
cz_diff_test(qwen3-235b-a22b machine=h800)
add_test(NAME diff_hostile COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/simulate/simulate_hostile.py $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz diff)
set_tests_properties(diff_hostile PROPERTIES LABELS plan TIMEOUT 300)
