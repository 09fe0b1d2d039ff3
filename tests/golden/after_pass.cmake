# The module behind each pass.
add_test(NAME after_pass COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/after_pass.py $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
set_tests_properties(after_pass PROPERTIES LABELS golden TIMEOUT 60)
