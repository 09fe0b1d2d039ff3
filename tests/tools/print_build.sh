#!/bin/sh
# print_build.sh WHAT CANZONA FILE [OPTION...]: of a build for a GPU, to standard
# output,
#   cu        NAME.cu
#   launches  NAME_cuda.c without the text of NAME.cu
#   tables    its tilings and batches alone
#   said      what the build says
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
what=$1 canzona=$2 file=$3 target=sm_80
shift 3
[ "$what" = said ] && target=sm_90a
said=$("$canzona" build --target=cpu,$target -o "$folder" "$@" "$file" 2>&1)
case $what in
cu) cat "$folder"/*.cu ;;
launches) sed '/^static const char \*const text/,/NULL};$/d' "$folder"/*_cuda.c ;;
tables)
    sed -n '/^\/\* m, n, k/,/^static const czr_cuda_stage stages/p
        /^const czr_cuda_program/,$p' "$folder"/*_cuda.c ;;
said) echo "$said" ;;
esac
