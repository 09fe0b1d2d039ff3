#!/bin/sh
# Speed of the parser on the library's text, 900 times over (2 MB): at least
# 20 MB/s.  BUILD comes from the Makefile.
set -eu
text=$(mktemp)
trap 'rm -f "$text"' EXIT
i=0
while [ $i -lt 900 ]; do
    cat dsl/std/opt/muon.cz dsl/std/arch/qwen3.cz
    i=$((i + 1))
done >"$text"
"$BUILD/tests/parse_speed" 20 "$text"
