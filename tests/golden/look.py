#!/usr/bin/python3
"""What `plan --html` and `--trace` show, against the JSON of the same plan and
a second evaluator (simulate_model.py).

    look.py CANZONA [OPTION...] FILE.cz [OPTION...]
    look.py --self-test CANZONA FILE.cz [OPTION...]
    look.py --names CANZONA FILE.cz: IR whose names and sources are markup
    look.py --texts CANZONA FILE.cz: sources that are markup, import, or are long
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from look_page import Page, complaints
from plan_numbers import Plan
from simulate_model import Simulation

MAX_BYTES = 1_000_000
MAX_BARS = 128
MAX_TRACED = 256
MAX_OWNERS = 2400
MAX_LINES = 2000
TOLERANCE = 0.001
UNITS = ("ns", "us", "ms", "s")


def rounded(value, step):
    return value // step + (value % step >= (step + 1) // 2)


def shown_time(ps):
    """Three digits or four."""
    if ps < 1000:
        return f"{ps} ps"
    for power, unit in enumerate(UNITS, 1):
        scale = 1000 ** power
        if power == len(UNITS) or rounded(ps, scale // 10) < 10000:
            break
    places = 1 if rounded(ps, scale // 100) >= 10000 else 2
    shown = rounded(ps, scale // 10 ** places)
    return f"{shown // 10 ** places}.{shown % 10 ** places:0{places}} {unit}"


def ratio(value, by):
    thousandths = (value * 1000 + by // 2) // by if by else 0
    return f"{thousandths // 1000}.{thousandths % 1000:03}" if by else "-"


def shown_bytes(value):
    """Likewise."""
    if value < 1000:
        return f"{value} B"
    for power, unit in enumerate("kMGTPE", 1):
        scale = 1000 ** power
        if rounded(value, scale // 10) < 10000:
            break
    places = 1 if rounded(value, scale // 100) >= 10000 else 2
    shown = rounded(value, scale // 10 ** places)
    return f"{shown // 10 ** places}.{shown % 10 ** places:0{places}} {unit}B"


# ---- the page ----

def page_complaints(text, plan, source=None):
    """`source` is the file that was planned; None where that was IR."""
    yield from complaints(text)
    if len(text.encode()) > MAX_BYTES:
        yield f"{len(text.encode())} bytes"
    page, metrics = Page(text), plan["metrics"]
    if page.texts(".//h1") != [plan["header"]["name"]]:
        yield "the name"
    for key in ("plan_hash", "source_hash"):
        if plan["header"][key] not in page.texts(".//code"):
            yield key
    for label in page.cut_off():
        yield f"'{label}' reaches beyond its picture"
    yield from summary_complaints(page, plan)
    yield from bar_complaints(page, metrics)
    yield from table_complaints(page, plan)
    yield from wire_complaints(page, plan)
    yield from owner_complaints(page, plan)
    yield from source_complaints(page, plan, source)
    for text in page.texts(".//td") + page.texts(".//p") + page.texts(".//b"):
        if re.search(r"(?<![\d.,x^-])0 (ps|B|of|matrices|times)\b", text):
            yield f"the page says '{text}'"


def summary_complaints(page, plan):
    metrics, cards = plan["metrics"], page.texts(".//b")
    times = metrics["time_ps"]
    most, bound = max(times), max(b["value"] for b in metrics["bounds"]
                                  if b["of"] == "kernels")
    load = ratio(most * len(times), sum(times))
    for text in (f"{shown_time(most)} assumed", ratio(most, bound),
                 *([load] if load != "1.000" else [])):
        if text not in cards:
            yield f"no card says {text}: {cards}"
    if "load, max over mean" in page.texts(".//span") and load == "1.000":
        yield "a card says that ranks are alike"
    if "an iteration of 1,048,576 tokens" not in page.texts(".//span"):
        yield "no card says what an iteration takes"
    rows = page.rows("bound")
    bounds = [b for b in metrics["bounds"] if b["value"]]
    for row, said in zip(rows, bounds, strict=True):
        if row[1] != f"{shown_time(said['value'])} assumed":
            yield f"bound {said} is shown as {row}"
        gap = (ratio(said["plan"], said["value"])
               if said["plan"] is not None else "-")
        if row[2] != gap:
            yield f"gap of {said} is shown as {row}"
        if said["witness"] is not None and (
                plan["parameters"][said["witness"]]["name"] not in row[4]):
            yield f"witness of {said} is shown as {row}"
    if [("binding" in row[0]) for row in rows].count(True) != 1:
        yield "not one bound is binding"


def bar_complaints(page, metrics):
    n = len(metrics["time_ps"])
    together = -(-n // MAX_BARS)
    for title, values in (("Time of the optimizer's kernels", metrics["time_ps"]),
                          ("Optimizer state", metrics["memory_bytes"]["state"])):
        if ratio(max(values) * n, sum(values)) == "1.000":
            said = [text for text in page.texts(".//h3") if text.startswith(title)]
            if len(said) != 1 or not said[0].endswith(" on each rank"):
                yield f"{title}: ranks are alike, and {said} is said"
            continue
        bars = page.bars(title)
        if len(bars) != -(-n // together):
            yield f"{title}: {len(bars)} bars of {n} ranks"
        values = sorted(values, reverse=True)[::together]
        heights = [float(bar.get("height")) for bar in bars]
        scale = heights[0] / values[0] if heights and values[0] else 0
        if any(abs(h - v * scale) > 0.02 for h, v in zip(heights, values)):
            yield f"{title}: heights are not in proportion"


def table_complaints(page, plan):
    classes = {}
    for matrix in plan["matrices"]:
        key = f"{matrix['rows']} x {matrix['cols']}"
        classes[key] = classes.get(key, 0) + matrix["batch"]
    shown = {}
    for row in page.rows("shape") if classes else []:
        shown[row[0]] = shown.get(row[0], 0) + int(row[1].replace(",", ""))
    if shown != classes:
        yield f"matrices {shown}, not {classes}"
    memory = [kind for kind, of in plan["metrics"]["memory_bytes"].items() if any(of)]
    if [row[0] for row in page.rows("memory of a rank")] != memory:
        yield f"memory is not of {memory}"
    constants = [(c["name"], f"{c['value']:,}", c["unit"],
                  "measured" if c["measured"] else "assumed", c["source"])
                 for c in plan["constants"]]
    if [tuple(row) for row in page.rows("constant")] != constants:
        yield "constants"
    if [row[0] for row in page.rows("plan")][1:] != list(dict.fromkeys(
            b["name"] for b in plan["baselines"])):
        yield "baselines"


def wire_complaints(page, plan):
    sent, n = {}, plan["mesh"]["ranks"]
    for op in plan["schedule"]:
        sent[op["kind"]] = sent.get(op["kind"], 0) + op["sent_bytes"]
    sent.update(plan["metrics"]["trainer_bytes"])
    shown = {}
    for kind, _, _, mean, everyone in page.rows("operation"):
        shown.setdefault(kind, []).append((mean, everyone))
    for kind in set(shown) - {kind for kind, found in sent.items() if found}:
        yield f"{kind} is shown, and sends nothing"
    for kind, found in sent.items():
        if len(shown.get(kind, [])) > 1:  # over several axes
            continue
        expected = [(shown_bytes(found // n), shown_bytes(found))] if found else []
        if expected and shown.get(kind) != expected:
            yield f"bytes of {kind}: {shown.get(kind)}, not {expected}"


def shown_ranks(plan, matrix):
    """"rank 5 (dp 2, tp 1)"; "ranks 1, 4 to 7"; and those behind six runs counted."""
    ranks = plan.owners(matrix)
    if len(ranks) == 1:
        place = plan.coordinates(ranks[0])
        at = ", ".join(f"{a} {place[a]}" for a in plan.axes)
        return f"rank {ranks[0]}" + f" ({at})" * bool(at)
    runs = []
    for rank in ranks:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    left = sum(len(run) for run in runs[6:])
    text = "ranks " + ", ".join(str(run[0]) + f" to {run[-1]}" * (len(run) > 1)
                                for run in runs[:6]) + f" and {left} more" * bool(left)
    size = matrix["group_size"]
    return text + f", {size} together" * (1 < size < len(ranks))


def owner_complaints(page, plan):
    numbers, matrices = Plan(plan), plan["matrices"][:MAX_OWNERS]
    expected = []
    for matrix in matrices:
        param = numbers.params[matrix["parameter"]]
        more = f" and {len(param['names']) - 1} more" * (len(param["names"]) > 1)
        expected.append([param["name"] + more, shown_ranks(numbers, matrix),
                         param["group"]])
    shown = page.rows("matrix") if expected else []
    for row, said in zip(shown, expected):
        if row != said:
            yield f"owner {row}, not {said}"
            break
    if len(shown) != len(expected):
        yield f"{len(shown)} owners, not {len(expected)}"


def source_complaints(page, plan, source):
    """The text is the file's, and each matrix leads to the `use` of its group."""
    links = page.links("matrix") if plan["matrices"] else []
    if source is None:
        if any(links) or "Source" in page.texts(".//h2"):
            yield "a source of what was IR"
        return
    shown = page.lines(source.name)
    text = source.read_text(encoding="utf-8").splitlines()
    if [line for line, _ in shown] != text[:len(shown)] or not shown:
        yield "the source is another"
    line_of = {place: line for line, place in shown}
    groups = [row[2] for row in page.rows("matrix")] if links else []
    for group, link in zip(groups, links, strict=True):
        # Words that a use of this group has on its first line.
        use = line_of.get(link, "").strip()
        of_index = re.sub(r"_[0-9]+$", "", group)
        if not use.startswith("use ") or not re.search(
                rf"\b({re.escape(group)}|{re.escape(of_index)})\b",
                use + " ".join(text[int(link[1:]):int(link[1:]) + 3])):
            yield f"group {group} leads to '{use}'"
            break


# ---- the trace ----

def expected_events(plan):
    """{(op, rank): (start, end)} of a step by itself."""
    constants = {c["name"]: c["value"] for c in plan["constants"]}
    model, sent = Simulation(plan, constants, 1, 0.5, 1, None, 1, 0, True), set()
    for op in plan["schedule"]:
        model.add(op["section"], 0, op["stream"], model.op_ps(op, sent),
                  op["waits"], op["axes"], (op["group"], op["stride"]))
    ends = model.run()
    return {(i, r): (end - op.ps[r], end)
            for i, (op, found) in enumerate(zip(model.ops, ends))
            for r, end in found.items()}


def trace_complaints(text, plan):
    trace = json.loads(text)
    n = plan["mesh"]["ranks"]
    shown = min(n, MAX_TRACED)
    if trace["otherData"]["ranks_shown"] != shown or trace["otherData"]["ranks"] != n:
        yield f"ranks: {trace['otherData']}"
    lanes = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            lanes.setdefault((event["pid"], event["tid"]), []).append(event)
    for lane, events in lanes.items():
        for a, b in zip(events, events[1:]):
            if a["ts"] + a["dur"] > b["ts"] + 1e-6:
                yield f"{lane}: {a} and {b} overlap"
    if set(pid for pid, _ in lanes) != set(range(shown)):
        yield "a rank has no events"
    yield from evaluator_complaints(lanes, plan, shown)
    yield from work_complaints(lanes, plan, shown)


def stage_symbol(name):
    return "stage_" + re.sub(r"[^A-Za-z0-9]", "_", name)


def work_complaints(lanes, plan, shown):
    """What events say that their operations move and compute is, added up, what
    the plan says of each rank; kernels have the names of generated C."""
    metrics = plan["metrics"]
    flops = [0] * shown
    moved = {}
    for (rank, _), events in lanes.items():
        for event in events:
            args = event["args"]
            op = plan["schedule"][args["op"]]
            if op["kind"] == "kernel":
                flops[rank] += args["flops"]
                first = stage_symbol(plan["stages"][op["work"][0]["stage"]]["name"])
                if not re.match(rf"kernel {first}( and \d+ more)?(, bucket \d+)?$",
                                event["name"]):
                    yield f"{event['name']} is no kernel of {first}"
                if ("matrices" in args) != (op["bucket"] is None):
                    yield f"{event} has matrices"
            if "bytes" in args:
                key = op["kind"], rank
                moved[key] = moved.get(key, 0) + args["bytes"]
    if flops != metrics["flops"][:shown]:
        yield f"flops of events: {flops[:4]}, of the plan {metrics['flops'][:4]}"
    for (kind, rank), found in moved.items():
        said = metrics["sent_bytes"][kind][rank] + metrics["received_bytes"][kind][rank]
        if found != said:
            yield f"{kind} of rank {rank}: {found} bytes, not {said}"
    kinds = {kind for kind, _ in moved}
    if any(op["kind"] == "reduce_scatter" for op in plan["schedule"]) and \
            not kinds & {"reduce_scatter"} and \
            all(b["geometry"] != "equal" for b in plan["buckets"]):
        yield "reduce_scatter says no bytes"


def evaluator_complaints(lanes, plan, shown):
    expected = {}
    for (op, rank), times in expected_events(plan).items():
        if rank < shown:
            lane = rank, plan["schedule"][op]["stream"]
            expected.setdefault(lane, []).append((op, times))
    for lane, events in expected.items():
        found = lanes.get(lane, [])
        if len(found) != len(events):
            yield f"{lane}: {len(found)} events, not {len(events)}"
        for event, (op, (start, end)) in zip(found, events):
            kind = plan["schedule"][op]["kind"]
            last = event["ts"] + event["dur"]
            if not event["name"].startswith(kind):
                yield f"{lane}: {event['name']} in place of {kind}"
            if (abs(event["ts"] * 1e6 - start) > TOLERANCE * start + 2000 or
                    abs(last * 1e6 - end) > TOLERANCE * end + 2000):
                yield f"{lane}: {event} is not from {start} to {end}"


# ---- both ----

def look(canzona, words):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("page", "trace")]
        done = subprocess.run(
            [canzona, "plan", "--json", f"--html={names[0]}",
             f"--trace={names[1]}", *words], capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.decode())
        texts = []
        for name in names:
            with open(name, encoding="utf-8") as file:
                texts.append(file.read())
        return json.loads(done.stdout), *texts


def self_test(plan, page, trace, source):
    """Damages that must be seen."""
    most = shown_time(max(plan["metrics"]["time_ps"]))
    event = json.loads(trace)["traceEvents"][-1]
    wrong = [
        (page.replace("</h2>", "", 1), trace),
        (page.replace("<main>", "<main><script>1</script>"), trace),
        (page.replace("<h2>", '<h2 style="background: url(x)">', 1), trace),
        (page.replace(most, "1.00 s"), trace),
        (page.replace('class="compute" ', 'class="lane" ', 1000), trace),
        (page, trace.replace(f'"dur":{event["dur"]:.6f}', '"dur":1.000000')),
        (page, trace.replace('"name":"kernel', '"name":"colonel', 1)),
        (re.sub(r"<td>rank \d+ ", "<td>rank 99 ", page, count=1), trace),
        (page.replace('href="#L', 'href="#M', 1), trace),
        (re.sub(r'href="#L\d+', 'href="#L1', page, count=1), trace),
        (page.replace('id="L2"', 'id="L1"', 1), trace),
        (page.replace("use muon(", "use moun("), trace),
    ]
    for i, (damaged_page, damaged_trace) in enumerate(wrong):
        try:
            found = list(page_complaints(damaged_page, plan, source))
        except SyntaxError as error:
            found = [str(error)]
        if not found + list(trace_complaints(damaged_trace, plan)):
            yield f"damage {i} is not seen"


def with_markup(canzona, words, folder):
    """IR of a plan, with names that no source can spell."""
    done = subprocess.run([canzona, "plan", "--ir", *words], check=True,
                          capture_output=True, text=True)
    text = done.stdout.replace("std/machine/h100.cz", "<i>\\22&'\\01</i><!--")
    text = text.replace('name = "h', "name = \"<script>'&h")
    if text.count("<script>") == 0 or text.count("<!--") == 0:
        sys.exit("there is nothing to rename")
    path = os.path.join(folder, "gpt.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def look_at_markup(canzona, words):
    with tempfile.TemporaryDirectory() as folder:
        plan, page, trace = look(canzona, [with_markup(canzona, words, folder)])
    for constant in plan["constants"]:
        constant["source"] = constant["source"].replace("\1", "?")
    return plan, page, trace


def texts_complaints(canzona, file):
    """Of a source with markup, tabs and a file that it imports; and of one whose
    uses are behind the lines that a page has."""
    text = pathlib.Path(file).read_text(encoding="utf-8")
    markup = "# </li></ol><script>alert('\u00e4 & \"1\"')</script>\t<!--\n"
    with tempfile.TemporaryDirectory() as folder:
        main, other = pathlib.Path(folder, "gpt.cz"), pathlib.Path(folder, "my.cz")
        other.write_text(f"{markup}let unused = 1\n", encoding="utf-8")
        main.write_text(f'{markup}import "my.cz"\n{text}{markup}', encoding="utf-8")
        plan, page, _ = look(canzona, [str(main), "-D", "mesh.dp=1"])
        yield from page_complaints(page, plan, main)
        lines = [line for line, _ in Page(page).lines("my.cz")]
        if lines != [markup[:-1], "let unused = 1"]:
            yield f"what is imported is shown as {lines}"
        if "With -D mesh.dp=1" not in Page(page).texts(".//p"):
            yield "-D is not shown"
        for head, n in ((f"{markup}" * 3000, 65536 // len(markup.encode())),
                        ("#\n" * 3000, MAX_LINES)):
            main.write_text(head + text, encoding="utf-8")
            plan, page, _ = look(canzona, [str(main)])
            yield from complaints(page)
            if len(page.encode()) > MAX_BYTES:
                yield f"{len(page.encode())} bytes"
            if any(Page(page).links("matrix")):
                yield "a link to what is not shown"
            said = f"The first {n} of {3000 + text.count(chr(10))} lines."
            if said not in Page(page).texts(".//p") or len(
                    Page(page).lines("gpt.cz")) != n:
                yield f"the page does not say: {said}"


def main():
    mode = sys.argv[1] if sys.argv[1].startswith("--") else None
    canzona, *words = sys.argv[1 + bool(mode):]
    if mode == "--texts":
        found = list(texts_complaints(canzona, *words))
        print("\n".join(found) or "sources are shown as they are")
        return 1 if found else 0
    plan, page, trace = (look_at_markup if mode == "--names" else look)(canzona,
                                                                        words)
    source = None if mode == "--names" else next(
        pathlib.Path(word) for word in words if word.endswith(".cz"))
    if mode == "--self-test":
        found = list(self_test(plan, page, trace, source))
    else:
        found = list(page_complaints(page, plan, source)) + list(
            trace_complaints(trace, plan))
    print("\n".join(found[:20]) or
          f"{len(page)} bytes of page, {len(trace)} of trace: as the plan says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
