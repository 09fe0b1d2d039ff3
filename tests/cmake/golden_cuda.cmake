# Generated CUDA; with --strict sums are in parts.
set(print_cuda "sh ${CMAKE_CURRENT_SOURCE_DIR}/tools/print_cuda.sh $<TARGET_FILE:canzona> {}")
cz_golden_tests(cuda canzona
  "cu:0:${print_cuda}" "strict.cu:0:${print_cuda} --strict")
