#!/bin/sh
# print_launches.sh CANZONA FILE [OPTION...]: NAME_cuda.c of a build, to standard
# output, without the text of NAME.cu.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
canzona=$1 file=$2
shift 2
"$canzona" build --target=cpu,sm_80 -o "$folder" "$@" "$file"
sed '/^static const char \*const text/,/NULL};$/d' "$folder"/*_cuda.c
