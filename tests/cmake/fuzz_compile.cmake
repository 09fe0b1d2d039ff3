# The fuzz target for the whole compile, replayed on seeds in every test run.
file(GLOB fuzz_compile_seeds CONFIGURE_DEPENDS
  golden/errors/*.cz golden/rules/*.cz fuzz/compile/*.cz)
add_executable(compile_replay fuzz/compile_fuzz.c)
target_link_libraries(compile_replay PRIVATE cz_frontend cz_passes cz_verify
  cz_warnings)
target_compile_definitions(compile_replay PRIVATE FUZZ_REPLAY)
set_target_properties(compile_replay PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME fuzz_compile_replay COMMAND compile_replay ${fuzz_compile_seeds})
set_tests_properties(fuzz_compile_replay PROPERTIES LABELS fuzz TIMEOUT 300)
