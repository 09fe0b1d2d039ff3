# Products that a table of measured times gives to cuBLASLt: the compiler with
# tests/golden/library/tiles.txt in place of bench/tiles.txt.
set(made ${CMAKE_BINARY_DIR}/tests/tile_files.c)
cz_embed(${made} cz_tile_files ${CMAKE_CURRENT_SOURCE_DIR}/golden/library/tiles.txt)
cz_driver(canzona_tiles ${made})
set_target_properties(canzona_tiles PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(print "sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/print_build.sh")
set(print_said "${print} said $<TARGET_FILE:canzona_tiles> {}")
cz_golden_tests(library canzona_tiles
  "tables:0:${print} tables $<TARGET_FILE:canzona_tiles> {}"
  "said:0:${print_said}" "strict.said:0:${print_said} --strict")
