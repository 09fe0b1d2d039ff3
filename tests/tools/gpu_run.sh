#!/bin/sh
# run.sh PART [SECONDS [OUT]]: runs what the file `runs` beside it lists for PART on
# a machine that has a GPU and none of our tools, each under a limit of its own and
# all within SECONDS (570); logs in OUT (out).  A line of `runs` is a part, a limit,
# a name and a command; {nvrtc} stands for NVRTC's libraries, {out} for OUT, {python}
# for $TORCH or python3, {target} for the target of the first GPU.  Exit status 1:
# one failed, or did not end in time.
set -u
here=$(cd "$(dirname "$0")" && pwd)
part=$1 seconds=${2:-570}
mkdir -p "${3:-out}"
out=$(cd "${3:-out}" && pwd)
end=$(($(date +%s) + seconds))
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
status=0
PATH=$PATH:/usr/local/cuda/bin # where compute-sanitizer is installed
# A product that waits for 2 s traps and says where.
[ "$part" != test ] || export CZR_CUDA_DEBUG=1

# The loader's, then whatever there is, Python's packages too.
found=$(find /usr /opt -name 'libnvrtc.so.1[23]' 2>/dev/null | sort -r | tr '\n' ' ')
nvrtc="${NVRTC:-} libnvrtc.so.13 libnvrtc.so.12 $found"

# Libraries that the loader does not have lie among Python's packages, if anywhere.
for name in libcublas.so.13 libcusolver.so.12 libnccl.so.2; do
    if ! /sbin/ldconfig -p 2>/dev/null | grep -q "$name"; then
        there=$(find /usr /opt -name "$name" 2>/dev/null | sort | head -n 1)
        [ -z "$there" ] || LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$(dirname "$there")"
    fi
done

target=sm_80
! nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    sed 1q | grep -q '^9' || target=sm_90a

run_one()
{
    limit=$1 name=$2
    shift 2
    left=$((end - $(date +%s)))
    [ "$left" -lt "$limit" ] && limit=$left
    begin=$(date +%s)
    if [ "$limit" -lt 1 ]; then
        code=124
    else
        timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1 </dev/null
        code=$?
    fi
    case $code in
    0) said=passed ;;
    77) said=skipped ;;
    124 | 137) said=late status=1 ;;
    *) said=FAILED status=1 ;;
    esac
    echo "$said $name $(($(date +%s) - begin)) s"
    [ "$said" = passed ] || tail -n 8 "$out/$name.log" 2>/dev/null | sed 's/^/    /'
}

cd "$here" || exit 1
while read -r of limit name command; do
    [ "$of" = "$part" ] || continue
    command=$(printf '%s' "$command" | sed -e "s|{nvrtc}|$nvrtc|" \
        -e "s|{out}|$out|g" -e "s|{python}|${TORCH:-python3}|" \
        -e "s|{target}|$target|")
    # The command's words are ours: no quotes are in them.
    # shellcheck disable=SC2086
    run_one "$limit" "$name" $command
done <runs
exit $status
