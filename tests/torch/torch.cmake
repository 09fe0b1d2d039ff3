# The PyTorch package beside torch's own optimizers.  Each says skipped where no Python
# has torch: tests/torch/with_torch.py.
function(cz_torch_test name labels seconds script)
  cz_script(${name} "${labels}" ${seconds} torch/with_torch.py ${CMAKE_BINARY_DIR}/torch
    ${CMAKE_BINARY_DIR}/python ${CMAKE_CURRENT_SOURCE_DIR}/torch/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "CANZONA_CACHE=${CMAKE_BINARY_DIR}/tests/torch_cache")
endfunction()

# It opens the runtime itself, without what an instrumented one needs.
if(NOT INSTRUMENTED)
  cz_torch_test(torch_one torch 120 one.py)
  cz_torch_test(torch_refused torch 120 refused.py)
  cz_torch_test(torch_ranks torch 180 ranks.py --rules=muon fsdp_3 fsdp_tp_2x2
    moe_ep_fsdp_2x2)
  cz_torch_test(torch_hooks torch 120 hooks.py)
  cz_torch_test(torch_trainers torch 180 trainers.py)
  cz_torch_test(torch_adapters torch 240 adapters.py)
  cz_torch_test(torch_megatron torch 480 megatron_trains.py)
  cz_torch_test(torch_megatron_buffers torch 480 megatron_buffers.py)
  set(mpi "")
  if(TARGET czr_mpi_module)
    set(mpi --mpi=$<TARGET_FILE:czr_mpi_module>)
  endif()
  cz_torch_test(torch_worlds torch 180 worlds.py ${mpi} masters)
  cz_torch_test(torch_worlds_all "torch;nightly" 600 worlds.py ${mpi})
  cz_torch_test(torch_example "torch;nightly" 600 example.py ${examples}/torch/train.py)
  cz_torch_test(torch_wheel "torch;nightly" 300 wheel_installs.py
    ${CMAKE_SOURCE_DIR}/runtime/torch/wheel.py ${CMAKE_BINARY_DIR}/python/canzona
    ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/docs/NOTICE.md)
  cz_torch_test(torch_ranks_all "torch;nightly" 900 ranks.py)
  cz_script(torch_structures torch 60 torch/structures.py
    ${CMAKE_BINARY_DIR}/python/canzona ${CMAKE_SOURCE_DIR}/runtime)
  # 5 GB; the others find it.
  cz_script(torch_install "torch;nightly" 3600 torch/with_torch.py --install
    ${CMAKE_BINARY_DIR}/torch)
  set_tests_properties(torch_install PROPERTIES SKIP_RETURN_CODE 77)
  set_tests_properties(torch_ranks_all torch_worlds_all torch_adapters torch_megatron
    torch_megatron_buffers torch_example torch_wheel PROPERTIES DEPENDS torch_install)
endif()
