#!/bin/sh
# What a step costs on the host, in ratios within one run; writes the tables
# beside this file.  Beside PyTorch too, where the witness's environment has it
# (tests/witness/witness.py), or PYTHON.  BUILD and PYTHON come from the Makefile,
# REPEATS from whoever wants other than 3.
set -eu
here=$(dirname "$0")
cmake --build "$BUILD" --target bench_host >&2
torch=$BUILD/witness/bin/python
[ -x "$torch" ] || torch=$PYTHON
{
    sed '/^## Muon/,$d' "$here/host.md"
    "$BUILD/bench/bench_host" "${REPEATS:-3}"
    echo
    "$torch" -B "$here/host_torch.py" "$BUILD/canzona" "$BUILD/runtime/libczr.a"
} >"$BUILD/bench/host.md"
cp "$BUILD/bench/host.md" "$here/host.md"
cat "$here/host.md"
