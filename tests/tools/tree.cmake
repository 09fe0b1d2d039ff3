# Checks of the tree as text: layers, sizes, format, the nouns of identifiers, the
# sentences of pages.
foreach(check layering sizes format words prose)
  add_test(NAME tree_${check}
    COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/${check}.py)
  set_tests_properties(tree_${check} PROPERTIES LABELS tree TIMEOUT 60)
endforeach()
foreach(check layering words prose)
  add_test(NAME tree_${check}_sees
    COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/${check}.py --self-test)
  set_tests_properties(tree_${check}_sees PROPERTIES LABELS tree TIMEOUT 60)
endforeach()
