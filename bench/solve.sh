#!/bin/sh
# Owners and layout: what plans reach on the models of the study, and how long
# the 36,472 matrices of Qwen3-235B-A22B and all else that it has take as one
# problem: below 100 ms on 1024 ranks, 300 ms on 4096.  BUILD comes from the
# Makefile.
set -eu
echo '| case | load | pad | state | wire over the published plan |'
echo '|---|---|---|---|---|'
rows=$("$BUILD/tests/unit_passes_solve" solve_test 2>/dev/null
       "$BUILD/tests/unit_passes_solve_search" joint_test 2>/dev/null)
echo "$rows" | grep '^|'
echo
"$BUILD/tests/solve_speed" 32 100 128 100 1024 100 4096 300 16384 3000
