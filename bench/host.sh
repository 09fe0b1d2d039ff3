#!/bin/sh
# What a step costs on the host, in ratios within one run; writes the tables
# beside this file.  Where PyTorch can be imported, its Muon too.  BUILD and
# PYTHON come from the Makefile, REPEATS from whoever wants other than 3.
set -eu
here=$(dirname "$0")
cmake --build "$BUILD" --target bench_host >&2
{
    sed '/^## Muon/,$d' "$here/host.md"
    "$BUILD/bench/bench_host" "${REPEATS:-3}"
    echo
    "$PYTHON" -B "$here/host_torch.py"
} >"$BUILD/bench/host.md"
cp "$BUILD/bench/host.md" "$here/host.md"
cat "$here/host.md"
