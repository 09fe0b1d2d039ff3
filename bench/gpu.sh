#!/bin/sh
# On a GPU of this machine products beside cuBLAS, then steps and stages of plans
# beside PyTorch and a copy: prints what bench/gpu.md is written of, and writes the
# times that override the model of tiles, bench/tiles.txt.  At most ten minutes.
# What waits for a GPU: bench/PENDING.md.  BUILD and PYTHON come from the Makefile;
# NVRTC names a library to compile with, else the loader's; TORCH a Python that has
# PyTorch.
set -eu
here=$(dirname "$0")
pinned=$BUILD/nvrtc/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
cmake --build "$BUILD" --target bench_gpu nvrtc_if_none >&2
if [ -z "${NVRTC:-}" ] && [ -e "$pinned" ]; then
    export NVRTC="$pinned"
fi
rows=$BUILD/bench/tiles.txt
status=0
"$BUILD/bench/bench_gpu" "$rows" "${PAIRS:-21}" "${TORCH:-$PYTHON}" -B \
    "$here/gpu_torch.py" >"$BUILD/bench/gpu.md" || status=$?
# 3: a row of the table says what failed
if [ $status -ne 0 ] && [ $status -ne 3 ]; then
    cat "$BUILD/bench/gpu.md"
    echo "nothing was written; what is unmeasured: bench/PENDING.md" >&2
    exit 1
fi
{
    sed -n '/^# Measured on/d; /^#/p' "$here/tiles.txt"
    echo "# Measured on $(date -u +%F), ${PAIRS:-21} pairs:" \
        "$(nvidia-smi --format=csv,noheader --query-gpu=name,driver_version | head -1)"
    cat "$rows"
} >"$BUILD/bench/tiles.new"
cp "$BUILD/bench/tiles.new" "$here/tiles.txt"
cat "$BUILD/bench/gpu.md"
echo "bench/gpu.md is the page that people write of such a table" >&2
exit $status
