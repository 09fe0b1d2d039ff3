#!/bin/sh
# Training iterations of Qwen3-32B on 256 GPUs, simulated: a table, and random
# draws of the constants.  BUILD comes from the Makefile.
set -eu
exec /usr/bin/python3 -B "$(dirname "$0")/simulate.py" "$BUILD/canzona"
