# Why plans are as they are, in words.
cz_golden_tests(explain canzona
  "explain:0:$<TARGET_FILE:canzona> plan --explain {}")
