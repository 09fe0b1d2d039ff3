# llm.c's trainer with our update.  Its source is the user's to fetch: CANZONA_LLM_C of
# the environment names the folder, and without it this says skipped.
if(NOT INSTRUMENTED)
  cz_script(run_llm_c run 300 run/llm_c.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(run_llm_c PROPERTIES SKIP_RETURN_CODE 77)
endif()
