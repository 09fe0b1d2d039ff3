# Input from an enemy: one error, soon, in little memory, nothing left behind.
foreach(commands one all)
  cz_script(hostile_${commands} hostile 300 adversary/hostile.py $<TARGET_FILE:canzona>
    ${commands})
endforeach()
