#!/bin/sh
# Plans whose matrices sub-groups of ranks share, as `canzona plan` makes them:
# kernels and their bound, steps, iterations, bytes, memory.  BUILD comes from the
# Makefile.
set -eu
/usr/bin/python3 -B "$(dirname "$0")/subgroup_plans.py" "$BUILD/canzona"
