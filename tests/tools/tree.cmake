# Checks of the tree as text: layers, sizes, format, the nouns of identifiers, who
# reads syntax nodes by name, the sentences of pages.
foreach(check layering sizes format words prose children)
  cz_script(tree_${check} tree 60 tools/${check}.py)
endforeach()
foreach(check layering words prose children)
  cz_script(tree_${check}_sees tree 60 tools/${check}.py --self-test)
endforeach()
add_test(NAME which_names COMMAND
  ${CMAKE_CURRENT_SOURCE_DIR}/tools/which passes/cut/min_cut.c ${CMAKE_BINARY_DIR}
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(which_names PROPERTIES LABELS tree TIMEOUT 60
  PASS_REGULAR_EXPRESSION "^unit_passes_cut_[^ ]*\nunit_passes_cut")
# Instruments, and machines without the model of the device or MPI, have fewer tests.
if(NOT INSTRUMENTED AND TARGET double_collect AND TARGET czr_mpi)
  cz_script(tree_promises tree 60 tools/promises.py ${CMAKE_BINARY_DIR})
endif()
# What is shipped is hardened, and says whose libraries it has.
if(NOT INSTRUMENTED AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(shipped $<TARGET_FILE:canzona>)
  if(TARGET czr_mpi_module)
    list(APPEND shipped $<TARGET_FILE:czr_mpi_module>)
  endif()
  cz_script(binary tree 60 tools/binary.py ${shipped})
  cz_script(binary_sees tree 60 tools/binary.py --self-test)
endif()
