# Fuzz targets, tests/adversary/fuzz/NAME_fuzz.c.  Every test run replays their seeds,
# the seeds' beginnings and damages of them; with CANZONA_FUZZ they are
# libFuzzer programs, and `make nightly` runs each as often as is said here: for
# two minutes of a processor each, more where that still reaches new code.
add_custom_target(fuzzers)

# cz_fuzz(NAME REPLAYED RUNS LENGTH LIBRARIES... WORDS file SEEDS files...):
# REPLAYED beginnings and as many damages of each seed in every test run; RUNS
# executions a night, on at most LENGTH bytes each.  WORDS is a dictionary.
function(cz_fuzz name replayed runs length)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "WORDS" "SEEDS")
  list(TRANSFORM arg_UNPARSED_ARGUMENTS REPLACE "^([a-z]+_fuzz)$" "adversary/fuzz/\\1.c"
    OUTPUT_VARIABLE parts)
  set(sources adversary/fuzz/${name}_fuzz.c adversary/fuzz/fuzz.c ${parts})
  list(FILTER sources INCLUDE REGEX "\\.c$")
  list(FILTER parts EXCLUDE REGEX "\\.c$")
  if(CANZONA_FUZZ)
    add_executable(fuzz_${name} ${sources})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers fuzz_${name})
    add_test(NAME fuzz_${name} COMMAND ${CMAKE_COMMAND}
      -DFUZZER=$<TARGET_FILE:fuzz_${name}> -DNAME=${name} -DRUNS=${runs}
      -DLENGTH=${length} -DFOUND=${CMAKE_BINARY_DIR}/fuzz/${name}
      -DWORDS=${arg_WORDS} "-DSEEDS=${arg_SEEDS}"
      -P ${CMAKE_CURRENT_SOURCE_DIR}/adversary/fuzz/run.cmake)
    set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzzing TIMEOUT 7200)
    set(program fuzz_${name})
  else()
    set(program ${name}_replay)
    add_executable(${program} ${sources} adversary/fuzz/replay.c)
    add_test(NAME fuzz_${name}_replay
      COMMAND ${program} ${replayed} ${arg_SEEDS})
    set_tests_properties(fuzz_${name}_replay PROPERTIES
      LABELS fuzz TIMEOUT 300)
  endif()
  target_link_libraries(${program} PRIVATE ${parts} cz_warnings)
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

set(here ${CMAKE_CURRENT_SOURCE_DIR})
file(GLOB std CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dsl/std/*/*.cz)
file(GLOB parse CONFIGURE_DEPENDS ${here}/adversary/fuzz/parse/* ${here}/golden/parse/*.cz)
file(GLOB errors CONFIGURE_DEPENDS ${here}/golden/errors/*.cz
  ${here}/golden/rules/*.cz)
file(GLOB compile CONFIGURE_DEPENDS ${here}/adversary/fuzz/compile/*)
file(GLOB configs CONFIGURE_DEPENDS ${examples}/configs/*.json
  ${here}/golden/errors/parts/*.json ${here}/adversary/fuzz/config/*)
file(GLOB headers CONFIGURE_DEPENDS ${here}/golden/convert/*.header)
file(GLOB dumps CONFIGURE_DEPENDS ${here}/golden/convert/*.json)
file(GLOB indices CONFIGURE_DEPENDS ${here}/adversary/fuzz/index/*)
file(GLOB facts CONFIGURE_DEPENDS ${here}/adversary/fuzz/facts/*)

# The keywords as libFuzzer reads them.
set(words ${CMAKE_CURRENT_BINARY_DIR}/source.dict)
file(STRINGS ${CMAKE_SOURCE_DIR}/frontend/syntax/tokens.def rows
  REGEX "^CZ_(KEYWORD|RESERVED)")
list(TRANSFORM rows REPLACE "^.*(\"[a-z]+\").*$" "\\1")
list(JOIN rows "\n" rows)
file(CONFIGURE OUTPUT ${words} CONTENT "${rows}\n" @ONLY)
set(keys ${here}/adversary/fuzz/tensors.dict)

# So are the keys of plan JSON, and numbers at the ends of types.
set(plan_keys ${CMAKE_CURRENT_BINARY_DIR}/plan.dict)
file(READ ${here}/plan/plan.schema.json rows)
string(REGEX MATCHALL "\"[a-z_]+\": {" rows "${rows}")
list(TRANSFORM rows REPLACE "^\"([a-z_]+)\".*$" "\"\\\\\"\\1\\\\\"\"")
list(REMOVE_DUPLICATES rows)
list(APPEND rows "\"9223372036854775807\"" "\"-1\"" "\"4294967296\"" "\"null\"")
list(JOIN rows "\n" rows)
file(CONFIGURE OUTPUT ${plan_keys} CONTENT "${rows}\n" @ONLY)

set(jansson PkgConfig::JANSSON)
cz_fuzz(parse 100 1000000 512 cz_frontend WORDS ${words}
  SEEDS ${parse} ${std})
cz_fuzz(compile 60 300000 1024 cz_frontend cz_passes cz_verify cz_codegen
  WORDS ${words} SEEDS ${compile} ${errors})
cz_fuzz(config 30 200000 1024 import_fuzz cz_frontend ${jansson}
  WORDS ${here}/adversary/fuzz/config.dict SEEDS ${configs})
cz_fuzz(safetensors 400 1200000 512 import_fuzz cz_frontend ${jansson}
  WORDS ${keys} SEEDS ${headers})
cz_fuzz(index 400 1000000 512 import_fuzz cz_frontend ${jansson}
  WORDS ${keys} SEEDS ${indices})
cz_fuzz(params 400 400000 512 import_fuzz cz_frontend ${jansson}
  WORDS ${keys} SEEDS ${dumps})
cz_fuzz(facts 75 15000 64 cz_frontend cz_passes cz_verify cz_codegen
  SEEDS ${facts})
cz_fuzz(ir 40 4000 16384 cz_dsl SEEDS ${here}/unit/dsl/ir/sample.mlir)

# Plans of today's compiler: a reader of JSON rejects those of another.
set(documents)
foreach(stem two_sided few found/types_of_a_bucket_poured_anew)
  get_filename_component(name ${stem} NAME)
  set(plan ${CMAKE_CURRENT_BINARY_DIR}/fuzz/${name}.json)
  add_custom_command(OUTPUT ${plan}
    COMMAND ${CMAKE_COMMAND} -E make_directory
      ${CMAKE_CURRENT_BINARY_DIR}/fuzz
    COMMAND canzona plan --json ${here}/fixtures/plans/${stem}.cz > ${plan}
    DEPENDS canzona ${here}/fixtures/plans/${stem}.cz)
  list(APPEND documents ${plan})
endforeach()
add_custom_target(fuzz_plan_seeds ALL DEPENDS ${documents})
cz_fuzz(plan 300 80000 16384 ${CMAKE_SOURCE_DIR}/frontend/cmd/machine.c
  cz_frontend cz_passes ${jansson} WORDS ${plan_keys}
  SEEDS ${documents})
if(CANZONA_FUZZ)
  add_dependencies(fuzzers fuzz_plan_seeds)
endif()
