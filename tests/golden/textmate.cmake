# The grammar for editors, and their other files, know the language.
cz_script(textmate tree 60 golden/textmate.py)
cz_script(editors tree 120 golden/editors.py)
