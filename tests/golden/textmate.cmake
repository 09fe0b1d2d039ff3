# The grammar for editors knows the language.
add_test(NAME textmate
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/textmate.py)
set_tests_properties(textmate PROPERTIES LABELS tree TIMEOUT 60)
