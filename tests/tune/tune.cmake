# Meshes: against all of them on a few ranks, and what is refused.
cz_script(tune plan 300 tune/tune_oracle.py $<TARGET_FILE:canzona> 3 2)
cz_script(tune_all "plan;nightly" 3600 tune/tune_oracle.py $<TARGET_FILE:canzona> 0 50)
cz_script(tune_refusals plan 120 tune/tune_refusals.py $<TARGET_FILE:canzona> ${gpt})
