# Ranks that are processes, over a transport of tests, beside ranks that are threads:
# the same bytes, and messages as plans count them.
cz_tool(processes_tool czr)
target_include_directories(processes_tool PRIVATE ${CMAKE_SOURCE_DIR})
set(processes run/processes.py $<TARGET_FILE:canzona> $<TARGET_FILE:processes_tool>
  ${CMAKE_SOURCE_DIR}/runtime)
cz_script(run_processes run 300 ${processes} gpt_2 gram few equal strict
  pipeline gpt_16)
cz_script(run_processes_all "run;nightly" 1200 ${processes})

if(TARGET czr_mpi)
  add_executable(processes_mpi_tool tools/processes_tool.c)
  target_link_libraries(processes_mpi_tool PRIVATE czr_mpi cz_warnings)
  target_include_directories(processes_mpi_tool PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(processes_mpi_tool PRIVATE TOOL_MPI)
  add_dependencies(processes_mpi_tool czr_mpi_module)
  set_target_properties(processes_mpi_tool PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # What MPI itself never frees is no leak of ours.
  cz_script(run_mpi run 300 run/mpi.py $<TARGET_FILE:canzona>
    $<TARGET_FILE:processes_mpi_tool> ${CMAKE_SOURCE_DIR}/runtime
    $<TARGET_FILE:train_gpt>)
  set_tests_properties(run_mpi PROPERTIES ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
cz_test(run_processes_failing "unit;nightly" 900 unit_runtime_engine
  processes_test)
set_tests_properties(run_processes_failing PROPERTIES
  ENVIRONMENT PROCESSES=200)

# What a checkpoint holds, from mesh to mesh.
cz_tool(checkpoint_tool czr)
target_include_directories(checkpoint_tool PRIVATE ${CMAKE_SOURCE_DIR})
set(checkpoint run/checkpoint.py $<TARGET_FILE:canzona> $<TARGET_FILE:checkpoint_tool>
  ${CMAKE_SOURCE_DIR}/runtime)
cz_script(run_checkpoint run 300 ${checkpoint} few)
cz_script(run_checkpoint_all "run;nightly" 1200 ${checkpoint})
# From each mesh to each other.
set(matrix run/checkpoint_matrix.py $<TARGET_FILE:canzona> $<TARGET_FILE:checkpoint_tool>
  ${CMAKE_SOURCE_DIR}/runtime)
cz_script(run_checkpoint_matrix run 300 ${matrix} few)
cz_script(run_checkpoint_matrix_all "run;nightly" 3600 ${matrix})
set(faults run/checkpoint_faults.py $<TARGET_FILE:canzona>
  $<TARGET_FILE:checkpoint_tool> ${CMAKE_SOURCE_DIR}/runtime $<TARGET_FILE:fail_io>)
cz_script(run_checkpoint_faults run 300 ${faults} 3)
cz_script(run_checkpoint_faults_all "run;nightly" 1800 ${faults} 500)
cz_script(run_checkpoint_trainer run 120 run/checkpoint_trainer.py
  $<TARGET_FILE:train_gpt> $<TARGET_FILE:fail_io>)
# Who loads masters with parameters has written nothing under them.
set_tests_properties(run_checkpoint PROPERTIES ENVIRONMENT CZR_DEBUG=1)
