#!/bin/sh
# Products on a GPU of this machine beside cuBLAS: writes bench/gpu.md, and the
# times that override the model of tiles, bench/tiles.txt.  Takes minutes.  What
# waits for a GPU: bench/PENDING.md.  BUILD comes from the Makefile; NVRTC names
# a library to compile with, else the loader's.
set -eu
here=$(dirname "$0")
pinned=$BUILD/nvrtc/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
cmake --build "$BUILD" --target bench_gpu nvrtc_if_none >&2
if [ -z "${NVRTC:-}" ] && [ -e "$pinned" ]; then
    export NVRTC="$pinned"
fi
rows=$BUILD/bench/tiles.txt
if ! "$BUILD/bench/bench_gpu" "$rows" "${PAIRS:-21}" >"$BUILD/bench/gpu.md"; then
    cat "$BUILD/bench/gpu.md"
    echo "nothing was written; what is unmeasured: bench/PENDING.md" >&2
    exit 1
fi
{
    echo '# Products on a GPU, beside cuBLAS in the same run'
    echo
    echo "$(date -u +%F), $(nvidia-smi --format=csv,noheader \
        --query-gpu=driver_version,clocks.sm,power.draw | head -1)"
    echo
    cat "$BUILD/bench/gpu.md"
} >"$here/gpu.md"
{
    sed -n '/^#/p' "$here/tiles.txt" | sed '/PENDING/,/until there are rows/d'
    cat "$rows"
} >"$BUILD/bench/tiles.new"
cp "$BUILD/bench/tiles.new" "$here/tiles.txt"
cat "$here/gpu.md"
