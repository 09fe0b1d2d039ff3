# Files that a source may make us read.
cz_script(inputs tree 120 adversary/inputs.py $<TARGET_FILE:canzona>)
