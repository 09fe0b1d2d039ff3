# Names and shapes against models as published (published.json), and programs as
# `canzona import` writes them, planned and executed.
cz_script(published tree 120 models/published.py $<TARGET_FILE:canzona>)
cz_script(published_sees tree 120 models/published.py --self-test)
cz_script(published_run tree 300 models/published.py $<TARGET_FILE:canzona> --plan)
