# The page of errors is what the golden tests say.
cz_script(errors_page golden 60 golden/errors_page.py $<TARGET_FILE:canzona>)
