# The language server: a recorded session, open files, its speed, its memory, broken messages.
cz_script(lsp_session golden 60 golden/lsp.py $<TARGET_FILE:canzona> session)
cz_script(lsp_buffers golden 60 golden/lsp.py $<TARGET_FILE:canzona> buffers)
cz_script(lsp_owners golden 60 golden/lsp.py $<TARGET_FILE:canzona> owners)
cz_script(lsp_neovim golden 120 golden/lsp_neovim.py $<TARGET_FILE:canzona>)
set_tests_properties(lsp_neovim PROPERTIES SKIP_RETURN_CODE 77)
cz_script(lsp_fuzz fuzz 300 golden/lsp.py $<TARGET_FILE:canzona> fuzz 200)
if(NOT INSTRUMENTED)
  cz_script(lsp_speed golden 60 golden/lsp.py $<TARGET_FILE:canzona> speed)
  cz_script(lsp_memory golden 120 golden/lsp.py $<TARGET_FILE:canzona> memory 1000)
  cz_script(lsp_memory_long "golden;nightly" 600 golden/lsp.py $<TARGET_FILE:canzona>
    memory 10000)
endif()
