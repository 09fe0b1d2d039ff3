# What the front end says about wrong programs: exit status 1, or 3 where
# something is valid but not supported yet.
add_executable(compile_tool tools/compile_tool.c)
target_link_libraries(compile_tool PRIVATE cz_frontend cz_warnings)
set_target_properties(compile_tool PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

cz_golden_tests(errors compile_tool
  "err:1:$<TARGET_FILE:compile_tool> {}"
  "unsupported:3:$<TARGET_FILE:compile_tool> {}")
