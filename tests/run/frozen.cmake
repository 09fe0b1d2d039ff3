# Frozen parameters and ties: every figure of the plan, the engine, and the
# same bytes by way of IR.  Models with experts, planned whole.
set(untrained ${plans}/frozen_tied.cz)
cz_script(frozen_json plan 120 plan/check_plan.py --self-test $<TARGET_FILE:canzona>
  plan --json ${untrained})
cz_test(frozen_run plan 120 canzona run --check --steps=3 ${untrained})
cz_script(frozen_bytes plan 120 run/frozen.py $<TARGET_FILE:canzona> ${untrained})

function(cz_whole_plan_test name pattern)
  cz_plan_says(plan_whole_${name} "${pattern}" ${plans}/${name}.cz)
  cz_plan_json(${name} -D mesh.dp=4 -D mesh.tp=2 -D mesh.edp=2 -D mesh.ep=4
    -D num_hidden_layers=4 ${ARGN} ${plans}/${name}.cz)
endfunction()
cz_whole_plan_test(qwen3-235b-a22b
  "235,093,634,560 parameters in 36945 tensors; 36472 matrices of 233,798,893,568 elements"
  -D num_experts=8 -D decoder_sparse_step=2)
cz_whole_plan_test(deepseek-v3
  "671,026,419,200 parameters in 45395 tensors; 45032 matrices of 669,065,609,216 elements"
  -D n_routed_experts=8 -D mtp_layers=2)
