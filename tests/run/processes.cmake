# Ranks that are processes, over a transport of tests, beside ranks that are threads:
# the same bytes, and messages as plans count them.
cz_tool(processes_tool czr)
target_include_directories(processes_tool PRIVATE ${CMAKE_SOURCE_DIR})
set(processes run/processes.py $<TARGET_FILE:canzona> $<TARGET_FILE:processes_tool>
  ${CMAKE_SOURCE_DIR}/runtime)
cz_script(run_processes run 300 ${processes} gram few equal strict
  pipeline)
cz_script(run_processes_all "run;nightly" 1200 ${processes})
