# Golden tests of rules alone: every `use` of a file at a few layouts.
add_executable(rule_tool tools/rule_tool.c)
target_link_libraries(rule_tool PRIVATE cz_frontend cz_warnings)
set_target_properties(rule_tool PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
cz_golden_tests(rules rule_tool
  "ir:0:$<TARGET_FILE:rule_tool> {}" "err:1:$<TARGET_FILE:rule_tool> {}")

# What they compute, against formulas in NumPy.
foreach(name oracle_rules oracle_rules_index oracle_rules_random)
  add_test(NAME ${name} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/numbers/${name}.py $<TARGET_FILE:rule_tool>)
  set_tests_properties(${name} PROPERTIES LABELS oracle TIMEOUT 120)
endforeach()

# The library's rules hold for all shapes.
add_test(NAME library_rules COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/library_rules.py $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/dsl/std/opt)
set_tests_properties(library_rules PROPERTIES LABELS tree TIMEOUT 120)
