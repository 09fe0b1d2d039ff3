# Examples of the manual are compiled, and the library is parsed.
cz_script(language_examples golden 60 golden/language.py
  ${CMAKE_SOURCE_DIR}/dsl/LANGUAGE.md $<TARGET_FILE:canzona>)
