# Slices of buckets: each geometry executed with the bits of one rank, every
# figure of its plan computed again, and the verifier's word on it.
foreach(case gpt:4x2:padded gpt:2x4:padded gpt:3x2:padded fused:4x2:padded
             batch:4x2:padded)
  string(REGEX MATCH "^([a-z]+):([0-9]+)x([0-9]+):([a-z]+)$" _ ${case})
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/plans/${CMAKE_MATCH_1}.cz)
  if("${CMAKE_MATCH_1}" STREQUAL "gpt")
    set(file ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
  endif()
  set(defines -D mesh.dp=${CMAKE_MATCH_2} -D mesh.tp=${CMAKE_MATCH_3}
      -D geometry=${CMAKE_MATCH_4})
  string(REGEX REPLACE "[:]" "_" name ${case})
  add_test(NAME run_slices_${name} COMMAND canzona run --check --steps=2
    ${defines} ${file})
  set_tests_properties(run_slices_${name} PROPERTIES LABELS run TIMEOUT 120)
  add_test(NAME plan_json_slices_${name} COMMAND ${plan_checker} --run
    $<TARGET_FILE:canzona> plan --json ${defines} ${file})
  set_tests_properties(plan_json_slices_${name} PROPERTIES LABELS plan
    TIMEOUT 120)
endforeach()
add_test(NAME plan_json_sees_padding COMMAND ${plan_checker} --self-test
  $<TARGET_FILE:canzona> plan --json -D mesh.dp=3 -D geometry=padded
  ${CMAKE_CURRENT_SOURCE_DIR}/plans/fused.cz)
set_tests_properties(plan_json_sees_padding PROPERTIES LABELS plan TIMEOUT 300)
add_test(NAME plan_padded_slices COMMAND canzona plan --explain -D mesh.dp=3
  -D geometry=padded ${CMAKE_CURRENT_SOURCE_DIR}/plans/fused.cz)
set_tests_properties(plan_padded_slices PROPERTIES LABELS plan TIMEOUT 60
  PASS_REGULAR_EXPRESSION "padded to the longest slice;[^,]*, the longest 1.000 times")
