#!/bin/sh
# llm.c's train_gpt2, with a plan's update in place of its own:
#
#     sh examples/llm_c/build.sh LLM_C PLAN.cz [OPTION OF canzona build...]
#     cd LLM_C && ./train_gpt2_canzona
#
# LLM_C is a clone of github.com/karpathy/llm.c, with its starter pack.  A model of
# another size than GPT-2 124M: -D gpt2.width=1024 -D gpt2.layers=24.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
build=${BUILD:-$root/build/dev}
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
# Position-independent code calls gpt2_update by its name, and does not inline it.
trainer="-O3 -ffast-math -march=native -fopenmp -DOMP -fPIC -w -I$llm_c"
# shellcheck disable=SC2086
$cc $trainer -DPROGRAM="${name}_program" -I"$root/runtime" -c "$here/update.c" \
    -o "$out/update.o"
# shellcheck disable=SC2086
$cc $trainer -c "$llm_c/train_gpt2.c" -o "$out/trainer.o"
$cc -fopenmp -Wl,--allow-multiple-definition "$out/update.o" "$out/trainer.o" \
    "$out/plan.o" "$build/runtime/libczr.a" -ldl -lpthread -lm \
    -o "$llm_c/train_gpt2_canzona"
