# Golden tests of rules alone: every `use` of a file at a few layouts.
cz_tool(rule_tool cz_frontend)
cz_golden_tests(rules rule_tool
  "ir:0:$<TARGET_FILE:rule_tool> {}" "err:1:$<TARGET_FILE:rule_tool> {}")

# What they compute, against formulas in NumPy.
foreach(name oracle_rules oracle_rules_index oracle_rules_random)
  cz_script(${name} oracle 120 numbers/${name}.py $<TARGET_FILE:rule_tool>)
endforeach()

# The library's rules hold for all shapes.
cz_script(library_rules tree 120 golden/library_rules.py $<TARGET_FILE:canzona>
  ${CMAKE_SOURCE_DIR}/dsl/std/opt)
