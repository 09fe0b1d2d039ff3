# The trainer: its model against differences, a short training, and (nightly)
# full ones, of one seed; bench/train_gpt.sh has three.
cz_unit_tests(examples/train_gpt train_gpt_double)

# TSan slows a training down tenfold, and of two optimizers sees the same threads.
set(parts)
if(CANZONA_TSAN)
  set(parts Training.test_muon_learns_alike_on_one_and_four_ranks Arguments)
endif()
cz_script(train_gpt_short train 300 run/train_gpt_short.py $<TARGET_FILE:train_gpt> ${parts})

add_test(NAME train_gpt_sweep
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/run/train_gpt_sweep.py
    $<TARGET_FILE:train_gpt> --seeds 1)
set_tests_properties(train_gpt_sweep PROPERTIES LABELS nightly TIMEOUT 3600
  RUN_SERIAL ON)
