# Layouts by hand: comments, columns, long lines.
cz_golden_tests(fmt canzona "fmt:0:$<TARGET_FILE:canzona> fmt {}")
