# What `make install` and the Debian packages have: the command with its pages, the
# runtime with its headers, and how pkg-config and CMake find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME canzona)

# Pages and completions, as the command itself prints them.
set(gen ${CMAKE_BINARY_DIR}/install)
file(MAKE_DIRECTORY ${gen})
set(pages)
foreach(page bash:canzona zsh:_canzona fish:canzona.fish)
  string(REGEX MATCH "(.*):(.*)" page ${page})
  add_custom_command(OUTPUT ${gen}/${CMAKE_MATCH_2}
    COMMAND canzona help --as=${CMAKE_MATCH_1} > ${gen}/${CMAKE_MATCH_2}
    DEPENDS canzona VERBATIM)
  list(APPEND pages ${gen}/${CMAKE_MATCH_2})
endforeach()
# A page of all commands, and one of each.
add_custom_command(OUTPUT ${gen}/man.stamp
  COMMAND ${CMAKE_COMMAND} -DCANZONA=$<TARGET_FILE:canzona> -DFOLDER=${gen}/man
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/man_pages.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${gen}/man.stamp
  DEPENDS canzona cmake/man_pages.cmake VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages} ${gen}/man.stamp)
add_custom_target(installed DEPENDS canzona czr czr_shared pages)
install(DIRECTORY ${gen}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
set(share ${CMAKE_INSTALL_DATAROOTDIR})
install(FILES ${gen}/canzona DESTINATION ${share}/bash-completion/completions)
install(FILES ${gen}/_canzona DESTINATION ${share}/zsh/site-functions)
install(FILES ${gen}/canzona.fish DESTINATION ${share}/fish/vendor_completions.d)
install(FILES docs/NOTICE.md CHANGELOG.md dsl/LANGUAGE.md docs/WRITING.md examples/embed/lesson.c
  examples/embed/lesson.cz DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Editors: VS Code's is a folder to copy; the others look where theirs lies.
install(DIRECTORY dsl/editor DESTINATION ${share}/canzona
  PATTERN node_modules EXCLUDE PATTERN "*.elc" EXCLUDE)
install(FILES dsl/editor/canzona.vim DESTINATION ${share}/nvim/site/syntax)
install(FILES dsl/editor/canzona.vim DESTINATION ${share}/vim/vimfiles/syntax)
install(FILES dsl/editor/canzona-mode.el DESTINATION ${share}/emacs/site-lisp)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

install(TARGETS canzona DESTINATION ${CMAKE_INSTALL_BINDIR})
# The runtime of GPUs is not among them: trainers include headers of runtime/cuda.
install(TARGETS czr czr_shared
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES runtime/czr.h runtime/czr_math.h runtime/czr_checkpoint.h
  runtime/czr_transport.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/canzona)

# Paths of canzona.pc begin where it lies.
set(libraries ${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH up /${libraries}/pkgconfig /)
string(REGEX REPLACE "/$" "" up ${up})
configure_file(cmake/canzona.pc.in ${gen}/canzona.pc @ONLY)
install(FILES ${gen}/canzona.pc DESTINATION ${libraries}/pkgconfig)
configure_package_config_file(cmake/canzonaConfig.cmake.in ${gen}/canzonaConfig.cmake
  INSTALL_DESTINATION ${libraries}/cmake/canzona
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${gen}/canzonaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${gen}/canzonaConfig.cmake ${gen}/canzonaConfigVersion.cmake
  DESTINATION ${libraries}/cmake/canzona)

# What needs MPI is a package of its own, so that the other needs none.
if(TARGET czr_mpi)
  add_dependencies(installed czr_mpi czr_mpi_module)
  install(TARGETS czr_mpi ARCHIVE DESTINATION ${libraries} COMPONENT mpi)
  install(FILES runtime/czr_mpi.h COMPONENT mpi
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/canzona)
  install(TARGETS czr_mpi_module LIBRARY DESTINATION lib/canzona COMPONENT mpi)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/cmake/deb.cmake)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler for distributed matrix optimizers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CANZONA_PACKAGE_NAME canzona)
set(CPACK_DEBIAN_CANZONA_PACKAGE_RECOMMENDS "gcc, libc6-dev, libopenblas0")
set(CPACK_DEBIAN_CANZONA_DESCRIPTION
  "Muon, Shampoo, SOAP and their relatives, planned over ranks, proved, and written as
 C that runs inside a trainer. The command, and the runtime with its headers.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME canzona-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "canzona (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_DESCRIPTION "Ranks of canzona that are processes of MPI.")
include(CPack)
