# Simulation: a second evaluator in Python, and JSON from an enemy.
function(cz_simulate_test name)
  cz_script(simulate_${name} plan 300 simulate/simulate_oracle.py ${ARGN})
endfunction()

foreach(stem gpt gpt_adamw)
  cz_simulate_test(${stem} $<TARGET_FILE:canzona> 4 ${examples}/${stem}.cz)
endforeach()
foreach(stem moe pipeline pipeline_moe fsdp chunks batch factor terms)
  cz_simulate_test(${stem} $<TARGET_FILE:canzona> 4 ${plans}/${stem}.cz)
endforeach()
cz_simulate_test(qwen3-32b $<TARGET_FILE:canzona> 1 ${examples}/qwen3-32b.cz)
cz_simulate_test(qwen3-235b $<TARGET_FILE:canzona> 1 ${examples}/qwen3-235b-a22b.cz
  -D mesh.dp=64 -D mesh.edp=8)
cz_simulate_test(gram $<TARGET_FILE:canzona> 4 ${gpt} -D mesh.tp=4 -D tp_strategy=gram
  -D tp_subgroup=2)
cz_simulate_test(sees --self-test $<TARGET_FILE:canzona> ${gpt})
cz_script(simulate_hostile plan 300 simulate/simulate_hostile.py $<TARGET_FILE:canzona>
  ${gpt})
