# A plan's NAME.cu on the double of the driver.
#
# cz_double_program(NAME FILE OPTIONS...) makes the library double_NAME of what
# `canzona build` writes for FILE, whose stem is NAME: NAME_program, NAME_cuda,
# and `void NAME_kernels(void)`, which gives the double of the driver all kernels
# of NAME.cu, run by the model of the device.  A test links it and fake_cuda,
# opens double_nvrtc in NVRTC's place, and behind each fake_reset calls
# fake_share_addresses and NAME_kernels; tests/gpu/stages/stages_run.c does all
# that.
#
# cz_double_kernels(NAME FILES...) is the same for bodies of runtime/cuda/kernels, without
# a program; double_collect has the engine's own, behind collect_kernels().
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(double_script ${CMAKE_CURRENT_SOURCE_DIR}/gpu/double/double_kernels.py)
  set(double_elementwise ${CMAKE_SOURCE_DIR}/runtime/cuda/kernels/elementwise.cuh)

  function(cz_double_library name)
    add_library(double_${name} STATIC ${ARGN})
    target_include_directories(double_${name} PUBLIC ${CMAKE_SOURCE_DIR}/runtime
      PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/gpu)
    set_target_properties(double_${name} PROPERTIES CXX_STANDARD 17
      CXX_STANDARD_REQUIRED ON)
    # What canzona build --print-cflags says; the model's own warnings are
    # those of cuda.cmake.
    target_compile_options(double_${name} PRIVATE -O1 -ffp-contract=off
      -fno-math-errno -Wall -Wextra -Werror -Wno-unknown-pragmas
      $<$<COMPILE_LANGUAGE:C>:-Wpedantic>)
    target_link_libraries(double_${name} PUBLIC fake_cuda)
  endfunction()

  function(cz_double_program name file)
    set(folder ${CMAKE_BINARY_DIR}/tests/double_${name})
    set(made ${folder}/${name}.c ${folder}/${name}_cuda.c ${folder}/kernels.cpp)
    add_custom_command(OUTPUT ${made}
      COMMAND canzona build --force --target=cpu,sm_80 ${ARGN} -o ${folder} ${file}
      COMMAND ${PYTHON} -B ${double_script} ${name}_kernels ${folder}/kernels.cpp
        ${double_elementwise} ${folder}/${name}.cu
      DEPENDS canzona ${file} ${double_elementwise} ${double_script} VERBATIM)
    cz_double_library(${name} ${made})
    target_include_directories(double_${name} PUBLIC ${folder})
  endfunction()

  function(cz_double_kernels name)
    set(made ${CMAKE_BINARY_DIR}/tests/double_${name}.cpp)
    add_custom_command(OUTPUT ${made}
      COMMAND ${PYTHON} -B ${double_script} ${name}_kernels ${made} ${double_elementwise} ${ARGN}
      DEPENDS ${double_elementwise} ${ARGN} ${double_script} VERBATIM)
    cz_double_library(${name} ${made})
  endfunction()

  set(bodies ${CMAKE_SOURCE_DIR}/runtime/cuda/kernels)
  cz_double_kernels(collect ${bodies}/collect_sum.cu ${bodies}/collect_step.cu
    ${bodies}/collect_memory.cu ${bodies}/pack.cu)

  cz_double_kernels(factor ${bodies}/factor.cu ${bodies}/newton.cu)

  # Strict where there are products: only then their bits are those of C.
  cz_double_program(elements ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/elements.cz)
  cz_double_program(forms ${CMAKE_CURRENT_SOURCE_DIR}/golden/cuda/forms.cz
    --strict)
  cz_double_program(parts ${CMAKE_CURRENT_SOURCE_DIR}/golden/cuda/parts.cz
    --strict)
  cz_double_program(roots ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/roots.cz --strict)
  cz_double_program(halves ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/halves.cz --strict)
  # All optimizers of the library; built when its test runs.
  set(source ${CMAKE_BINARY_DIR}/tests/library.cz)
  file(GLOB optimizers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dsl/std/opt/*.cz)
  add_custom_command(OUTPUT ${source} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/gpu/kernels/elementwise.py write ${source}
    DEPENDS ${optimizers} VERBATIM)
  cz_double_program(library ${source} --strict)

  foreach(name elements forms parts roots halves library)
    cz_model_program(cuda_stages_${name} ${name} double_${name}
      gpu/stages/stages_run.c)
  endforeach()
  # Kernels that no NAME.cu has.
  target_compile_definitions(cuda_stages_roots PRIVATE WITH_FACTORS)
  target_link_libraries(cuda_stages_roots PRIVATE double_factor)
  set_target_properties(double_library cuda_stages_library PROPERTIES
    EXCLUDE_FROM_ALL ON)

  foreach(name elements forms parts roots halves)
    cz_cuda_check(cuda_stages_${name} 240 cuda cuda_stages_${name})
    # The same bits on a GPU, where there is one.
    cz_cuda_check_if(cuda_gpu_stages_${name} 240 "cuda;gpu" cuda_stages_${name} gpu
      ${installed} ${pinned})
  endforeach()
  # Objects of its own meet the libraries: instruments are in none of them.
  if(NOT INSTRUMENTED)
    cz_cuda_mutants(cuda_stages_mutants 120 600 stages/stages_mutants.py
      ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR}
      $<TARGET_FILE:fake_cuda> $<TARGET_FILE:double_nvrtc>
      $<TARGET_FILE:double_elements> $<TARGET_FILE:plain_bodies>
      $<TARGET_FILE:fake_cuda> $<TARGET_FILE:czr_cuda> $<TARGET_FILE:czr>
      -Wl,-rpath,$<TARGET_FILE_DIR:fake_cuda>)
  endif()

  cz_cuda_check(cuda_stages_library_build 600 "cuda;nightly" ${CMAKE_COMMAND}
    --build ${CMAKE_BINARY_DIR} --target cuda_stages_library)
  cz_cuda_check(cuda_stages_library 600 "cuda;nightly" cuda_stages_library 4 1)
  set_tests_properties(cuda_stages_library_build PROPERTIES
    FIXTURES_SETUP stages_library)
  set_tests_properties(cuda_stages_library PROPERTIES
    FIXTURES_REQUIRED stages_library)
endif()
