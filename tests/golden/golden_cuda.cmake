# Generated CUDA, and what launches it; with --strict sums are in parts.
set(print_cuda "sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/print_cuda.sh $<TARGET_FILE:canzona> {}")
set(print_launches "sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/print_launches.sh $<TARGET_FILE:canzona> {}")
cz_golden_tests(cuda canzona
  "cu:0:${print_cuda}" "strict.cu:0:${print_cuda} --strict"
  "launches:0:${print_launches}" "strict.launches:0:${print_launches} --strict")
