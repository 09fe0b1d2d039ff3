# Files that commands write: whole, nobody else's, and nothing beside them.
add_library(fail_io MODULE adversary/fail_io.c)
target_link_libraries(fail_io PRIVATE ${CMAKE_DL_LIBS})
# It is in the compiler that `run` starts, too, which no sanitizer is in.
target_compile_options(fail_io PRIVATE -fno-sanitize=all)
target_link_options(fail_io PRIVATE -fno-sanitize=all)
set_target_properties(fail_io PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
cz_script(outputs outputs 120 adversary/outputs.py $<TARGET_FILE:canzona>
  $<TARGET_FILE:fail_io>)
