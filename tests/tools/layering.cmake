# Checks of the tree as text: layers, sizes, format.
foreach(check layering sizes format)
  add_test(NAME tree_${check}
    COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/${check}.py)
endforeach()
add_test(NAME tree_layering_sees
  COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/layering.py --self-test)
set_tests_properties(tree_layering tree_layering_sees tree_sizes tree_format
  PROPERTIES LABELS tree TIMEOUT 60)
