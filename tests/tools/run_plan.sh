#!/bin/sh
# run_plan.sh CANZONA CC PROGRAM SOURCE_FOLDER PLAN [OPTION...]: builds PLAN.cz
# and has PROGRAM run it on the driver's double; with --target of a GPU in its
# batches, too.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
canzona=$1 compiler=$2 program=$3 source=$4 plan=$5
shift 5
"$canzona" build -o "$folder" "$@" "$source/$plan.cz" > /dev/null
name=$(basename "$folder"/*.h .h)
"$compiler" -std=c17 -O0 -w -shared -fPIC -I"$source/runtime" "$folder"/*.c \
  -o "$folder/plan.so" -lm
"$program" "$folder/plan.so" "${name}_program"
