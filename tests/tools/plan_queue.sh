#!/bin/sh
# plan_queue.sh CANZONA CC PLAN_QUEUE SOURCE_FOLDER PLAN: builds PLAN.cz and runs
# its operations on the driver's double.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" build -o "$folder" "$4/$5.cz" > /dev/null
name=$(basename "$folder"/*.c .c)
"$2" -std=c17 -O0 -w -shared -fPIC -I"$4/runtime" "$folder/$name.c" \
  -o "$folder/plan.so" -lm
"$3" "$folder/plan.so" "${name}_program"
