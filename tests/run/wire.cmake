# What travels narrower than it is: bits of one rank, counters, and float64
# within the bound, on every mesh and shared by ranks; nothing without a
# tolerance that admits it.
set(wire ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/wire/tolerance.cz)
function(cz_wire_test name)
  add_test(NAME run_wire_${name} COMMAND canzona run --check --steps=3 ${ARGN}
    ${wire})
  set_tests_properties(run_wire_${name} PROPERTIES LABELS run TIMEOUT 120)
endfunction()
foreach(mesh 1x1 2x1 2x2 3x2 1x4)
  string(REGEX MATCH "^[0-9]+" dp ${mesh})
  string(REGEX MATCH "[0-9]+$" tp ${mesh})
  cz_wire_test(${mesh} -D mesh.dp=${dp} -D mesh.tp=${tp})
endforeach()
cz_wire_test(late --late)
cz_wire_test(shared -D tp_strategy=gram)

# Partial sums in bf16, scattered in bands and of all: bits of one rank whichever
# ranks add up which of the fixed parts, and float64 within the bound.
set(gpt ${CMAKE_SOURCE_DIR}/examples/gpt.cz)
set(few ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/plans/few.cz)
set(sums ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/wire/sums.cz)
foreach(case sums:1x1:0 sums:4x2:2 sums:2x4:2 sums:2x4:4 sums:1x4:4 sums:1x8:2
             sums:1x8:4 sums:1x8:8 gpt:2x4:2 few:1x4:0 few:2x4:0 few:4x2:0)
  string(REGEX MATCH "^([a-z]+):([0-9]+)x([0-9]+):([0-9]+)$" _ ${case})
  set(name run_wire_${CMAKE_MATCH_1}_${CMAKE_MATCH_2}x${CMAKE_MATCH_3}_${CMAKE_MATCH_4})
  set(defines -D schedule.tolerance=0.05 -D mesh.dp=${CMAKE_MATCH_2}
      -D mesh.tp=${CMAKE_MATCH_3})
  if(CMAKE_MATCH_4 GREATER 0)
    list(APPEND defines -D tp_strategy=gram -D tp_group=${CMAKE_MATCH_4})
  endif()
  foreach(late "" --late)
    add_test(NAME ${name}${late} COMMAND canzona run --check --steps=2 ${late}
      ${defines} ${${CMAKE_MATCH_1}})
    set_tests_properties(${name}${late} PROPERTIES LABELS run TIMEOUT 120)
  endforeach()
endforeach()
foreach(group 2 4 8)
  add_test(NAME plan_json_wire_sums_${group} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --run $<TARGET_FILE:canzona>
    plan --json -D tp_strategy=gram -D tp_group=${group} ${sums})
  set_tests_properties(plan_json_wire_sums_${group} PROPERTIES
    LABELS plan TIMEOUT 120)
endforeach()
add_test(NAME plan_json_wire_few COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --run $<TARGET_FILE:canzona>
  plan --json -D schedule.tolerance=0.05 ${few})
set_tests_properties(plan_json_wire_few PROPERTIES LABELS plan TIMEOUT 120)

cz_wire_test(below -D schedule.tolerance=0.04)
foreach(tolerance 0.04 0.05)
  add_test(NAME plan_json_wire_${tolerance} COMMAND ${PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/plan/check_plan.py --run $<TARGET_FILE:canzona>
    plan --json -D schedule.tolerance=${tolerance} ${wire})
  set_tests_properties(plan_json_wire_${tolerance} PROPERTIES
    LABELS plan TIMEOUT 120)
endforeach()

# Half the bytes, and not one less tolerance than that.
add_test(NAME plan_wire_bytes COMMAND ${PYTHON} -B
  ${CMAKE_CURRENT_SOURCE_DIR}/plan/wire_bytes.py $<TARGET_FILE:canzona> ${wire}
  ${gpt})
set_tests_properties(plan_wire_bytes PROPERTIES LABELS plan TIMEOUT 60)

# Muon, which rounds before it takes the norm, sends half of what gathered f32
# gradients would be, and less among more than two ranks, without a tolerance;
# normalised first it sends half as much again, which a tolerance takes back.
function(cz_wire_half name share)
  add_test(NAME plan_wire_half_${name} COMMAND canzona plan ${ARGN})
  set_tests_properties(plan_wire_half_${name} PROPERTIES LABELS plan TIMEOUT 60
    PASS_REGULAR_EXPRESSION "matrices +${share} of sending f32")
endfunction()
set(qwen ${CMAKE_SOURCE_DIR}/examples/qwen3-32b.cz)
set(norm_first ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/wire/norm_first.cz)
foreach(case 2:500:750 4:250:375 8:125:188)
  string(REGEX MATCH "^([0-9]+):([0-9]+):([0-9]+)$" _ ${case})
  set(tp -D mesh.tp=${CMAKE_MATCH_1})
  cz_wire_half(${CMAKE_MATCH_1} "0\\.${CMAKE_MATCH_2}" ${tp} ${qwen})
  cz_wire_half(${CMAKE_MATCH_1}_norm_first "0\\.${CMAKE_MATCH_3}" ${tp} ${norm_first})
  cz_wire_half(${CMAKE_MATCH_1}_tolerance "0\\.${CMAKE_MATCH_2}" ${tp}
    -D schedule.tolerance=0.05 ${norm_first})
endforeach()

# Also where ranks share matrices and sums travel, on any mesh, but as far beyond as
# `wire` says.
foreach(storage fused split)
  set(shared ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/wire/shared_${storage}.cz)
  cz_wire_half(shared_${storage} "0\\.(4[0-9][0-9]|500)" ${shared})
  foreach(mesh 64:4 128:2)
    string(REGEX MATCH "^([0-9]+):([0-9]+)$" _ ${mesh})
    cz_wire_half(shared_${storage}_${CMAKE_MATCH_1}x${CMAKE_MATCH_2}
      "0\\.([234][0-9][0-9]|500)" -D mesh.dp=${CMAKE_MATCH_1}
      -D mesh.tp=${CMAKE_MATCH_2} ${shared})
  endforeach()
  cz_wire_half(shared_${storage}_wire_1 "0\\.[6-9][0-9][0-9]" -D wire=1
    -D mesh.dp=64 -D mesh.tp=4 ${shared})
endforeach()
