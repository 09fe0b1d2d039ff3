#!/usr/bin/python3
"""The example's trainer learns alike with ours and with torch's optimizers, in one
process and in two and four by torchrun; so say the curves that lie beside it.

    example.py TRAIN.PY"""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

STEPS = 20
NEAR = 2e-3  # Muon iterates in bf16
RUNS = [(1, "plain", "torch"), (1, "plain", "canzona"), (2, "ddp", "canzona"),
        (4, "fsdp_tp", "canzona")]


def losses(train, ranks, layout, optimizer):
    starter = [sys.executable, "-B"]
    if ranks > 1:
        starter += ["-m", "torch.distributed.run", "--standalone",
                    f"--nproc-per-node={ranks}"]
    done = subprocess.run(
        [*starter, train, f"--layout={layout}", f"--optimizer={optimizer}",
         f"--steps={STEPS}"], check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"})
    return [float(loss) for loss in re.findall(r"loss ([0-9.]+)", done.stdout)]


def main(train):
    first = losses(train, *RUNS[0])
    assert len(first) == 2 and first[1] < first[0] - 1.5, first
    n_wrong = 0
    for run in RUNS[1:]:
        own = losses(train, *run)
        far = max(abs(a - b) for a, b in zip(first, own, strict=True))
        print(run, f"losses within {far:.1e} of torch's", flush=True)
        n_wrong += far > NEAR
    picture = xml.etree.ElementTree.parse(pathlib.Path(train).with_name("curves.svg"))
    ends = [float(loss) for loss in re.findall(r": ([0-9.]+)", "".join(picture.getroot().itertext()))]
    assert len(ends) == 5 and max(ends) - min(ends) <= NEAR, ends
    return n_wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
