# What make install and the Debian package put, and remove.
if(NOT INSTRUMENTED)
  cz_script(install tree 300 run/install.py ${CMAKE_BINARY_DIR})
  cz_script(install_deb "tree;nightly" 900 run/install.py ${CMAKE_BINARY_DIR} --deb)
  set_tests_properties(install_deb PROPERTIES SKIP_RETURN_CODE 77)
endif()
