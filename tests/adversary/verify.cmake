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
cz_test(verify_random_plans_1 tree 600 random_plans_test 250 10 1)
cz_test(verify_random_plans_2 "tree;nightly" 600 random_plans_test 500 10 2)
cz_test(verify_random_plans_long "tree;nightly" 3600 random_plans_test 4000 80 3)
cz_test(verify_smoke tree 300 random_plans_test 40 2 1)

cz_verify_test(mutants_test adversary/verify/mutable_plan.c adversary/verify/program_of_view.c
  adversary/verify/mutation.c adversary/verify/mutation_row.c adversary/verify/mutation_op.c
  adversary/verify/mutation_stage.c adversary/verify/mutable_stage.c adversary/verify/sentence.c)
# A rotating twentieth of them, by commit: what one commit does not try, the next do.
execute_process(COMMAND git rev-parse --short=6 HEAD
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE commit ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit 1)
endif()
math(EXPR commit "0x${commit}")
cz_test(verify_mutants_twentieth tree 300 mutants_test 8 20 1 0 ${commit})
cz_test(verify_mutants tree 600 mutants_test 20 160 1)
cz_test(verify_mutants_40 "tree;nightly" 600 mutants_test 40 160 1)
cz_test(verify_mutants_long "tree;nightly" 3600 mutants_test 200 320 2)
# Several mutations at once: no longer a likely mistake, but sound all the
# same, and never a crash.
cz_test(verify_mutants_several "tree;nightly" 600 mutants_test 40 96 3 2)

# Batches and tiles of plans for a GPU.
cz_verify_test(gpu_mutants_test adversary/verify/batch_run.c
  adversary/verify/mutable_plan.c adversary/verify/mutation.c
  adversary/verify/mutation_row.c adversary/verify/mutation_op.c
  adversary/verify/mutation_gpu.c adversary/verify/mutation_stage.c
  adversary/verify/mutable_stage.c adversary/verify/sentence.c)
cz_test(verify_gpu_mutants tree 300 gpu_mutants_test 12 150 1)
cz_test(verify_gpu_mutants_long "tree;nightly" 1800 gpu_mutants_test 120 600 2)

# Edits of printed IR: chosen ones, each refused for its reason; drawn ones; and
# every constant of the library.
cz_script(verify_edits tree 60 adversary/verify_edits.py $<TARGET_FILE:canzona>)
cz_verify_test(ir_judge)
cz_script(verify_ir_mutants tree 600 adversary/ir_mutants.py $<TARGET_FILE:canzona>
  $<TARGET_FILE:ir_judge> 75)
cz_script(verify_ir_mutants_long "tree;nightly" 7200 adversary/ir_mutants.py
  $<TARGET_FILE:canzona> $<TARGET_FILE:ir_judge> 10000 2)
cz_script(verify_constants tree 300 adversary/verify_constants.py
  $<TARGET_FILE:canzona> $<TARGET_FILE:ir_judge> ${CMAKE_SOURCE_DIR}/dsl/std/opt
  muon muonclip adafactor)
cz_script(verify_constants_long "tree;nightly" 3600 adversary/verify_constants.py
  $<TARGET_FILE:canzona> $<TARGET_FILE:ir_judge> ${CMAKE_SOURCE_DIR}/dsl/std/opt)
# One wrong number on one of 4096 ranks.
cz_script(verify_large tree 300 adversary/verify_large.py $<TARGET_FILE:canzona> 1 30)
