# The grammar for editors knows the language.
cz_script(textmate tree 60 golden/textmate.py)
