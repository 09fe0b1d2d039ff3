#!/bin/sh
# sanitize.sh SANITIZER TOOL PROGRAM [ARGUMENT...]: PROGRAM, and the processes that
# it starts, under a tool of compute-sanitizer.  What the tool finds is exit status
# 99, else the status is PROGRAM's, of which 77 is skipped, as it is without
# SANITIZER.
sanitizer=$1 tool=$2
shift 2
if ! command -v "$sanitizer" >/dev/null; then
    echo "skipped: no compute-sanitizer"
    exit 77
fi
"$sanitizer" --tool "$tool" --target-processes all --error-exitcode 99 "$@"
status=$?
echo "$tool: $status"
exit $status
