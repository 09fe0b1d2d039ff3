# Input from an enemy: one error, soon, in little memory, nothing left behind.
add_test(NAME hostile COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/adversary/hostile.py $<TARGET_FILE:canzona>)
set_tests_properties(hostile PROPERTIES LABELS hostile TIMEOUT 300)
