# Golden tests by stem and extension; golden/golden.py --update writes them anew
# (target golden-update).
cz_tool(parse_tool cz_frontend)

# cz_golden_tests(FOLDER DEPENDENCY CHECKS...): CHECKS as golden/golden.py has them.
function(cz_golden_tests folder dependency)
  set(command ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/golden.py
    ${CMAKE_CURRENT_SOURCE_DIR}/golden/${folder})
  foreach(check ${ARGN})
    list(APPEND command --check ${check})
  endforeach()
  string(REPLACE "/" "_" name golden_${folder})
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES LABELS golden TIMEOUT 120)
  add_custom_command(TARGET golden-update POST_BUILD
    COMMAND ${command} --update VERBATIM)
  add_dependencies(golden-update ${dependency})
endfunction()

add_test(NAME golden_sees
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/golden/golden.py --self-test)

cz_golden_tests(parse parse_tool
  "ast:0:$<TARGET_FILE:parse_tool> {}" "err:1:$<TARGET_FILE:parse_tool> {}")
