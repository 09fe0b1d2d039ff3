# Layouts by hand: comments, columns, long lines.
cz_golden_tests(fmt canzona "fmt:0:$<TARGET_FILE:canzona> fmt {}")

# Chains as equations: how they look, and that they compile to the same IR.
cz_golden_tests(expand canzona
  "equations:0:$<TARGET_FILE:canzona> fmt --expand {}"
  "err:1:sh -c '$<TARGET_FILE:canzona> fmt --expand {} 2>&1'")
cz_script(expand golden 120 golden/expand.py $<TARGET_FILE:canzona>
  $<TARGET_FILE:compile_tool> ${CMAKE_CURRENT_SOURCE_DIR}/golden/expand
  ${CMAKE_SOURCE_DIR}/dsl/LANGUAGE.md)
