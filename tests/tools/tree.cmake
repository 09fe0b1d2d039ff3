# Checks of the tree as text: layers, sizes, format, the nouns of identifiers, who
# reads syntax nodes by name, the
# sentences of pages.
foreach(check layering sizes format words prose children)
  add_test(NAME tree_${check}
    COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/${check}.py)
  set_tests_properties(tree_${check} PROPERTIES LABELS tree TIMEOUT 60)
endforeach()
foreach(check layering words prose children)
  add_test(NAME tree_${check}_sees
    COMMAND ${PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/${check}.py --self-test)
  set_tests_properties(tree_${check}_sees PROPERTIES LABELS tree TIMEOUT 60)
endforeach()
add_test(NAME which_names COMMAND
  ${CMAKE_CURRENT_SOURCE_DIR}/tools/which passes/cut/min_cut.c ${CMAKE_BINARY_DIR}
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(which_names PROPERTIES LABELS tree TIMEOUT 60
  PASS_REGULAR_EXPRESSION "^unit_passes_cut_[^ ]*\nunit_passes_cut")
# Instruments, and machines without the model of the device, have fewer tests.
if(NOT INSTRUMENTED AND TARGET double_collect)
  add_test(NAME tree_promises COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/tools/promises.py ${CMAKE_BINARY_DIR})
  set_tests_properties(tree_promises PROPERTIES LABELS tree TIMEOUT 60)
endif()
