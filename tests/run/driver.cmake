# The command line: help, exit statuses, options and files that are wrong.
cz_script(driver tree 300 run/driver.py $<TARGET_FILE:canzona>)
# Tensors of files in and out of a run.
cz_script(run_tensors run 300 run/tensors.py $<TARGET_FILE:canzona>)
