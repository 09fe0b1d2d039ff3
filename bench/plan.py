"""What `plan --json --no-baselines`, verifier included, takes on 32 to 16,384
ranks: seconds of processor time of each part and of the whole command, peak
memory, size of JSON, and how these grow from row to row, as powers of the number
of ranks.  Markdown on standard output, for bench/plan.md.

    plan.py CANZONA
"""
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
RANKS = [32 << k for k in range(10)]
N_RUNS = 3  # the fastest counts
PARTS = ["front end", "owners", "schedule", "plan view", "verifier", "hash",
         "report"]


def dense(ranks):
    return f"mesh dp = {ranks // 8}, tp = 8"


def experts(tp, ep):
    """Experts are dealt out over ep ranks, or over all where there are fewer."""
    def mesh(ranks):
        dealt = min(ep, ranks)
        return (f"mesh dp = {ranks // tp}, tp = {tp}\n"
                f"mesh experts edp = {ranks // dealt}, ep = {dealt}, etp = 1")
    return mesh


MODELS = {"qwen3-32b": dense, "qwen3-235b-a22b": experts(4, 32),
          "deepseek-v3": experts(8, 64)}


def source(model, ranks):
    """The example on another mesh."""
    text = (EXAMPLES / f"{model}.cz").read_text()
    text = re.sub(r"^mesh experts .*\n", "", text, flags=re.M)
    text = re.sub(r"^mesh .*$", MODELS[model](ranks), text, flags=re.M)
    return text.replace("configs/", f"{EXAMPLES}/configs/")


def measure(canzona, path):
    """Seconds of each part and of all, peak bytes, bytes of JSON."""
    command = [canzona, "plan", "--json", "--no-baselines", "--time",
               f"--allow-path={EXAMPLES}", path]
    with tempfile.TemporaryFile() as said, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said) as process:
        size = len(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode()
    if process.returncode != 0:
        sys.exit(text)
    times = dict(re.findall(r"^(.*?) +([\d.]+) s$", text, flags=re.M))
    seconds = [*(float(times[part]) for part in PARTS),
               usage.ru_utime + usage.ru_stime]
    return seconds, usage.ru_maxrss << 10, size


def best(canzona, path):
    return min((measure(canzona, path) for _ in range(N_RUNS)),
               key=lambda run: run[0][-1])


def growth(now, before):
    if before is None:
        return ["", "", ""]
    pairs = ((now[0][-1], before[0][-1]), (now[1], before[1]),
             (now[2], before[2]))
    return [f"{math.log2(a / b):.2f}" for a, b in pairs]


def row(ranks, run, before):
    seconds, peak, size = run
    cells = [f"{ranks:,}", *(f"{s:.3f}" for s in seconds), f"{peak / 1e6:.0f}",
             f"{size / 1e6:.2f}", *growth(run, before)]
    return "| " + " | ".join(cells) + " |"


def main(canzona):
    head = ["ranks", *PARTS, "command", "MB", "JSON MB", "time grows", "memory",
            "JSON"]
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            print(f"\n## {model}\n\n| " + " | ".join(head) + " |\n|"
                  + "---:|" * len(head))
            before = None
            for ranks in RANKS:
                path = pathlib.Path(folder) / "plan.cz"
                path.write_text(source(model, ranks))
                run = best(canzona, path)
                print(row(ranks, run, before), flush=True)
                before = run


if __name__ == "__main__":
    main(sys.argv[1])
