# Names, renamed and hostile, change nothing but where names stand.
add_test(NAME rename COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/rename.py $<TARGET_FILE:canzona>)
set_tests_properties(rename PROPERTIES LABELS tree TIMEOUT 300)
