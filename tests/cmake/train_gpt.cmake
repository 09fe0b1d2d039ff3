# The trainer: its model against differences, and the whole program.
cz_unit_tests(examples/train_gpt train_gpt_double)
