"""What travels of shared matrices: where a row of w ranks lies in one node, the k-th
of the g that share a matrix has its own shard in its part, so that of a matrix that
is cut the way its shards are 1 - g/w travels, there and back, and of others 1 - 1/w.

Usage: plan_strides.py CANZONA SOURCE WIDTH
"""
import subprocess
import sys

from plan_numbers import Plan, wire_bytes
from plan_schema import parse


def plan_of(canzona, source, width, group):
    return Plan(parse(subprocess.run(
        [canzona, "plan", "--json", "--no-baselines", "-D", "mesh.dp=1",
         "-D", f"mesh.tp={width}", "-D", "tp_strategy=gram",
         "-D", f"tp_subgroup={group}", source],
        check=True, stdout=subprocess.PIPE).stdout.decode()))


def sent_of(plan, matrix):
    """Bytes, and whether the matrix is cut the way its shards are."""
    param, width = plan.params[matrix["parameter"]], plan.shards(
        plan.params[matrix["parameter"]])
    dim = plan.data["stages"][plan.segments(matrix)[0]]["dim"]
    along = bool(param["shard"][dim])
    kept = matrix["group_size"] if along else 1
    each = wire_bytes(matrix["wire"]["gather"] + matrix["wire"]["scatter"])
    return param["element_count"] * (width - kept) // width * each, along


def check(canzona, source, width, group):
    plan, sum_bytes, seen, ok = plan_of(canzona, source, width, group), 0, set(), True
    for matrix in plan.data["matrices"]:
        wanted, along = sent_of(plan, matrix)
        seen.add(along)
        sum_bytes += wanted
        if matrix["cost"]["bytes"] != wanted:
            ok = False
            print(f"FAILED {group} of {width}: matrix {matrix['parameter']} costs "
                  f"{matrix['cost']['bytes']} bytes, not {wanted}")
    sent = sum(op["sent_bytes"] for op in plan.data["schedule"]
               if op["kind"] == "transfer")
    print(f"{group} of {width}: {sent} bytes travel")
    return ok and seen == {True, False} and sent == sum_bytes


def main():
    canzona, source, width = *sys.argv[1:3], int(sys.argv[3])
    groups = [g for g in range(2, width + 1) if width % g == 0]
    return 0 if all([check(canzona, source, width, g) for g in groups]) else 1


sys.exit(main())
