#!/bin/sh
# Time, memory and size of plans from 32 to 16,384 ranks, and how they grow:
# bench/plan.md.  BUILD and PYTHON come from the Makefile.
set -eu
"$PYTHON" -B bench/plan.py "$BUILD/canzona"
