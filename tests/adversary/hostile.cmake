# Input from an enemy: one error, soon, in little memory, nothing left behind.
cz_script(hostile hostile 300 adversary/hostile.py $<TARGET_FILE:canzona>)
