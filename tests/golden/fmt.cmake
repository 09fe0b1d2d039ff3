# canzona fmt: sources and their mangled variants.
add_test(NAME fmt COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/fmt.py
  $<TARGET_FILE:canzona> $<TARGET_FILE:parse_tool>)
set_tests_properties(fmt PROPERTIES LABELS tree TIMEOUT 300)
