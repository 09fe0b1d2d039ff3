# Why plans are as they are, in words.
cz_golden_tests(explain canzona
  "explain:0:$<TARGET_FILE:canzona> plan --explain=all {}")

# What no plan can be made of, and the least change.
cz_golden_tests(refused canzona
  "refused:3:sh -c '$<TARGET_FILE:canzona> plan {} 2>&1'")
