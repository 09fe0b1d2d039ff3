#!/bin/sh
# cc for `canzona run` in tests: a program is compiled once per content.
#
# CC_ONCE names the folder that keeps what was compiled, by the sum of all
# arguments and of all texts in the folder that -I names.  CC_LEVEL, -O1 say, comes
# behind the arguments: tests of what generated C means need no -O3, and what is
# compared with it, one rank or a reference, is compiled likewise.
set -eu
folder= output= after=
for word in "$@"; do
    [ "$after" != -I ] || folder=$word
    [ "$after" != -o ] || output=$word
    after=$word
done
[ -n "$folder" ] && [ -n "$output" ] && [ -n "${CC_ONCE:-}" ] ||
    exec cc "$@" ${CC_LEVEL:-}
sum=$({ printf '%s\n' "$@" "${CC_LEVEL:-}" | sed "s|$folder|FOLDER|g"
        cc -dumpfullversion
        cd "$folder" && cat -- *.c *.h; } | sha256sum | cut -d' ' -f1)
kept=$CC_ONCE/$sum.so
if [ ! -f "$kept" ]; then
    cc "$@" ${CC_LEVEL:-}
    mkdir -p "$CC_ONCE"
    cp "$output" "$kept.$$"
    mv "$kept.$$" "$kept"
    exit
fi
cp "$kept" "$output"
