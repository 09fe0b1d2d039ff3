# canzona import: every input comes back, broken ones are one error each, and
# what it writes is kept byte for byte.  convert_dump runs the trainer's side.
foreach(what round-trips robust golden)
  cz_script(convert_${what} tree 300 models/convert.py ${what} $<TARGET_FILE:canzona>)
endforeach()
cz_script(convert_dump tree 120 models/convert_dump.py $<TARGET_FILE:canzona>)
add_custom_command(TARGET golden-update POST_BUILD
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/models/convert.py golden
    $<TARGET_FILE:canzona> --update VERBATIM)
add_dependencies(golden-update canzona)
