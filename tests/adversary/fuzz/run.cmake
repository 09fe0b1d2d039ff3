# Run a libFuzzer program RUNS times; what it finds new goes to FOUND, from
# where the next run goes on.
file(MAKE_DIRECTORY ${FOUND}/corpus ${FOUND}/seeds)
set(options -runs=${RUNS} -max_len=${LENGTH} -timeout=30 -rss_limit_mb=4096
  -print_final_stats=1 -artifact_prefix=${FOUND}/)
if(WORDS)
  list(APPEND options -dict=${WORDS})
endif()
# libFuzzer takes folders.
foreach(seed ${SEEDS})
  get_filename_component(name ${seed} NAME)
  configure_file(${seed} ${FOUND}/seeds/${name} COPYONLY)
endforeach()
# Short traces and a small quarantine: executions are short too.
set(ENV{ASAN_OPTIONS} malloc_context_size=6:quarantine_size_mb=16)
execute_process(COMMAND ${FUZZER} ${options} ${FOUND}/corpus ${FOUND}/seeds
  WORKING_DIRECTORY ${FOUND} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the fuzzer ended with ${status}")
endif()
