# The fuzz target for scanner and parser.  Its seeds and their neighbourhood
# are replayed in every test run; libFuzzer itself (clang) runs nightly.
file(GLOB fuzz_seeds CONFIGURE_DEPENDS
  fuzz/seeds/* golden/parse/*.cz ${CMAKE_SOURCE_DIR}/dsl/std/*/*.cz)

add_executable(parse_replay fuzz/parse_fuzz.c)
target_link_libraries(parse_replay PRIVATE cz_frontend cz_warnings)
target_compile_definitions(parse_replay PRIVATE FUZZ_REPLAY)
set_target_properties(parse_replay PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME fuzz_parse_replay COMMAND parse_replay ${fuzz_seeds})
set_tests_properties(fuzz_parse_replay PROPERTIES LABELS fuzz TIMEOUT 300)

find_program(CLANG clang)
if(CLANG)
  set(fuzz_gen ${CMAKE_BINARY_DIR}/frontend/gen)
  set(fuzz_sources ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/parse_fuzz.c)
  foreach(part dsl/base/arena dsl/base/text dsl/base/diag dsl/base/utf8 dsl/ast
      frontend/parse frontend/lines frontend/expected frontend/tree
      frontend/path)
    list(APPEND fuzz_sources ${CMAKE_SOURCE_DIR}/${part}.c)
  endforeach()
  list(APPEND fuzz_sources ${fuzz_gen}/gram.c ${fuzz_gen}/scan.c)
  set(fuzzer ${CMAKE_BINARY_DIR}/tests/parse_fuzzer)
  add_custom_command(OUTPUT ${fuzzer}
    COMMAND ${CLANG} -std=c17 -O1 -g
      -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
      -I${CMAKE_SOURCE_DIR} -I${fuzz_gen} ${fuzz_sources} -lm -o ${fuzzer}
    DEPENDS cz_frontend ${fuzz_sources} VERBATIM)
  add_custom_target(parse_fuzz DEPENDS ${fuzzer})

  add_test(NAME fuzz_parse_build COMMAND ${CMAKE_COMMAND}
    --build ${CMAKE_BINARY_DIR} --target parse_fuzz)
  add_test(NAME fuzz_parse COMMAND ${CMAKE_COMMAND} -DFUZZER=${fuzzer}
    -DFOLDER=${CMAKE_BINARY_DIR}/tests/parse_fuzz_found
    -P ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run.cmake)
  set_tests_properties(fuzz_parse_build PROPERTIES
    LABELS nightly TIMEOUT 600 FIXTURES_SETUP parse_fuzz)
  set_tests_properties(fuzz_parse PROPERTIES
    LABELS nightly TIMEOUT 1200 FIXTURES_REQUIRED parse_fuzz)
endif()
