#!/bin/sh
# gpu_bundle.sh BUILD SOURCE OUT: what `make test-gpu` and `make bench-gpu` run, as a
# folder for a machine that has a GPU and cannot build it: OUT/run.sh says how.
set -eu
build=$1 source=$2 out=$3
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib"
: >"$out/runs"
cp "$source/tests/tools/gpu_run.sh" "$out/run.sh"
cp "$source/tests/tools/sanitize.sh" "$source/bench/gpu_torch.py" \
    "$source/examples/gpt.cz" \
    "$source"/tests/gpu/primitives/bodies_*.cu "$out"

# PART SECONDS NAME PROGRAM ARGUMENTS...
add()
{
    program=$4
    line="$1 $2 $3"
    shift 4
    [ -e "$out/bin/$program" ] || cp "$(find "$build" "$build/tests" \
        "$build/bench" -maxdepth 1 -type f -name "$program")" "$out/bin"
    echo "$line bin/$program $*" >>"$out/runs"
}

# The same under a tool of compute-sanitizer.
watch()
{
    add "$@"
    sed -i '$d' "$out/runs" # under a tool alone
    part=$1 seconds=$2 name=$3 program=$4
    shift 4
    for tool in memcheck racecheck synccheck initcheck; do
        echo "$part $seconds $tool.$name sh sanitize.sh compute-sanitizer $tool" \
            "bin/$program $*" >>"$out/runs"
    done
}

add test 120 primitives cuda_gpu_primitives device --record "{out}" \
    bodies_sm80.cu bodies_sm90.cu "{nvrtc}"
for test in queue graph multiply multiply_tensor multiply_batch multiply_chosen \
    factorise factorise_library factorise_newton; do
    add test 120 "$test" "cuda_driver_${test}_test" gpu "{nvrtc}"
done
add test 120 collect cuda_collect_run gpu "{nvrtc}"
for plan in elements forms parts roots; do
    add test 120 "stages_$plan" "cuda_stages_$plan" gpu "{nvrtc}"
done
for plan in loopback turns; do
    add test 120 "loopback_$plan" "cuda_gpu_world_$plan" loopback "{nvrtc}"
done
for check in bits values; do
    add test 120 "run_$check" canzona run "--check=$check" "--target={target}" \
        --steps=4 -D mesh.dp=2 -D mesh.tp=2 gpt.cz
done
for plan in pair loopback turns; do
    add nccl 300 "nccl_$plan" "cuda_gpu_world_$plan" nccl "{nvrtc}"
done
add nccl 120 run_nccl canzona run --check "--target={target}" --world=nccl \
    --steps=4 -D mesh.dp=2 -D mesh.tp=2 gpt.cz
# What MPI is loaded by, in builds that have it.
[ ! -e "$build/libczr_mpi.so" ] || cp "$build/libczr_mpi.so" "$out/bin"
watch sanitizer 300 primitives cuda_gpu_primitives device --seeds 1 \
    bodies_sm80.cu bodies_sm90.cu "{nvrtc}"
watch sanitizer 300 tensor cuda_driver_multiply_tensor_test gpu "{nvrtc}"
watch sanitizer 300 collect cuda_collect_run gpu "{nvrtc}"
watch sanitizer 300 loopback cuda_gpu_world_pair loopback "{nvrtc}"
add bench 590 bench bench_gpu "{out}/tiles.txt" 21 "{python}" -B gpu_torch.py

for program in "$out"/bin/*; do
    ldd "$program" | sed -n 's/.* => \(\/[^ ]*lib\(cmocka\|nettle\|jansson\|fake_cuda\)[^ ]*\).*/\1/p'
done | sort -u | xargs -I{} cp -L {} "$out/lib"
strip "$out"/bin/* "$out"/lib/*
du -sh "$out"
