#!/bin/sh
# gpu_bundle.sh BUILD SOURCE OUT [doctor]: what `make first-gpu` runs, as a folder,
# also for a machine that has a GPU and cannot build it: OUT/run.sh says how.
# doctor: with no other program than that.
set -eu
build=$1 source=$2 out=$3 programs=${4:-all}
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib"
: >"$out/runs"
cp "$source/tests/tools/gpu_run.sh" "$out/run.sh"
cp "$source/tests/gpu/first/assumptions" "$source/tests/tools/sanitize.sh" \
    "$source/bench/gpu_torch.py" "$source/examples/gpt.cz" \
    "$source"/tests/gpu/primitives/bodies_*.cu "$out"

# PART SECONDS NAME PROGRAM ARGUMENTS...
add()
{
    line="$1 $2 $3 bin/$4"
    shift 4
    echo "$line $*" >>"$out/runs"
}

# The same under each tool of compute-sanitizer.
watch()
{
    part=$1 seconds=$2 name=$3 program=$4
    shift 4
    for tool in memcheck racecheck synccheck initcheck; do
        echo "$part $seconds ${tool}_$name sh sanitize.sh compute-sanitizer $tool" \
            "bin/$program $*" >>"$out/runs"
    done
}

# In order of dependence: who fails first may be why others fail.
add test 60 text cuda_driver_queue_test text "{nvrtc}"
add test 120 queue cuda_driver_queue_test gpu "{nvrtc}"
add test 120 graph cuda_driver_graph_test gpu "{nvrtc}"
add test 120 primitives cuda_gpu_primitives device --record "{out}" \
    bodies_sm80.cu bodies_sm90.cu "{nvrtc}"
add test 120 collect cuda_collect_run gpu "{nvrtc}"
for test in multiply multiply_tensor multiply_batch multiply_chosen \
    factorise_library factorise_newton; do
    add test 120 "$test" "cuda_driver_${test}_test" gpu "{nvrtc}"
done
for plan in elements forms parts roots halves; do
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
watch sanitizer 300 primitives cuda_gpu_primitives device --seeds 1 \
    bodies_sm80.cu bodies_sm90.cu "{nvrtc}"
watch sanitizer 300 tensor cuda_driver_multiply_tensor_test gpu "{nvrtc}"
watch sanitizer 300 collect cuda_collect_run gpu "{nvrtc}"
watch sanitizer 300 loopback cuda_gpu_world_pair loopback "{nvrtc}"
add bench 590 bench bench_gpu "{out}/tiles.txt" 21 "{python}" -B gpu_torch.py

[ "$programs" = doctor ] ||
    sed -n 's|.* bin/\([^ ]*\).*|\1|p' "$out/runs" | sort -u >"$out/programs"
echo cuda_doctor >>"$out/programs"
while read -r program; do
    cp "$(find "$build" "$build/tests" "$build/bench" -maxdepth 1 -type f \
        -name "$program")" "$out/bin"
done <"$out/programs"
rm "$out/programs"
# What MPI is loaded by, in builds that have it.
[ "$programs" = doctor ] || [ ! -e "$build/libczr_mpi.so" ] ||
    cp "$build/libczr_mpi.so" "$out/bin"
for program in "$out"/bin/*; do
    ldd "$program" | sed -n 's/.* => \(\/[^ ]*lib\(cmocka\|nettle\|jansson\|fake_cuda\)[^ ]*\).*/\1/p'
done | sort -u | xargs -I{} cp -L {} "$out/lib"
find "$out/bin" "$out/lib" -type f -exec strip {} +
du -sh "$out"
