# The page of errors is what the golden tests say.
cz_script(errors_page golden 60 golden/errors_page.py $<TARGET_FILE:canzona>)
# The manual's tables of functions are what the compiler's table says.
cz_script(functions_page golden 60 golden/functions_page.py)
