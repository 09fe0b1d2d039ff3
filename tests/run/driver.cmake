# The command line: help, exit statuses, options and files that are wrong.
cz_script(driver tree 300 run/driver.py $<TARGET_FILE:canzona>)
