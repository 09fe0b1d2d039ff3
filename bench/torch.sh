#!/bin/sh
# A step of the PyTorch package beside torch.optim's; writes the table of torch.md.
# By $CANZONA_TORCH_PYTHON, else the environment that the test torch_install makes.
# BUILD comes from the Makefile, REPEATS from whoever wants other than 9 turns.
set -eu
here=$(dirname "$0")
cmake --build "$BUILD" --target czr_shared canzona >&2
export PYTHONPATH="$BUILD/python" CANZONA_CACHE="$BUILD/bench/torch_cache"
"${CANZONA_TORCH_PYTHON:-$BUILD/torch/bin/python}" -B "$here/torch_step.py" "${REPEATS:-9}" |
    tee "$BUILD/bench/torch.table"
{
    sed '/^| step/,$d' "$here/torch.md"
    cat "$BUILD/bench/torch.table"
} >"$BUILD/bench/torch.md"
cp "$BUILD/bench/torch.md" "$here/torch.md"
