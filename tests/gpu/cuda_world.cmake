# Plans in strict mode on the machine's GPUs beside the host's engines: in loop-back
# on one, and over NCCL in as many processes as ranks; they say skipped without.
# The same programs on the doubles: loop-back of two ranks, one process over NCCL.
# It is behind cuda_loopback.cmake: double_loopback and double_turns are there.
if(TARGET double_collect)
  foreach(pair solo:1 pair:2)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 dp)
    set(source ${CMAKE_BINARY_DIR}/tests/world/${name}.cz)
    configure_file(${CMAKE_CURRENT_SOURCE_DIR}/fixtures/gpu/loopback.cz ${source}
      COPYONLY)
    cz_double_program(${name} ${source} --strict -D mesh.dp=${dp} -D mesh.tp=1)
  endforeach()

  # By the model's kernels on the double; and without either.
  set(files gpu/world/world_gpu.c gpu/world/processes.c
    gpu/world/nccl_rank.c gpu/plan/host_plan.c gpu/plan/loopback_rank.c)
  foreach(name solo pair)
    cz_model_program(cuda_world_${name} ${name} "double_${name};double_collect"
      ${files} gpu/plan/loopback_model.c)
  endforeach()
  foreach(name pair loopback turns)
    set(folder ${CMAKE_BINARY_DIR}/tests/double_${name})
    set(test cuda_gpu_world_${name})
    cz_cuda_program(${test} "czr_cuda;PkgConfig::CMOCKA" ${files}
      gpu/double/no_double.c gpu/plan/loopback_gpu.c ${folder}/${name}.c
      ${folder}/${name}_cuda.c)
    target_compile_definitions(${test} PRIVATE PROGRAM=${name} NVRTC_PATH="/none")
    add_dependencies(${test} double_${name})
    set_source_files_properties(${folder}/${name}.c ${folder}/${name}_cuda.c
      PROPERTIES COMPILE_OPTIONS "-O1;-w")
  endforeach()

  foreach(test pair:loopback solo:nccl)
    string(REPLACE ":" ";" test ${test})
    list(GET test 0 name)
    list(GET test 1 world)
    cz_cuda_check(cuda_world_double_${world} 240 cuda cuda_world_${name} ${world}
      double)
    set_tests_properties(cuda_world_double_${world} PROPERTIES
      ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  endforeach()
  foreach(test loopback:loopback turns:loopback pair:nccl loopback:nccl
      turns:nccl)
    string(REPLACE ":" ";" test ${test})
    list(GET test 0 name)
    list(GET test 1 world)
    cz_cuda_check_if(cuda_gpu_${world}_${name} 300 "cuda;gpu" cuda_gpu_world_${name}
      ${world} ${installed} ${pinned})
  endforeach()

  # The double's functions have the names of the driver's and of NCCL's.
  foreach(program cuda_gpu_world_pair cuda_gpu_primitives)
    cz_cuda_check(${program}_alone 60 cuda sh -c
      "ldd '$<TARGET_FILE:${program}>' && ! ldd '$<TARGET_FILE:${program}>' | grep fake_cuda")
  endforeach()
endif()
