# canzona diff, against the JSON of the plans, and with JSON from an enemy.
function(cz_diff_test stem option)
  cz_script(diff_${stem} plan 300 golden/diff.py $<TARGET_FILE:canzona>
    ${examples}/${stem}.cz ${option})
endfunction()

cz_diff_test(gpt mesh.dp=4)
cz_diff_test(qwen3-32b mesh.tp=4)
cz_diff_test(qwen3-235b-a22b machine=h800)
cz_script(diff_changes plan 300 golden/diff_changes.py $<TARGET_FILE:canzona>)
cz_script(diff_hostile plan 300 simulate/simulate_hostile.py $<TARGET_FILE:canzona>
  ${gpt} diff)
