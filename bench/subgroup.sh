#!/bin/sh
# How close plans with sub-groups come to their bounds, model by model: with
# ways listed from kernel form, then with the study's closed form, where all
# gathers, n x n products and reductions are also doubled, then as `canzona plan`
# makes them, and what no plan could be below, were there batches.  BUILD comes
# from the Makefile.
set -eu
"$BUILD/tests/unit_passes_cost_reach_test" 400000
"$BUILD/tests/unit_passes_solve_subgroup_reach_test"
bench=$(dirname "$0")
/usr/bin/python3 -B "$bench/subgroup_plans.py" "$BUILD/canzona"
/usr/bin/python3 -B "$bench/subgroup_batches.py" "$BUILD/canzona"
