# The first hour on a GPU machine, `make first-gpu`: the doctor on doubles of what a
# machine may have, and the report on real programs that pass, fail, or do not end.
add_executable(cuda_doctor gpu/first/doctor.c)
target_include_directories(cuda_doctor PRIVATE ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/runtime)
target_link_libraries(cuda_doctor PRIVATE czr_cuda cz_warnings)
set_target_properties(cuda_doctor PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
# Instruments would have to be the first library of what the doubles are loaded by.
if(TARGET double_collect AND NOT INSTRUMENTED)
  set(first ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/gpu/first/first.py)
  set(doubles ${CMAKE_BINARY_DIR}/tests/run/loopback/libcuda.so.1
    ${CMAKE_BINARY_DIR}/tests/libdouble_nvrtc.so)
  cz_cuda_check(cuda_first_doctor 60 cuda ${first} doctor $<TARGET_FILE:cuda_doctor>
    ${doubles})
  cz_cuda_check(cuda_first_report 120 cuda ${first} report ${CMAKE_SOURCE_DIR}
    ${CMAKE_BINARY_DIR}/tests ${doubles})
  cz_cuda_check(cuda_first_assumptions 60 cuda ${first} assumptions
    ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
endif()
