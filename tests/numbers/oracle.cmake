# Generated C as others embed it: the lesson, and from Python against formulas.
cz_test(embed_lesson oracle 60 lesson)

# These link the runtime themselves, without what an instrumented one needs.
if(NOT INSTRUMENTED)
  set(tools $<TARGET_FILE:canzona> $<TARGET_FILE:czr>)
  foreach(name oracle_run oracle_run_polar oracle_guard oracle_undo oracle_restart oracle_factor oracle_eigen
      oracle_form oracle_rounding oracle_states oracle_basis oracle_externs oracle_muonclip
      oracle_symmetric)
    cz_script(${name} oracle 300 numbers/${name}.py ${tools})
  endforeach()
  cz_script(storage oracle 600 models/storage.py ${tools})
  cz_script(storage_library oracle 600 models/storage_library.py ${tools})
  cz_script(storage_batch oracle 300 models/storage_batch.py ${tools})

  # The library, family by family; what draws random numbers.
  foreach(family library_tables library_muons library_muons_bf16 library_scaled
      library_scaled_bf16 library_others library_factored library_eigen drawn_dion
      drawn_kron)
    string(REGEX MATCH "^([a-z]+)_(.*)$" _ ${family})
    cz_script(oracle_${family} oracle 300 numbers/oracle_${CMAKE_MATCH_1}.py
      ${CMAKE_MATCH_2} ${tools})
    set_tests_properties(oracle_${family} PROPERTIES ENVIRONMENT OPENBLAS_NUM_THREADS=1)
  endforeach()

  # The same beside what PyPI has: the first run installs 5 GB.
  cz_script(witness nightly 3600 witness/witness.py ${tools} ${CMAKE_BINARY_DIR}/witness)
  set_tests_properties(witness PROPERTIES SKIP_RETURN_CODE 77)

  # Each entry strictly, and its defaults.
  cz_script(library_run_2x2 "oracle;run" 300 run/library_run.py $<TARGET_FILE:canzona>
    ${CMAKE_SOURCE_DIR}/dsl/std/opt 2 2)
  cz_script(library_run_1x4 "oracle;run" 300 run/library_run.py $<TARGET_FILE:canzona>
    ${CMAKE_SOURCE_DIR}/dsl/std/opt 1 4)
  cz_script(embed_lesson_commands oracle 60 run/embed_lesson.py ${CMAKE_BINARY_DIR})
endif()
