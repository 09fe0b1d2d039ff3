# Counts of parameters and matrices against published inventories and against
# a count made in Python alone; of the same models in trainers' storage, and on the
# stages of a pipeline.
set(compile_tool ${CMAKE_BINARY_DIR}/tests/compile_tool)
cz_script(counts tree 120 models/counts.py ${compile_tool})
cz_script(counts_sees tree 120 models/counts.py --self-test)
foreach(meshes one all)
  cz_script(storage_counts_${meshes} tree 300 models/storage_counts.py
    $<TARGET_FILE:canzona> ${meshes})
endforeach()
cz_script(stage_counts tree 120 models/stage_counts.py ${compile_tool})
