# Run at build time: NVRTC from its Python package, pinned by cmake/nvrtc.txt,
# to FOLDER.  PROBE INSTALLED, where given, says whether an installed one serves;
# then nothing is fetched.  Without Python's pip or a network it says so, and
# tests that need NVRTC say skipped.
set(library ${FOLDER}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12)
if(EXISTS ${library})
  return()
endif()
if(PROBE)
  # What NVRTC itself never frees is no leak of ours.
  set(ENV{ASAN_OPTIONS} detect_leaks=0)
  execute_process(COMMAND ${PROBE} --probe ${INSTALLED} RESULT_VARIABLE status
    OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    return()
  endif()
endif()

# To a folder of its own first: what is half there is not there.
set(part ${FOLDER}.part)
file(REMOVE_RECURSE ${part})
execute_process(COMMAND ${PYTHON} -m pip install --quiet --no-deps
    --only-binary :all: --require-hashes --disable-pip-version-check
    --retries 1 --timeout 20
    --target ${part} -r ${CMAKE_CURRENT_LIST_DIR}/nvrtc.txt
  RESULT_VARIABLE status ERROR_VARIABLE talk OUTPUT_QUIET TIMEOUT 300)
if(status EQUAL 0)
  file(REMOVE_RECURSE ${FOLDER})
  file(RENAME ${part} ${FOLDER})
  message(STATUS "NVRTC 12.9 is in ${FOLDER}")
else()
  file(REMOVE_RECURSE ${part})
  string(REGEX MATCH "[^\n]*(ERROR|No module)[^\n]*" line "${talk}")
  message(STATUS "NVRTC was not fetched, tests that need it will say skipped: "
    "${line}")
endif()
