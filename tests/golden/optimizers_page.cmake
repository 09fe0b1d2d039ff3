# The page of optimizers is what the library's files say.
cz_script(optimizers_page golden 60 golden/optimizers_page.py)
