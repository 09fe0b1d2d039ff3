# Slices of buckets, and who orders what lies in them: each geometry, and the
# trainer's order, executed with the bits of one rank, every
# figure of its plan computed again, and the verifier's word on it.
foreach(case gpt:4x2:padded gpt:2x4:padded gpt:3x2:padded fused:4x2:padded
             batch:4x2:padded moe:4x2:padded fused:4x2:auto moe:4x2:auto
             gpt:4x2:equal gpt:2x4:equal gpt:3x2:equal fused:4x2:equal
             moe:4x2:equal batch:4x2:equal
             gpt:4x2:trainer gpt:2x4:trainer fused:4x2:trainer moe:4x2:trainer)
  string(REGEX MATCH "^([a-z]+):([0-9]+)x([0-9]+):([a-z]+)$" _ ${case})
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${CMAKE_MATCH_1}.cz)
  if("${CMAKE_MATCH_1}" STREQUAL "gpt")
    set(file ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
  endif()
  set(what geometry)
  if("${CMAKE_MATCH_4}" STREQUAL "trainer")
    set(what layout)
  endif()
  set(defines -D mesh.dp=${CMAKE_MATCH_2} -D mesh.tp=${CMAKE_MATCH_3}
      -D ${what}=${CMAKE_MATCH_4})
  string(REGEX REPLACE "[:]" "_" name ${case})
  add_test(NAME run_slices_${name} COMMAND canzona run --check --steps=2
    ${defines} ${file})
  set_tests_properties(run_slices_${name} PROPERTIES LABELS run TIMEOUT 120)
  add_test(NAME plan_json_slices_${name} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json ${defines} ${file})
  set_tests_properties(plan_json_slices_${name} PROPERTIES LABELS plan
    TIMEOUT 120)
endforeach()
# With grads over more axes than states are split over, as late as waits allow, and
# on the stages of a pipeline, FSDP inside.
foreach(case grads:dp=3,cp=2,tp=2 pipeline_moe:pp=2,dp=2,tp=2 fsdp:dp=2,fsdp=2,tp=2)
  string(REGEX MATCH "^([a-z_]+):(.*)$" _ ${case})
  set(stem ${CMAKE_MATCH_1})
  string(REGEX REPLACE "([a-z]+=[0-9]+),?" "-D;mesh.\\1;" defines ${CMAKE_MATCH_2})
  add_test(NAME run_slices_equal_${stem} COMMAND canzona run --check --late
    --steps=2 ${defines} -D geometry=equal
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  set_tests_properties(run_slices_equal_${stem} PROPERTIES LABELS run TIMEOUT 120)
  add_test(NAME plan_json_slices_equal_${stem} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json ${defines} -D geometry=equal
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/${stem}.cz)
  set_tests_properties(plan_json_slices_equal_${stem} PROPERTIES LABELS plan
    TIMEOUT 120)
endforeach()
cz_plan_sees(plan_json_sees_geometries
  ${CMAKE_CURRENT_SOURCE_DIR}/golden/explain/slices_assumed.cz)
# Of one stage's plan another's is a copy.
add_test(NAME plan_json_slices_pipeline COMMAND ${plan_checker} --run
  $<TARGET_FILE:canzona> plan --json -D geometry=auto
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/pipeline_moe.cz)
set_tests_properties(plan_json_slices_pipeline PROPERTIES LABELS plan
  TIMEOUT 120)
# Vectors travel with matrices; what is large enough to be cut travels alone.
add_test(NAME plan_mixed_buckets COMMAND canzona plan --explain
  -D machine=notes ${CMAKE_SOURCE_DIR}/examples/qwen3-32b.cz)
set_tests_properties(plan_mixed_buckets PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "0 \\(rest\\)[^(]*1 to 9 \\(matrices, vectors\\)[^(]*10 \\(vectors, matrices\\)[^(]*11 \\(rest\\)")
add_test(NAME plan_screen_slices COMMAND canzona plan -D geometry=auto
  ${CMAKE_SOURCE_DIR}/examples/qwen3-32b.cz)
set_tests_properties(plan_screen_slices PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "slices      equal, by load and wire: uneven 6[0-9][0-9].* ms to 1.2[0-9] s at 100.0 % to 50.0 % of the link; padded 8[0-9.]* ms, as uneven ones that reach 7[0-9.]* %; equal 6[0-9.]* ms, as uneven ones that reach 9[0-9.]* %")
add_test(NAME plan_padded_slices COMMAND canzona plan --explain -D mesh.dp=3
  -D geometry=padded ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/fused.cz)
set_tests_properties(plan_padded_slices PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "padded to the longest slice;[^,]*, the longest 1.000 times")

# What the study has in the trainer's order is 1.019, on its own times.
add_test(NAME plan_trainer_qwen3-4b COMMAND canzona plan
  ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/qwen3-4b.cz)
set_tests_properties(plan_trainer_qwen3-4b PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "time  [^\n]*max/mean 1.0[0-3][0-9]")
foreach(file fixtures/plans/qwen3-4b.cz fixtures/plans/few.cz)
  string(REGEX REPLACE ".*/|.cz$" "" stem ${file})
  add_test(NAME plan_json_trainer_${stem} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json -D layout=trainer
    ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set_tests_properties(plan_json_trainer_${stem} PROPERTIES LABELS plan
    TIMEOUT 120)
endforeach()
