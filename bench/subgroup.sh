#!/bin/sh
# How close plans with sub-groups come to their bounds, model by model: with
# ways listed from kernel form, then with the study's closed form, where all
# gathers, n x n products and reductions are also doubled, then as `canzona plan`
# makes them.  BUILD comes from the Makefile.
set -eu
"$BUILD/tests/unit_passes_cost_reach_test" 400000
"$BUILD/tests/unit_passes_solve_subgroup_reach_test"
/usr/bin/python3 -B "$(dirname "$0")/subgroup_plans.py" "$BUILD/canzona"
