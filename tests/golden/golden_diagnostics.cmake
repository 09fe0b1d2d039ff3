# Diagnostics for other programs: documents by hand, and all forms compared.
cz_golden_tests(diagnostics canzona
  "json:1:$<TARGET_FILE:canzona> check --diagnostics=json {}"
  "sarif:1:$<TARGET_FILE:canzona> check --diagnostics=sarif {}"
  "empty:0:$<TARGET_FILE:canzona> check --diagnostics=sarif {}")
add_test(NAME diagnostics COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/diagnostics.py $<TARGET_FILE:canzona>)
set_tests_properties(diagnostics PROPERTIES LABELS golden TIMEOUT 300)
