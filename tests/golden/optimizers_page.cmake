# The page of optimizers is what the library's files say.
add_test(NAME optimizers_page COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/optimizers_page.py)
set_tests_properties(optimizers_page PROPERTIES LABELS golden TIMEOUT 60)
