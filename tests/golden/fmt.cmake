# canzona fmt: sources and their mangled variants.
cz_script(fmt tree 300 golden/fmt.py $<TARGET_FILE:canzona> $<TARGET_FILE:parse_tool> 12)
cz_script(fmt_long "tree;nightly" 300 golden/fmt.py $<TARGET_FILE:canzona>
  $<TARGET_FILE:parse_tool> 100)
