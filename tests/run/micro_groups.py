"""Micro-groups are those of the fastest schedule: however a cap forces others,
simulated iterations are no shorter; messages that take longer make fewer groups,
and where nothing can overlap there is one.

Usage: micro_groups.py CANZONA
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PLANS = pathlib.Path(__file__).resolve().parents[1] / "fixtures/plans"
CAPS = ["", ", group 96KiB", ", group 48KiB", ", group 24KiB"]
RATES = ["50e6", "500e6", "500e9"]
LATENCIES = ["0", "2e-3", "1e-2"]
MESHES = [(1, 4), (2, 4), (3, 2)]
TOKENS = 64


def run(*command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE,
                                     check=True).stdout)


class Planner:
    def __init__(self, canzona, folder):
        self.canzona = canzona
        self.folder = pathlib.Path(folder)
        self.text = (PLANS / "groups.cz").read_text(encoding="utf-8")

    def source(self, cap, rate, latency):
        text = self.text.replace("tp owner", "tp owner" + cap)
        text = re.sub("node_rate = [^,]+", f"node_rate = {rate}", text)
        text = re.sub("node_latency = .*", f"node_latency = {latency}", text)
        path = self.folder / "groups.cz"
        path.write_text(text, encoding="utf-8")
        return path

    def plan(self, mesh, cap, rate, latency):
        """How many groups, and a simulated iteration."""
        path = self.source(cap, rate, latency)
        data = run(self.canzona, "plan", "--json", "--no-baselines", "-D",
                   f"mesh.dp={mesh[0]}", "-D", f"mesh.tp={mesh[1]}", path)
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps(data), encoding="utf-8")
        rows = run(self.canzona, "simulate", "--json", f"--tokens={TOKENS}",
                   plan)["rows"]
        return len(data["groups"]), rows[0]["iteration_ps"]


def check(holds, sentence):
    if not holds:
        print("FAILED " + sentence)
    return holds


def no_cap_is_faster(planner, mesh, rate, latency):
    plans = [planner.plan(mesh, cap, rate, latency) for cap in CAPS]
    ok, (n, best) = True, plans[0]
    for cap, (m, ps) in zip(CAPS[1:], plans[1:]):
        ok &= check(ps * 200 >= best * 199,
                    f"{mesh} at {rate} B/s and {latency} s: {n} groups take "
                    f"{best} ps, {m} with{cap[1:]} take {ps}")
    return ok, n


def main():
    ok, seen = True, set()
    with tempfile.TemporaryDirectory() as folder:
        planner = Planner(sys.argv[1], folder)
        for mesh in MESHES:
            for rate in RATES:
                counts = []
                for latency in LATENCIES:
                    holds, n = no_cap_is_faster(planner, mesh, rate, latency)
                    ok &= holds
                    counts.append(n)
                ok &= check(counts[-1] <= counts[0],
                            f"{mesh} at {rate} B/s: {counts} groups")
                seen.update(counts)
                print(f"{mesh} at {rate} B/s: {counts} groups")
    ok &= check(seen >= {1, 2, 3, 4}, f"only {sorted(seen)} groups are seen")
    return 0 if ok else 1


sys.exit(main())
