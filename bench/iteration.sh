#!/bin/sh
# Published configurations on three meshes each: the best baseline's iteration over
# ours, ours over its bound, what the optimizer exposes.  Writes the last table of
# bench/iteration.md.  BUILD and PYTHON come from the Makefile.
set -eu
here=$(dirname "$0")
{
    sed '/^## Configurations/,$d' "$here/iteration.md"
    "$PYTHON" -B "$here/iteration.py" "$BUILD/canzona"
} >"$BUILD/iteration.md"
cp "$BUILD/iteration.md" "$here/iteration.md"
