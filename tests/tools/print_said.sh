#!/bin/sh
# print_said.sh CANZONA FILE [OPTION...]: what a build for GPUs says, to standard
# output.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
canzona=$1 file=$2
shift 2
"$canzona" build --target=cpu,sm_90a -o "$folder" "$@" "$file" 2>&1
