# Generated CUDA, and what launches it; with --strict sums are in parts.
set(print "sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/print_build.sh")
foreach(what cu launches tables)
  set(print_${what} "${print} ${what} $<TARGET_FILE:canzona> {}")
endforeach()
cz_golden_tests(cuda canzona
  "cu:0:${print_cu}" "strict.cu:0:${print_cu} --strict"
  "launches:0:${print_launches}" "strict.launches:0:${print_launches} --strict"
  "tables:0:${print_tables}")
