# Diagnostics for other programs: documents by hand, and all forms compared.
cz_golden_tests(diagnostics canzona
  "json:1:$<TARGET_FILE:canzona> check --diagnostics=json {}"
  "sarif:1:$<TARGET_FILE:canzona> check --diagnostics=sarif {}"
  "empty:0:$<TARGET_FILE:canzona> check --diagnostics=sarif {}")
cz_script(diagnostics golden 300 golden/diagnostics.py $<TARGET_FILE:canzona>)
