# Plans of random problems against optima that HiGHS proves; 200 a night.
add_executable(solve_tool tools/solve_tool.c)
add_executable(solve_speed tools/solve_speed.c)
foreach(tool solve_tool solve_speed)
  target_include_directories(${tool} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
  target_link_libraries(${tool} PRIVATE cz_solve cz_warnings)
  set_target_properties(${tool} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

add_test(NAME solve_oracle_sees COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/solve_oracle.py --self-test)
add_test(NAME solve_oracle COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/solve_oracle.py $<TARGET_FILE:solve_tool> 8 2)
set_tests_properties(solve_oracle_sees solve_oracle PROPERTIES
  LABELS oracle TIMEOUT 300)
add_test(NAME solve_oracle_all COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/solve_oracle.py $<TARGET_FILE:solve_tool> 200 4)
set_tests_properties(solve_oracle_all PROPERTIES
  LABELS "oracle;nightly" TIMEOUT 3600)
set_tests_properties(solve_oracle solve_oracle_all PROPERTIES PROCESSORS 2)
