# What the front end says about wrong programs: exit status 1, or 3 where
# something is valid but not supported yet.
cz_tool(compile_tool cz_frontend)

cz_golden_tests(errors compile_tool
  "err:1:$<TARGET_FILE:compile_tool> {}" "warned:0:$<TARGET_FILE:compile_tool> {}"
  "unsupported:3:$<TARGET_FILE:compile_tool> {}")
