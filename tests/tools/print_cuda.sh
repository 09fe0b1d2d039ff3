#!/bin/sh
# print_cuda.sh CANZONA FILE [OPTION...]: NAME.cu of a build, to standard output.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
canzona=$1 file=$2
shift 2
"$canzona" build --target=cpu,sm_80 -o "$folder" "$@" "$file"
cat "$folder"/*.cu
