# The tables of the page of the IR are what the .def files say.
add_test(NAME ir_page COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/ir_page.py)
add_test(NAME ir_page_sees COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/ir_page.py --self-test)
set_tests_properties(ir_page ir_page_sees PROPERTIES LABELS golden TIMEOUT 60)
