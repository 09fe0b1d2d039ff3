# On a GPU, what compute-sanitizer says of single instructions, of bodies of
# products, of the engine's kernels, and of steps in loop-back; without either the
# tests say skipped.  `ctest -L sanitizer` has them alone.
find_program(COMPUTE_SANITIZER compute-sanitizer HINTS ENV CUDA_PATH
  PATHS /usr/local/cuda PATH_SUFFIXES bin)
set(sanitize ${CMAKE_CURRENT_SOURCE_DIR}/tools/sanitize.sh)
if(TARGET double_collect)
  set(here ${CMAKE_CURRENT_SOURCE_DIR}/gpu/primitives)
  set(primitives cuda_gpu_primitives device --seeds 1 ${here}/bodies_sm80.cu
    ${here}/bodies_sm90.cu)
  set(tensor cuda_driver_multiply_tensor_test gpu)
  set(collect cuda_collect_run gpu)
  set(loopback cuda_gpu_world_pair loopback)
  foreach(program primitives tensor collect loopback)
    list(POP_FRONT ${program} target)
    foreach(tool memcheck racecheck synccheck initcheck)
      cz_cuda_check_if(cuda_gpu_${tool}_${program} 600 "cuda;gpu;sanitizer" sh
        ${sanitize} ${COMPUTE_SANITIZER} ${tool} $<TARGET_FILE:${target}> ${${program}}
        ${installed} ${pinned})
    endforeach()
  endforeach()
endif()
cz_cuda_check(cuda_sanitize_sees 60 cuda ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/sanitize.py ${sanitize})
