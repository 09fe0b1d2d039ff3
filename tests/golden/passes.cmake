# Golden tests of the passes up to kernel form.
cz_tool(passes_tool cz_frontend cz_passes)
cz_golden_tests(passes passes_tool "ir:0:$<TARGET_FILE:passes_tool> {}")
