#!/bin/sh
# How close plans with sub-groups come to their bounds, model by model.  BUILD
# comes from the Makefile.
set -eu
"$BUILD/tests/unit_passes_solve_subgroup_reach_test"
