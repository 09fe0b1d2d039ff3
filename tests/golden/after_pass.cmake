# The module behind each pass.
cz_script(after_pass golden 60 golden/after_pass.py $<TARGET_FILE:canzona>
  ${gpt})
