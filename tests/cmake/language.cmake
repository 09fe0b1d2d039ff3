# Examples of the manual, and the library, are parsed.
add_test(NAME language_examples
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/language.py
    ${CMAKE_SOURCE_DIR}/dsl/LANGUAGE.md "$<TARGET_FILE:parse_tool> {}")
set_tests_properties(language_examples PROPERTIES LABELS golden TIMEOUT 60)
