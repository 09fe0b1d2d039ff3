# The page of errors is what the golden tests say.
add_test(NAME errors_page COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/errors_page.py $<TARGET_FILE:canzona>)
set_tests_properties(errors_page PROPERTIES LABELS golden TIMEOUT 60)
