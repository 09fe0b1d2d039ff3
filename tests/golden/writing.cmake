# The lesson on writing an optimizer, carried out.
cz_script(writing golden 120 golden/writing.py $<TARGET_FILE:canzona>)
