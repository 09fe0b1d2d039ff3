# What we declare of NVIDIA's libraries beside their headers and libraries: those
# that are installed, and nightly a row a version, fetched with pip.  Compiling is
# most of it, so that no GPU is needed.
if(CMAKE_CXX_COMPILER)
  set(real ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/real/real.py)
  set(parts ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR})
  cz_cuda_check_if(cuda_real_installed 120 cuda ${real} installed ${parts})
  cz_cuda_check_if(cuda_real_sees 120 cuda ${real} self-test ${parts})
  # Fetching the first time, then kernels by each NVRTC.
  cz_cuda_check_if(cuda_real_versions 3000 "cuda;nightly" ${real} fetched ${parts}
    ${CMAKE_BINARY_DIR}/real $<TARGET_FILE:cuda_compile>)
endif()
