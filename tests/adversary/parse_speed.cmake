# What `make bench-parse` measures with.
add_executable(parse_speed tools/parse_speed.c)
target_link_libraries(parse_speed PRIVATE cz_frontend cz_warnings)
set_target_properties(parse_speed PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
