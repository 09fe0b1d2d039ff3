# cmake -DCANZONA=FILE -DFOLDER=DIR -P man_pages.cmake: a page of man of all commands,
# and one of each that `canzona help` lists, alone in the folder.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

function(write_page name)
  execute_process(COMMAND ${CANZONA} help --as=man ${ARGN}
    OUTPUT_FILE ${FOLDER}/${name}.1 COMMAND_ERROR_IS_FATAL ANY)
endfunction()

write_page(canzona)
execute_process(COMMAND ${CANZONA} help OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z]+  " commands "${list}")
foreach(command ${commands})
  string(STRIP ${command} command)
  write_page(canzona-${command} ${command})
endforeach()
