#!/bin/sh
# run.sh [PART [SECONDS [OUT]]]: the first hour on a machine that has a GPU and none
# of our tools.  The doctor says what the machine has; without what all need nothing
# else runs.  Then, within SECONDS, what the file `runs` beside it lists for PART:
# test, nccl, sanitizer or bench (570 s), or all of these in turn (3600 s); doctor:
# nothing.  OUT (out) gets logs and report.md, which says of each failure what
# assumption of the file `assumptions` it refutes.
#
# A line of `runs` is a part, a limit in seconds, a name and a command; {nvrtc}
# stands for the NVRTC that serves, {out} for OUT, {python} for $TORCH or python3,
# {target} for the first GPU's target.  Exit status 1: one failed, or did not end in
# time, or none passed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
part=${1:-all}
[ "$part" = all ] && seconds=${2:-3600} || seconds=${2:-570}
mkdir -p "${3:-out}"
out=$(cd "${3:-out}" && pwd)
begun=$(date +%s)
end=$((begun + seconds))
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
PATH=$PATH:/usr/local/cuda/bin # where compute-sanitizer is installed
n_runs=0 n_passed=0 n_failed=0
: >"$out/rows"
: >"$out/failures"
: >"$out/skipped"
trap 'rm "$out/rows" "$out/failures" "$out/skipped" "$out/table"' EXIT

# ---- the machine -------------------------------------------------------------

# Where libraries lie that the loader does not have, Python's packages too.
look()
{
    find /usr /opt "${HOME:-/root}/.local" ${VIRTUAL_ENV:+"$VIRTUAL_ENV"} \
        ${CONDA_PREFIX:+"$CONDA_PREFIX"} -name "$1" 2>/dev/null | sort -r
}

has()
{
    [ "$1" != cc ] || set -- "${CC:-cc}"
    command -v "$1" >/dev/null
}

find_libraries()
{
    for stem in cublas:1[23] cublasLt:1[23] cusolver:1[12] nccl:2; do
        name="lib${stem%:*}.so"
        if ! /sbin/ldconfig -p 2>/dev/null | grep -q "$name.${stem#*:} "; then
            there=$(look "$name.${stem#*:}" | sed 1q)
            [ -z "$there" ] ||
                LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$(dirname "$there")"
        fi
    done
}

ask_doctor()
{
    # Paths of libraries have no blanks.
    # shellcheck disable=SC2046,SC2086
    timeout -k 5 60 "$here/bin/cuda_doctor" ${NVRTC:-} libnvrtc.so.13 \
        libnvrtc.so.12 $(look 'libnvrtc.so.1[23]') >"$out/machine" 2>&1 </dev/null
    code=$?
    [ $code -le 1 ] || echo "the doctor ended with exit status $code" >>"$out/machine"
    for tool in cc mpirun compute-sanitizer; do
        has $tool && said=ok || said=none
        printf '%-8s%s\n' "$said" $tool >>"$out/machine"
    done
    said=$(timeout 60 "${TORCH:-python3}" -c 'import torch
print(torch.__version__, "with CUDA" if torch.cuda.is_available() else "without CUDA")' \
        2>/dev/null) || said="none: nothing is measured beside it; TORCH=PYTHON"
    echo "torch   $said" >>"$out/machine"
    cat "$out/machine"
    return $code
}

# ---- one test ----------------------------------------------------------------

# NAME LOG COLUMN: that column of the assumptions that NAME refutes by its log.
column()
{
    general=
    specific=
    while IFS=';' read -r test log needs assumption; do
        # shellcheck disable=SC2254
        case $1 in $test) ;; *) continue ;; esac
        [ "$3" = needs ] && found=$needs || found=$assumption
        if [ -z "$log" ]; then
            general="${general:+$general$newline}$found"
        elif [ -n "$2" ] && grep -qE "$log" "$2"; then
            specific="${specific:+$specific$newline}$found"
        fi
    done <"$out/table"
    echo "${specific:-$general}"
}
newline='
'
sed -e '/^#/d' -e 's/ *; */;/g' "$here/assumptions" >"$out/table"

# Leaves its outcome in `verdict`, and in `why` what a number cannot say.
run_one()
{
    limit=$1 name=$2
    shift 2
    why=
    left=$((end - $(date +%s)))
    for need in $(column "$name" "" needs); do
        has "$need" || why="$why no $need"
    done
    if [ -n "$why" ]; then
        verdict=skipped
        echo "skipped:$why" >"$out/$name.log"
        return
    fi
    if [ $left -lt 1 ]; then
        verdict=unrun why="no time was left"
        : >"$out/$name.log"
        return
    fi
    [ $left -ge "$limit" ] || limit=$left
    timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1 </dev/null
    code=$?
    # 137: killed, by us if it was late.
    [ $code != 137 ] || [ $(($(date +%s) - start)) -lt "$limit" ] || code=124
    case $code$name in
    0*) verdict=passed ;;
    77* | 5run_nccl) verdict=skipped ;; # 5: canzona says that there is no NCCL
    124*) verdict=late why="no end within $limit s" ;;
    *) verdict=FAILED why="exit status $code" ;;
    esac
}

# What had no time refutes nothing.
tell()
{
    n_runs=$((n_runs + 1))
    line=$(tail -n 1 "$out/$name.log")
    echo "$verdict $name $took s"
    echo "| $name | $verdict | $took | $(column "$name" "" assumption) |" >>"$out/rows"
    case $verdict in
    passed) n_passed=$((n_passed + 1)) ;;
    skipped) echo "- $name: ${line:-no reason}" >>"$out/skipped" ;;
    unrun)
        n_failed=$((n_failed + 1))
        printf '### %s: unrun, %s\n\n' "$name" "$why" >>"$out/failures"
        ;;
    *)
        n_failed=$((n_failed + 1))
        {
            printf '### %s: %s, %s, %s s\n\nRefutes:\n\n' "$name" "$verdict" \
                "$why" "$took"
            column "$name" "$out/$name.log" assumption | sed 's/^/- /'
            printf '\nThe end of %s.log:\n\n' "$name"
            tail -n 12 "$out/$name.log" | cut -c 1-200 | sed 's/^/    /'
            echo
        } >>"$out/failures"
        ;;
    esac
    [ "$verdict" = passed ] || tail -n 8 "$out/$name.log" | sed 's/^/    /'
}

run_part()
{
    while read -r of limit name command; do
        [ "$of" = "$1" ] || continue
        command=$(printf '%s' "$command" | sed -e "s|{nvrtc}|$nvrtc|" \
            -e "s|{out}|$out|g" -e "s|{python}|${TORCH:-python3}|" \
            -e "s|{target}|$target|")
        # A product that waits for 2 s traps and says where.
        [ "$1" = test ] && debug=1 || debug=0
        start=$(date +%s)
        # The command's words are ours: no quotes are in them.
        # shellcheck disable=SC2086
        run_one "$limit" "$name" env CZR_CUDA_DEBUG=$debug $command
        took=$(($(date +%s) - start))
        tell
    done <runs
}

# ---- the report --------------------------------------------------------------

section()
{
    printf '\n## %s\n\n' "$1"
    [ -s "$2" ] && sed "$3" "$2" || echo "Nothing."
}

report()
{
    echo "# First hour on a GPU: $1"
    printf '\n%s, %s s. Logs lie beside this page.\n' "$(date -u '+%F %H:%M UTC')" \
        $(($(date +%s) - begun))
    section "The machine" "$out/machine" 's/^/    /'
    [ $n_runs -gt 0 ] || return
    section "What failed" "$out/failures" \
        '1i In order of dependence: what fails first may be why others fail.\n'
    section "What was skipped" "$out/skipped" ''
    [ ! -s "$out/bench.log" ] || section "What was measured" "$out/bench.log" ''
    printf '\n## All\n\n| test | | s | what we assume |\n|---|---|---|---|\n'
    cat "$out/rows"
}

cd "$here" || exit 1
find_libraries
if ! ask_doctor; then
    report "nothing ran, for the machine lacks what all tests need" >"$out/report.md"
    echo "nothing ran: $out/report.md"
    exit 1
fi
nvrtc=$(sed -n 's/^use nvrtc=\(.*\) target=.*/\1/p' "$out/machine")
target=$(sed -n 's/^use nvrtc=.* target=//p' "$out/machine")
export NVRTC="$nvrtc"
# `canzona` asks the loader.
case $nvrtc in
/*) LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$(dirname "$nvrtc")" ;;
esac
case $part in
all) parts="test nccl sanitizer bench" ;;
doctor) parts= ;;
*) parts=$part ;;
esac
for each in $parts; do
    # The last sixth is for what is measured.
    case $part:$each in
    all:bench) end=$((begun + seconds)) ;;
    all:*) end=$((begun + seconds * 5 / 6)) ;;
    esac
    run_part "$each"
done
report "$n_failed of $n_runs failed, $((n_runs - n_passed - n_failed)) skipped" \
    >"$out/report.md"
echo "$n_failed of $n_runs failed: $out/report.md"
[ -z "$parts" ] || { [ $n_failed = 0 ] && [ $n_passed -gt 0 ]; }
