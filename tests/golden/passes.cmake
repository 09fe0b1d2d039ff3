# Golden tests of the passes up to kernel form.
add_executable(passes_tool tools/passes_tool.c)
target_link_libraries(passes_tool PRIVATE cz_frontend cz_passes cz_warnings)
set_target_properties(passes_tool PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
cz_golden_tests(passes passes_tool "ir:0:$<TARGET_FILE:passes_tool> {}")
