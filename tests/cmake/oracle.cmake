# Generated C, executed from Python as a trainer embeds it, against formulas.
add_test(NAME oracle_run COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/oracle_run.py $<TARGET_FILE:canzona>
  $<TARGET_FILE:czr>)
set_tests_properties(oracle_run PROPERTIES LABELS oracle TIMEOUT 120)
