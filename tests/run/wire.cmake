# What travels narrower than it is: bits of one rank, counters, and float64
# within the bound, on every mesh and shared by ranks; nothing without a
# tolerance that admits it.
set(wire ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/wire/tolerance.cz)
cz_runs(wire ${wire} "dp;tp" --steps=3 1x1 2x1 2x2 3x2 1x4)
cz_run(wire_late --steps=3 --late ${wire})
cz_run(wire_shared --steps=3 -D tp_strategy=gram ${wire})
cz_run(wire_below --steps=3 -D schedule.tolerance=0.04 ${wire})
foreach(tolerance 0.04 0.05)
  cz_plan_json(wire_${tolerance} -D schedule.tolerance=${tolerance} ${wire})
endforeach()

# Partial sums in bf16, scattered in bands and of all: bits of one rank whichever
# ranks add up which of the fixed parts, and float64 within the bound.
set(few ${plans}/few.cz)
set(sums ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/wire/sums.cz)
foreach(case sums_1x1_0 sums_4x2_2 sums_2x4_2 sums_2x4_4 sums_1x4_4 sums_1x8_2 sums_1x8_4
    sums_1x8_8 gpt_2x4_2 few_1x4_0 few_2x4_0 few_4x2_0)
  string(REGEX MATCH "^([a-z]+)_([0-9x]+)_([0-9]+)$" _ ${case})
  set(file ${${CMAKE_MATCH_1}})
  set(group)
  if(CMAKE_MATCH_3 GREATER 0)
    set(group -D tp_strategy=gram -D tp_subgroup=${CMAKE_MATCH_3})
  endif()
  cz_mesh(defines "dp;tp" ${CMAKE_MATCH_2})
  cz_run_late_too(wire_${case} -D schedule.tolerance=0.05 ${defines} ${group} ${file})
endforeach()
foreach(group 2 4 8)
  cz_plan_json(wire_sums_${group} -D tp_strategy=gram -D tp_subgroup=${group} ${sums})
endforeach()
cz_plan_json(wire_few -D schedule.tolerance=0.05 ${few})

# Half the bytes, and not one less tolerance than that.
cz_script(plan_wire_bytes plan 60 plan/wire_bytes.py $<TARGET_FILE:canzona> ${wire} ${gpt})

# Muon, which rounds before it takes the norm, sends half of what gathered f32
# gradients would be, and less among more than two ranks, without a tolerance;
# normalised first it sends half as much again, which a tolerance takes back.
function(cz_wire_half name share)
  cz_plan_says(plan_wire_half_${name} "matrices +${share} of sending f32" ${ARGN})
endfunction()
set(qwen ${examples}/qwen3-32b.cz)
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
  foreach(mesh 64x4 128x2)
    cz_mesh(defines "dp;tp" ${mesh})
    cz_wire_half(shared_${storage}_${mesh} "0\\.([234][0-9][0-9]|500)" ${defines} ${shared})
  endforeach()
  cz_wire_half(shared_${storage}_wire_1 "0\\.[6-9][0-9][0-9]" -D wire=1
    -D mesh.dp=64 -D mesh.tp=4 ${shared})
endforeach()
