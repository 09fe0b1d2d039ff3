# Generated C as others embed it: the lesson, and from Python against formulas.
add_test(NAME embed_lesson COMMAND lesson)
set_tests_properties(embed_lesson PROPERTIES LABELS oracle TIMEOUT 60)

# These link the runtime themselves, without what an instrumented one needs.
if(NOT INSTRUMENTED)
  foreach(name oracle_run oracle_run_polar oracle_guard oracle_undo oracle_factor oracle_eigen
      oracle_form oracle_rounding oracle_states oracle_basis oracle_externs oracle_muonclip
      oracle_symmetric)
    add_test(NAME ${name} COMMAND ${PYTHON} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/numbers/${name}.py $<TARGET_FILE:canzona>
      $<TARGET_FILE:czr>)
    set_tests_properties(${name} PROPERTIES LABELS oracle TIMEOUT 300)
  endforeach()

  foreach(name storage storage_library)
    add_test(NAME ${name} COMMAND ${PYTHON} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/models/${name}.py $<TARGET_FILE:canzona>
      $<TARGET_FILE:czr>)
    set_tests_properties(${name} PROPERTIES LABELS oracle TIMEOUT 600)
  endforeach()

  # The library, family by family.
  foreach(family tables muons muons_bf16 scaled scaled_bf16 others
      factored eigen)
    add_test(NAME oracle_library_${family} COMMAND ${PYTHON} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/numbers/oracle_library.py ${family}
      $<TARGET_FILE:canzona> $<TARGET_FILE:czr>)
    set_tests_properties(oracle_library_${family} PROPERTIES
      LABELS oracle TIMEOUT 300 ENVIRONMENT OPENBLAS_NUM_THREADS=1)
  endforeach()

  # What draws random numbers.
  foreach(family dion kron)
    add_test(NAME oracle_drawn_${family} COMMAND ${PYTHON} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/numbers/oracle_drawn.py ${family}
      $<TARGET_FILE:canzona> $<TARGET_FILE:czr>)
    set_tests_properties(oracle_drawn_${family} PROPERTIES
      LABELS oracle TIMEOUT 300 ENVIRONMENT OPENBLAS_NUM_THREADS=1)
  endforeach()

  # The same beside what PyPI has: the first run installs 5 GB.
  add_test(NAME witness COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/witness/witness.py $<TARGET_FILE:canzona>
    $<TARGET_FILE:czr> ${CMAKE_BINARY_DIR}/witness)
  set_tests_properties(witness PROPERTIES LABELS nightly TIMEOUT 3600
    SKIP_RETURN_CODE 77)

  # Each entry strictly, and its defaults.
  foreach(mesh "2 2" "1 4")
    string(REPLACE " " "x" name ${mesh})
    separate_arguments(axes UNIX_COMMAND ${mesh})
    add_test(NAME library_run_${name} COMMAND ${PYTHON} -B
      ${CMAKE_CURRENT_SOURCE_DIR}/run/library_run.py $<TARGET_FILE:canzona>
      ${CMAKE_SOURCE_DIR}/dsl/std/opt ${axes})
    set_tests_properties(library_run_${name} PROPERTIES
      LABELS "oracle;run" TIMEOUT 300)
  endforeach()

  add_test(NAME storage_batch COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/models/storage_batch.py $<TARGET_FILE:canzona>
    $<TARGET_FILE:czr>)
  set_tests_properties(storage_batch PROPERTIES LABELS oracle TIMEOUT 300)

  add_test(NAME embed_lesson_commands COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/run/embed_lesson.py ${CMAKE_BINARY_DIR})
  set_tests_properties(embed_lesson_commands PROPERTIES LABELS oracle TIMEOUT 60)
endif()
