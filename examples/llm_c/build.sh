#!/bin/sh
# llm.c's train_gpt2, with a plan's update in place of its own:
#
#     sh examples/llm_c/build.sh LLM_C PLAN.cz [OPTION OF canzona build...]
#     cd LLM_C && ./train_gpt2_canzona
#
# LLM_C is a clone of Karpathy's llm.c, with its starter pack.  A model of
# another size than GPT-2 124M: -D gpt2.width=1024 -D gpt2.layers=24.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
build=${BUILD:-$root/build/dev}
[ $# -ge 2 ] && [ -f "$1/train_gpt2.c" ] || {
    echo "usage: sh $0 LLM_C PLAN.cz [OPTION...], where LLM_C has train_gpt2.c" >&2
    exit 2
}
llm_c=$1 plan=$2
shift 2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$build/canzona" build -o "$out" "$@" "$plan"
name=$(basename "$plan" .cz)
cc=${CC:-cc}
# shellcheck disable=SC2046
$cc $("$build/canzona" build --print-cflags) -I"$root/runtime" -c "$out/$name.c" \
    -o "$out/plan.o"
$cc -O2 -w -DPROGRAM="${name}_program" -I"$root/runtime" -I"$llm_c" \
    -c "$here/update.c" -o "$out/update.o"
# Its gpt2_update alone is seen, and theirs gives way to it: position-independent code
# calls it by its name, and does not inline it.
$cc -O3 -ffast-math -march=native -fopenmp -DOMP -fPIC -w \
    -c "$llm_c/train_gpt2.c" -o "$out/trainer.o"
objcopy --keep-global-symbol=gpt2_update "$out/update.o"
objcopy --weaken-symbol=gpt2_update "$out/trainer.o"
$cc -fopenmp "$out/update.o" "$out/trainer.o" \
    "$out/plan.o" "$build/runtime/libczr.a" -ldl -lpthread -lm \
    -o "$llm_c/train_gpt2_canzona"
