#!/bin/sh
# Muon against AdamW on the small GPT; writes the table beside this file.
# BUILD and PYTHON come from the Makefile.
set -eu
exec "$PYTHON" -B tests/run/train_gpt_sweep.py "$BUILD/train_gpt" \
    --output bench/train_gpt.md
