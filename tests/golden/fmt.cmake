# canzona fmt: sources and their mangled variants.
cz_script(fmt tree 300 golden/fmt.py $<TARGET_FILE:canzona> $<TARGET_FILE:parse_tool>)
