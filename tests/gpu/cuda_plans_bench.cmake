# The benchmark of plans on the model of the device: small ones from the same
# sources as those of bench/gpu.
if(TARGET double_collect)
  set(folder ${CMAKE_BINARY_DIR}/tests/bench_plans)
  set(sources ${CMAKE_SOURCE_DIR}/bench/gpu/plans)
  foreach(pair matrices:matrices schulz:newton_schulz elements:elements)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 source)
    configure_file(${sources}/${source}.cz ${folder}/bench_${name}.cz COPYONLY)
  endforeach()
  cz_double_program(bench_matrices ${folder}/bench_matrices.cz
    -D qwen3.width=8 -D qwen3.keys=4 -D qwen3.hidden=16 -D qwen3.layers=1)
  cz_double_program(bench_schulz ${folder}/bench_schulz.cz -D form=gram
    -D matrices.rows=8 -D matrices.columns=16 -D matrices.batch=2)
  # It has no scalars, so the prologue has nothing to do.
  target_compile_options(double_bench_schulz PRIVATE -Wno-unused-parameter)
  cz_double_program(bench_elements ${folder}/bench_elements.cz
    -D elements.n=1000)

  cz_model_program(cuda_bench_plans bench
    "double_bench_matrices;double_bench_schulz;double_bench_elements;double_collect;bench_gpu_parts"
    gpu/plan/bench_plans.c $<TARGET_OBJECTS:fake_bodies>)
  target_compile_definitions(cuda_bench_plans PRIVATE
    CUBLAS_PATH="$<TARGET_FILE:double_cublas>")
  add_dependencies(cuda_bench_plans double_cublas)
  # cuBLASLt, where there is one, keeps memory of its own.
  cz_cuda_check(cuda_bench_plans 120 cuda cuda_bench_plans
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_tests_properties(cuda_bench_plans PROPERTIES
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
