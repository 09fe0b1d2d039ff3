# canzona import: every input comes back, broken ones are one error each, and
# what it writes is kept byte for byte.  convert_dump runs the trainer's side.
foreach(what round-trips robust golden)
  add_test(NAME convert_${what}
    COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/convert.py ${what}
      $<TARGET_FILE:canzona>)
endforeach()
add_test(NAME convert_dump
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/convert_dump.py
    $<TARGET_FILE:canzona>)
set_tests_properties(convert_round-trips convert_robust convert_golden
  convert_dump PROPERTIES LABELS tree TIMEOUT 120)
add_custom_command(TARGET golden-update POST_BUILD
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/convert.py golden
    $<TARGET_FILE:canzona> --update VERBATIM)
add_dependencies(golden-update canzona)
