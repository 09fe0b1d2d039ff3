# Run a libFuzzer program for a while; what it finds new goes to FOLDER.
file(MAKE_DIRECTORY ${FOLDER})
execute_process(
  COMMAND ${FUZZER} -max_total_time=300 -max_len=4096 -timeout=10
    -print_final_stats=1 ${FOLDER} ${CMAKE_CURRENT_LIST_DIR}/seeds
    ${CMAKE_CURRENT_LIST_DIR}/../golden/parse
  WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the fuzzer ended with ${status}")
endif()
