# Names, renamed and hostile, change nothing but where names stand.
cz_script(rename tree 300 golden/rename.py $<TARGET_FILE:canzona>)
