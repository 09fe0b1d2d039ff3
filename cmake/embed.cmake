# cz_embed(OUTPUT NAME FILES...): a C file that defines
# `const cz_embedded NAME[]`, each row a path relative to the source folder
# and its bytes, ended by a row of NULL.
function(cz_embed output name)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=${name}
      -DROOT=${CMAKE_CURRENT_SOURCE_DIR} "-DFILES=${ARGN}"
      -P ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake VERBATIM)
endfunction()
