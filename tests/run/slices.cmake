# Slices of buckets, and who orders what lies in them: each geometry, and the
# trainer's order, executed with the bits of one rank, every
# figure of its plan computed again, and the verifier's word on it.
foreach(case gpt_4x2_padded gpt_2x4_padded gpt_3x2_padded fused_4x2_padded
    batch_4x2_padded moe_4x2_padded gpt_4x2_equal
    gpt_2x4_equal gpt_3x2_equal fused_4x2_equal moe_4x2_equal batch_4x2_equal
    gpt_4x2_trainer gpt_2x4_trainer fused_4x2_trainer moe_4x2_trainer
    gpt_3x2_lent fused_4x2_lent fused_2x4_lent batch_4x2_lent moe_4x2_lent)
  string(REGEX MATCH "^([a-z]+)_([0-9x]+)_([a-z]+)$" _ ${case})
  set(file ${plans}/${CMAKE_MATCH_1}.cz)
  if("${CMAKE_MATCH_1}" STREQUAL "gpt")
    set(file ${gpt})
  endif()
  set(what geometry=${CMAKE_MATCH_3})
  if("${CMAKE_MATCH_3}" STREQUAL "trainer")
    set(what layout=trainer)
  elseif("${CMAKE_MATCH_3}" STREQUAL "lent") # as Megatron-core's DDP has them
    set(what geometry=padded -D layout=trainer)
  endif()
  cz_mesh(defines "dp;tp" ${CMAKE_MATCH_2})
  list(APPEND defines -D ${what} ${file})
  cz_run(slices_${case} --steps=2 ${defines})
  cz_plan_json(slices_${case} ${defines})
endforeach()
# With grads over more axes than states are split over, as late as waits allow, and
# on the stages of a pipeline, FSDP inside.
foreach(case "grads;dp;cp;tp;3x2x2" "pipeline_moe;pp;dp;tp;2x2x2" "fsdp;dp;fsdp;tp;2x2x2")
  list(POP_FRONT case stem)
  list(POP_BACK case mesh)
  cz_mesh(defines "${case}" ${mesh})
  list(APPEND defines -D geometry=equal ${plans}/${stem}.cz)
  cz_run(slices_equal_${stem} --late --steps=2 ${defines})
  cz_plan_json(slices_equal_${stem} ${defines})
endforeach()
# Vectors travel with matrices; what is large enough to be cut travels alone.
cz_plan_says(plan_mixed_buckets
  "0 \\(rest\\)[^(]*1 to 9 \\(matrices, vectors\\)[^(]*10 to 11 \\(vectors, matrices\\)[^(]*12 \\(rest\\)"
  --explain=all -D machine=notes ${examples}/qwen3-32b.cz)
cz_plan_says(plan_padded_slices
  "padded to the longest slice;[^,]*, the longest 1.000 times"
  --explain=all -D mesh.dp=3 -D geometry=padded ${plans}/fused.cz)

# Where the order is the trainer's, descent of one bucket at a time does.
cz_plan_says(plan_trainer_qwen3-4b "time  [^\n]*max/mean 1.1[0-3][0-9]"
  ${plans}/qwen3-4b.cz)
foreach(stem qwen3-4b few)
  cz_plan_json(trainer_${stem} -D layout=trainer ${plans}/${stem}.cz)
endforeach()

# Buffers of Megatron-core's DDP: no more padding than its own layer-wise layout has.
cz_plan_json(lent_qwen3-32b -D layout=trainer -D geometry=padded -D bucket=40M
  ${examples}/qwen3-32b.cz)
cz_plan_says(plan_lent_padding "buckets +10: 8 with owners[^\n]*at most 524.3 M"
  -D layout=trainer -D geometry=padded -D bucket=40M ${examples}/qwen3-32b.cz)
