# Simulation: a second evaluator in Python, and JSON from an enemy.
set(simulate ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/simulate/simulate_oracle.py)
function(cz_simulate_test name)
  add_test(NAME simulate_${name} COMMAND ${ARGN})
  set_tests_properties(simulate_${name} PROPERTIES LABELS plan TIMEOUT 300)
endfunction()

foreach(stem gpt gpt_adamw)
  cz_simulate_test(${stem} ${simulate} $<TARGET_FILE:canzona> 4
    ${CMAKE_SOURCE_DIR}/examples/${stem}.cz)
endforeach()
foreach(stem moe pipeline fsdp chunks batch factor)
  cz_simulate_test(${stem} ${simulate} $<TARGET_FILE:canzona> 4
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
endforeach()
cz_simulate_test(qwen3-32b ${simulate} $<TARGET_FILE:canzona> 2
  ${CMAKE_SOURCE_DIR}/examples/qwen3-32b.cz)
cz_simulate_test(qwen3-235b ${simulate} $<TARGET_FILE:canzona> 1
  ${CMAKE_SOURCE_DIR}/examples/qwen3-235b-a22b.cz -D mesh.dp=64 -D mesh.edp=8)
cz_simulate_test(gram ${simulate} $<TARGET_FILE:canzona> 4
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz -D mesh.tp=4 -D tp_strategy=gram
  -D tp_group=2)
cz_simulate_test(sees ${simulate} --self-test $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
cz_simulate_test(hostile ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/simulate/simulate_hostile.py $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
