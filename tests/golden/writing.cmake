# The lesson on writing an optimizer, carried out.
add_test(NAME writing COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/writing.py $<TARGET_FILE:canzona>)
set_tests_properties(writing PROPERTIES LABELS golden TIMEOUT 120)
