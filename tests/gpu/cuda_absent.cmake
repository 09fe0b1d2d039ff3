# In place of libraries that plans open on a GPU machine, where a test runs on the
# double of the driver: what it computes must not depend on them.
# tests/CMakeLists.txt has those tests look here first.
set(absent ${CMAKE_BINARY_DIR}/tests/absent)
foreach(library cublasLt:13 cublasLt:12 cusolver:12 cusolver:11)
  string(REPLACE ":" ";" library ${library})
  list(GET library 0 name)
  list(GET library 1 version)
  add_library(absent_${name}_${version} SHARED gpu/double/absent.c)
  target_link_libraries(absent_${name}_${version} PRIVATE cz_warnings)
  # Python opens them, too, without instruments.
  target_compile_options(absent_${name}_${version} PRIVATE -fno-sanitize=all)
  target_link_options(absent_${name}_${version} PRIVATE -fno-sanitize=all)
  set_target_properties(absent_${name}_${version} PROPERTIES OUTPUT_NAME ${name}
    SUFFIX .so.${version} LIBRARY_OUTPUT_DIRECTORY ${absent})
endforeach()
cz_cuda_check(cuda_absent 60 cuda ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/gpu/absent.py ${CMAKE_SOURCE_DIR})
