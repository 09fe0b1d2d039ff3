# Pages and traces of plans, against their JSON and a second evaluator.
function(cz_look_test name)
  cz_script(look_${name} plan 300 golden/look.py ${ARGN})
endfunction()

foreach(stem gpt gpt_adamw qwen3-32b)
  cz_look_test(${stem} $<TARGET_FILE:canzona> ${examples}/${stem}.cz)
endforeach()
foreach(stem moe pipeline fsdp fused factor by_layer)
  cz_look_test(${stem} $<TARGET_FILE:canzona> ${plans}/${stem}.cz)
endforeach()
cz_look_test(shared $<TARGET_FILE:canzona> ${gpt} -D schedule.tp_strategy=gram)
# Groups of two ranks beside owners, who need longer, on one row of ranks.
cz_look_test(groups_that_do_not_wait_for_each_other $<TARGET_FILE:canzona> ${plans}/near.cz)
cz_look_test(8_ranks $<TARGET_FILE:canzona> ${gpt} -D mesh.dp=4)
cz_look_test(4096_ranks $<TARGET_FILE:canzona>
  ${examples}/qwen3-235b-a22b.cz -D mesh.dp=1024 -D mesh.edp=128)
cz_script(look_legend plan 120 golden/legend.py $<TARGET_FILE:canzona> ${gpt}
  ${examples}/deepseek-v3.cz "-D mesh.pp=4 -D mesh.dp=8 ${examples}/qwen3-32b.cz"
  ${plans}/frozen_tied.cz)
cz_look_test(names --names $<TARGET_FILE:canzona> ${gpt})
cz_look_test(texts --texts $<TARGET_FILE:canzona> ${gpt})
cz_look_test(sees --self-test $<TARGET_FILE:canzona> ${gpt})
