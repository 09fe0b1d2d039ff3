# The command line: help, exit statuses, options and files that are wrong.
add_test(NAME driver COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/run/driver.py
  $<TARGET_FILE:canzona>)
set_tests_properties(driver PROPERTIES LABELS tree TIMEOUT 300)
