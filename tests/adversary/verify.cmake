# The verifier, proved: random valid plans that it must accept, mutants of
# plans that it must reject unless a run shows them harmless.
function(cz_verify_test name)
  add_executable(${name} adversary/verify/${name}.c ${ARGN}
    adversary/verify/planned.c adversary/verify/random_text.c)
  target_link_libraries(${name} PRIVATE cz_frontend cz_passes cz_verify
    cz_run cz_warnings m)
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

cz_verify_test(random_plans_test)
foreach(seed 1 2)
  set(count 250)
  if(seed EQUAL 2)
    set(count 500)
  endif()
  add_test(NAME verify_random_plans_${seed}
    COMMAND random_plans_test ${count} 10 ${seed})
  set_tests_properties(verify_random_plans_${seed} PROPERTIES
    LABELS tree TIMEOUT 600)
endforeach()
set_tests_properties(verify_random_plans_2 PROPERTIES LABELS "tree;nightly")
add_test(NAME verify_random_plans_long COMMAND random_plans_test 4000 80 3)
set_tests_properties(verify_random_plans_long PROPERTIES
  LABELS "tree;nightly" TIMEOUT 3600)

cz_verify_test(mutants_test adversary/verify/mutable_plan.c adversary/verify/program_of_view.c
  adversary/verify/mutation.c adversary/verify/mutation_row.c adversary/verify/mutation_op.c
  adversary/verify/mutation_stage.c adversary/verify/mutable_stage.c adversary/verify/sentence.c)
# A rotating tenth of them, by commit: what one commit does not try, the next do.
execute_process(COMMAND git rev-parse --short=6 HEAD
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE commit ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit 1)
endif()
math(EXPR commit "0x${commit}")
add_test(NAME verify_mutants_tenth COMMAND mutants_test 20 16 1 0 ${commit})
add_test(NAME verify_smoke COMMAND random_plans_test 40 2 1)
set_tests_properties(verify_mutants_tenth verify_smoke PROPERTIES
  LABELS tree TIMEOUT 300)
add_test(NAME verify_mutants COMMAND mutants_test 20 160 1)
add_test(NAME verify_mutants_40 COMMAND mutants_test 40 160 1)
set_tests_properties(verify_mutants PROPERTIES LABELS tree TIMEOUT 600)
set_tests_properties(verify_mutants_40 PROPERTIES
  LABELS "tree;nightly" TIMEOUT 600)
add_test(NAME verify_mutants_long COMMAND mutants_test 200 320 2)
set_tests_properties(verify_mutants_long PROPERTIES
  LABELS "tree;nightly" TIMEOUT 3600)

# Several mutations at once: no longer a likely mistake, but sound all the
# same, and never a crash.
add_test(NAME verify_mutants_several COMMAND mutants_test 40 96 3 2)
set_tests_properties(verify_mutants_several PROPERTIES
  LABELS "tree;nightly" TIMEOUT 600)

# Batches and tiles of plans for a GPU.
cz_verify_test(gpu_mutants_test adversary/verify/batch_run.c
  adversary/verify/mutable_plan.c adversary/verify/mutation.c
  adversary/verify/mutation_row.c adversary/verify/mutation_op.c
  adversary/verify/mutation_gpu.c adversary/verify/mutation_stage.c
  adversary/verify/mutable_stage.c adversary/verify/sentence.c)
add_test(NAME verify_gpu_mutants COMMAND gpu_mutants_test 12 150 1)
set_tests_properties(verify_gpu_mutants PROPERTIES LABELS tree TIMEOUT 300)
add_test(NAME verify_gpu_mutants_long COMMAND gpu_mutants_test 120 600 2)
set_tests_properties(verify_gpu_mutants_long PROPERTIES
  LABELS "tree;nightly" TIMEOUT 1800)

add_test(NAME verify_choices COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/adversary/verify_choices.py $<TARGET_FILE:canzona>)
set_tests_properties(verify_choices PROPERTIES LABELS tree TIMEOUT 60)

# One wrong number on one of 4096 ranks.
add_test(NAME verify_large COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/adversary/verify_large.py $<TARGET_FILE:canzona> 1 30)
set_tests_properties(verify_large PROPERTIES LABELS tree TIMEOUT 300)
