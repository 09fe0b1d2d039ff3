# Frozen parameters and ties: every figure of the plan, the engine, and the
# same bytes by way of IR.  Models with experts, planned whole.
set(untrained ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/frozen_tied.cz)

add_test(NAME frozen_json COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --self-test
  $<TARGET_FILE:canzona> plan --json ${untrained})
add_test(NAME frozen_run COMMAND canzona run --check --steps=3 ${untrained})
add_test(NAME frozen_bytes COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/run/frozen.py $<TARGET_FILE:canzona> ${untrained})
set_tests_properties(frozen_json frozen_run frozen_bytes
  PROPERTIES LABELS plan TIMEOUT 120)

function(cz_whole_plan_test name pattern)
  add_test(NAME plan_whole_${name}
    COMMAND canzona plan ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${name}.cz)
  set_tests_properties(plan_whole_${name} PROPERTIES LABELS plan TIMEOUT 120
    PASS_REGULAR_EXPRESSION "${pattern}")
  add_test(NAME plan_json_${name} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --run $<TARGET_FILE:canzona> plan
    --json -D mesh.dp=4 -D mesh.tp=2 -D mesh.edp=2 -D mesh.ep=4
    -D num_hidden_layers=4 ${ARGN}
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${name}.cz)
  set_tests_properties(plan_json_${name} PROPERTIES LABELS plan TIMEOUT 120)
endfunction()
cz_whole_plan_test(qwen3-235b-a22b
  "235,093,634,560 parameters in 36945 tensors; 36472 matrices of 233,798,893,568 elements"
  -D num_experts=8 -D decoder_sparse_step=2)
cz_whole_plan_test(deepseek-v3
  "671,026,419,200 parameters in 45395 tensors; 45032 matrices of 669,065,609,216 elements"
  -D n_routed_experts=8 -D mtp_layers=2)
