# cz_embed(OUTPUT NAME FILES...): a C file that defines
# `const TYPE NAME[]`, each row a path relative to the source folder and its
# bytes, ended by a row of NULL.  TYPE is that of EMBED_HEADER: cz_embedded of
# dsl/base/embedded.h unless both variables say otherwise.
function(cz_embed output name)
  if(NOT EMBED_HEADER)
    set(EMBED_HEADER dsl/base/embedded.h)
    set(EMBED_TYPE cz_embedded)
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=${name}
      -DHEADER=${EMBED_HEADER} -DTYPE=${EMBED_TYPE}
      -DROOT=${CMAKE_CURRENT_SOURCE_DIR} "-DFILES=${ARGN}"
      -P ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake VERBATIM)
endfunction()
