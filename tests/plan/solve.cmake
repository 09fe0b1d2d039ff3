# Plans of random problems against optima that HiGHS proves; 200 a night.
add_executable(solve_tool tools/solve_tool.c)
add_executable(solve_speed tools/solve_speed.c)
foreach(tool solve_tool solve_speed)
  target_include_directories(${tool} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
  target_link_libraries(${tool} PRIVATE cz_solve cz_warnings)
  set_target_properties(${tool} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

cz_script(solve_oracle_sees oracle 300 plan/solve_oracle.py --self-test)
cz_script(solve_oracle oracle 300 plan/solve_oracle.py $<TARGET_FILE:solve_tool> 8 2)
cz_script(solve_oracle_all "oracle;nightly" 3600 plan/solve_oracle.py
  $<TARGET_FILE:solve_tool> 200 4)
set_tests_properties(solve_oracle solve_oracle_all PROPERTIES PROCESSORS 2)
