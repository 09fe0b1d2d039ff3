#!/usr/bin/python3
"""Prints the tables of bench/iteration.md: iterations of published configurations
on three meshes each.

    iteration.py CANZONA
"""
import json
import pathlib
import statistics
import subprocess
import sys

CONFIGS = pathlib.Path(__file__).resolve().parent.parent / "examples" / "configs"
SMALL = ("dp=8", "dp=16,tp=2", "dp=64")
MIDDLE = ("dp=32,tp=2", "dp=24,tp=4", "dp=64,tp=4")
LARGE = ("dp=32,tp=8", "dp=64,tp=4", "pp=4,dp=16,tp=4")
MESHES = {
    "gpt2": ("dp=8", "dp=32", "dp=64"), "qwen3-0.6b": SMALL, "qwen3-1.7b": SMALL,
    "qwen3-4b": SMALL,
    "qwen3-8b": MIDDLE, "llama-3-8b": MIDDLE, "qwen3-14b": MIDDLE,
    "qwen3-30b-a3b": MIDDLE, "qwen3-32b": LARGE, "llama-3-70b": LARGE,
    "llama-3-405b": ("dp=128,tp=8", "dp=256,tp=4", "pp=8,dp=32,tp=8"),
    "qwen3-235b-a22b": ("dp=64,tp=4", "dp=128,tp=4", "pp=4,dp=32,tp=4"),
    "qwen3-coder-480b-a35b": ("dp=64,tp=4", "dp=128,tp=4", "pp=2,dp=64,tp=4"),
    "deepseek-v3": ("dp=64,tp=8", "dp=128,tp=8", "pp=8,dp=16,tp=8"),
}
# Experts are dealt out over these ranks.
EXPERTS = {
    "qwen3-30b-a3b": {"dp=32,tp=2": "edp = 4, ep = 16", "dp=24,tp=4": "edp = 6, ep = 16",
                      "dp=64,tp=4": "edp = 16, ep = 16"},
    "qwen3-235b-a22b": {"dp=64,tp=4": "edp = 8, ep = 32",
                        "dp=128,tp=4": "edp = 16, ep = 32",
                        "pp=4,dp=32,tp=4": "edp = 4, ep = 32"},
    "qwen3-coder-480b-a35b": {"dp=64,tp=4": "edp = 8, ep = 32",
                              "dp=128,tp=4": "edp = 16, ep = 32",
                              "pp=2,dp=64,tp=4": "edp = 8, ep = 32"},
    "deepseek-v3": {"dp=64,tp=8": "edp = 8, ep = 64", "dp=128,tp=8": "edp = 16, ep = 64",
                    "pp=8,dp=16,tp=8": "edp = 2, ep = 64"},
}
TOKENS = {"1M": 1 << 20, "4M": 1 << 22}
WITHOUT_LINKS = ("published greedy", "equal slices")


def run(canzona, command, text, *options):
    done = subprocess.run([canzona, command, "--json", f"--allow-path={CONFIGS}",
                           *options, "-"], input=text, capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def source(canzona, config, mesh):
    text = subprocess.run([canzona, "import", f"--mesh={mesh}",
                           CONFIGS / f"{config}.json"], capture_output=True,
                          text=True, check=True).stdout
    dealt = EXPERTS.get(config, {}).get(mesh)
    if dealt:
        lines = [line for line in text.splitlines()
                 if not line.startswith("mesh experts")]
        at = next(i for i, line in enumerate(lines) if line.startswith("mesh "))
        lines.insert(at + 1, f"mesh experts {dealt}, etp = 1")
        text = "\n".join(lines) + "\n"
    return text


def simulated(canzona, text, *options):
    """Ours, the best baseline, and its name."""
    found = run(canzona, "simulate", text, *options)
    if not found:
        return None
    ours, *others = found["rows"]
    if any(row["name"].startswith("published greedy,") for row in others):
        others = [row for row in others if row["name"] not in WITHOUT_LINKS]
    return ours, min(others, key=lambda row: row["iteration_ps"]), found["ranks"]


def bound(ours, ranks):
    """The least that kernels or links of this plan take."""
    model = ours["forward_ps"] + ours["backward_ps"]
    kernels = model + ours["update_sum_ps"] // ranks
    return max(kernels, ours["reduce_ps"] + ours["gather_ps"])


def ratios(found):
    ours, best, ranks = found
    spent, model = ours["iteration_ps"], ours["forward_ps"] + ours["backward_ps"]
    return (f"{spent / 1e9:,.1f}", f"{best['iteration_ps'] / spent:.3f}",
            f"{spent / bound(ours, ranks):.3f}",
            f"{100 * (spent - model) / spent:.1f} %", best["name"])


def rows(canzona):
    for config, meshes in MESHES.items():
        for mesh in meshes:
            text = source(canzona, config, mesh)
            cells = [simulated(canzona, text, f"-Dtokens={n}") for n in TOKENS.values()]
            if all(cells):
                yield config, mesh, [ratios(cell) for cell in cells]
            else:
                print(f"{config} {mesh}: no plan", file=sys.stderr)


def main(canzona):
    print("## Configurations on three meshes each\n")
    print("`make bench-iteration`: as `import` writes them, experts dealt out over 16, 32 or "
          "64\nranks, 1M and 4M tokens, an H100. Best: the best baseline's iteration over "
          "ours. Bound:\nours over what its kernels, spread evenly over ranks, or its links "
          "take. Exposed: what of\nan iteration is not forward and backward.\n")
    print("| configuration | mesh | 1M: ms | best | bound | exposed | which | 4M: ms | best |"
          " bound | exposed | which |")
    print("|---|---|" + "---:|---:|---:|---:|---|" * 2)
    best = {n: [] for n in TOKENS}
    for config, mesh, found in rows(canzona):
        for n, cell in zip(TOKENS, found):
            best[n].append(float(cell[1]))
        print(f"| {config} | {mesh} | " + " | ".join(" | ".join(c) for c in found) + " |",
              flush=True)
    print("\n" + " ".join(f"At {n} tokens the least is {min(of):.3f}, the median "
                          f"{statistics.median(of):.3f}." for n, of in best.items()))


if __name__ == "__main__":
    main(sys.argv[1])
