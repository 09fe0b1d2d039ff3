# Examples of the manual are compiled, and the library is parsed.
add_test(NAME language_examples
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/language.py
    ${CMAKE_SOURCE_DIR}/dsl/LANGUAGE.md $<TARGET_FILE:canzona>)
set_tests_properties(language_examples PROPERTIES LABELS golden TIMEOUT 60)
