# Counts of parameters and matrices against published inventories and against
# a count made in Python alone.
add_test(NAME counts
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/counts.py
    ${CMAKE_BINARY_DIR}/tests/compile_tool)
add_test(NAME counts_sees
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/counts.py --self-test)
set_tests_properties(counts counts_sees PROPERTIES LABELS tree TIMEOUT 120)

# The same models in trainers' storage.
add_test(NAME storage_counts
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/storage_counts.py
    $<TARGET_FILE:canzona>)
set_tests_properties(storage_counts PROPERTIES LABELS tree TIMEOUT 300)

# And on the stages of a pipeline.
add_test(NAME stage_counts
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/stage_counts.py
    ${CMAKE_BINARY_DIR}/tests/compile_tool)
set_tests_properties(stage_counts PROPERTIES LABELS tree TIMEOUT 120)
