# Pages and traces of plans, against their JSON and a second evaluator.
set(look ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/look.py)
function(cz_look_test name)
  add_test(NAME look_${name} COMMAND ${ARGN})
  set_tests_properties(look_${name} PROPERTIES LABELS plan TIMEOUT 300)
endfunction()

foreach(stem gpt gpt_adamw qwen3-32b)
  cz_look_test(${stem} ${look} $<TARGET_FILE:canzona>
    ${CMAKE_SOURCE_DIR}/examples/${stem}.cz)
endforeach()
foreach(stem moe pipeline fsdp fused factor)
  cz_look_test(${stem} ${look} $<TARGET_FILE:canzona>
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
endforeach()
cz_look_test(shared ${look} $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz -D schedule.tp_strategy=gram)
# Groups of two ranks beside owners, who need longer, on one row of ranks.
cz_look_test(groups_that_do_not_wait_for_each_other ${look}
  $<TARGET_FILE:canzona> ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/near.cz)
cz_look_test(8_ranks ${look} $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz -D mesh.dp=4)
cz_look_test(4096_ranks ${look} $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/qwen3-235b-a22b.cz -D mesh.dp=1024
  -D mesh.edp=128)
cz_look_test(names ${look} --names $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
cz_look_test(sees ${look} --self-test $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
