#!/usr/bin/python3
"""The command line of canzona: help, exit statuses, and what is said about
options and files that are wrong.

    driver.py CANZONA
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from value_names import without_names

ROOT = pathlib.Path(__file__).resolve().parents[2]
CANZONA = pathlib.Path(sys.argv[1]).resolve()
EXAMPLES = ROOT / "examples"
GPT = EXAMPLES / "gpt.cz"
CONFIG = EXAMPLES / "configs" / "qwen3-32b.json"

OK, ERRORS, USAGE, UNSUPPORTED = 0, 1, 2, 3

# A rule whose rate nobody gives: only a run can tell.
NO_RATE = """mesh dp = 1
model tiny(width = 8) { params f32 { a : [width, width] } }
use adamw(lr) on **
"""

# What a rank of it allocates is 106496 bytes.  With the gradients that a check
# keeps it is more, and so it is on one rank.
FULL = """mesh dp = 2
model tiny() { params f32 { a : [64, 64] } }
use muon(lr = 0.1) on **
schedule { memory 106496B }
"""

# Nothing reads `unread`, and one branch of two reads `seldom`.
UNREAD = """model tiny() { params f32 { a : [8, 8] } }
optimizer mine(lr, unread = 0.5, seldom = 0.5, often = true) for [m, n] {
    if often { param <- param - lr * grad } else { param <- param - seldom * grad }
}
use mine(lr = 1) on **
"""

# A let that an open argument hides, a rule without gradients, a machine that is not the
# plan's, and axes over which nothing is cut.
SILENT = """let lr = 0.5
mesh dp = 2, tp = 2, ep = 2 of dp
machine mine from h100 { sms = 10 }
model tiny() { params f32 { a : [8, 8] } }
optimizer blind(lr) for any { param <- param * (1 - lr) }
use blind(lr) on **
"""

# A number that is small in f32: what it divides is not finite.
NOT_FINITE = """model tiny() { params f32 { a : [8, 8] } }
optimizer mine(lr = 1.0) for any { param <- param + lr * grad / (abs(grad) * 1e-50) }
use mine() on **
"""

# Nothing reads `spare`, `idle` or `f`, and `a` reads `n`.
UNREAD_LET = """let spare = 3, n = 8
model tiny(idle = 4) {
    let f = 4 * n
    params f32 { a : [n, n] }
}
use adamw(lr = 1) on **
"""

# A file of rules alone; nothing in it is of any use to a plan.
RULES = """table half = [(1, 2)] * 3
def twice(x) { return 2 * x }
optimizer a(lr) for any { param <- param - lr * twice(grad) }
optimizer b(lr) for [m, n] { param <- param - lr * grad @ grad' @ grad }
"""

# As a recorder of the runtime writes it.
LATE = """{"displayTimeUnit":"ns","otherData":{"failure":"rank 0 waited 1 ms",
"at_ns":4000000},
"traceEvents":[
{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"rank 1"}},
{"name":"barrier","ph":"X","pid":1,"tid":0,"ts":1000.000,"dur":1000.000,"args":
{"op":-1,"step":0,"bytes":0,"begin_ns":1000000,"end_ns":2000000}},
{"name":"kernel of bias","ph":"B","pid":1,"tid":0,"ts":3000.000,"args":
{"op":7,"step":4,"bytes":0,"matrices":2,"flops":5,"begin_ns":3000000,"end_ns":0}},
{"name":"barrier","ph":"X","pid":2,"tid":0,"ts":3000.000,"dur":1000.000,"args":
{"op":-1,"step":0,"bytes":0,"begin_ns":3000000,"end_ns":4000000}}
]}
"""

# (words, exit status, what standard output or error must say)
CASES = [
    ([], USAGE, "Usage: canzona"),
    (["help"], OK, "canzona plan examples/qwen3-32b.cz"),
    (["-h"], OK, "Usage: canzona"),
    (["--help"], OK, "Usage: canzona"),
    (["--version"], OK, "canzona 0."),
    (["paint"], USAGE, 'canzona: there is no command "paint"\n`canzona help` lists them.\n'),
    (["pln"], USAGE, 'canzona: there is no command "pln"; did you mean "plan"?\n'),
    (["help", "plan"], OK, "canzona plan --explain examples/qwen3-32b.cz"),
    (["help", "pln"], USAGE, 'did you mean "plan"?'),
    (["fmt", "-h"], OK, "Usage: canzona fmt [OPTION...] FILE..."),
    (["plan", "--exlain", GPT], USAGE,
     'canzona plan: there is no option "--exlain"; did you mean "--explain"?\n'),
    (["plan", "--jsn=x"], USAGE, 'did you mean "--json"?\n`canzona help plan` lists'),
    (["import", "-o", "--optimiser", CONFIG], ERRORS, "--optimiser"),
    (["import", "--output", "--optimiser", CONFIG], ERRORS, "--optimiser"),
    (["plan", "--nobaselines", "--", GPT], USAGE, 'mean "--no-baselines"?'),
    (["check", "--", "--jsn"], ERRORS, "--jsn"),
    (["plan", "--quack", GPT], USAGE, "unrecognized option '--quack'"),
    (["doc"], OK, "\n\nmachines\n  a100 b200 h100 h200 h800 notes\n"),
    (["doc", "muon", "adamw"], USAGE, "one NAME only"),
    (["doc", "muon"], OK, "muon: an optimizer of std/opt/muon.cz\n\nMuon (Jordan et al."),
    (["doc", "muon"], OK, "\n\noptimizer muon(lr, momentum = 0.95, decay = 0.1, "),
    (["doc", "muon"], OK, " - lr * scale(m, n) * o\n}\n"),
    (["doc", "h200"], OK, "\nmachine h200 from h100 {\n    memory_rate = 4.3e12\n}\n"),
    (["doc", "h200"], OK, "\n  node_latency     1.5e-05  s       a message or"),
    (["doc", "root"], OK, "root: a function of the compiler\n\n  root(a, p, eps)\n"),
    (["doc", "jordan"], OK, "table jordan = [(3.4445, -4.7750, 2.0315)] * 5 then cycle\n"),
    (["doc", "qwen3"], OK, "head_dim = hidden_size / num_attention_heads"),
    (["doc", "machines"], OK, "\nh200                     NVIDIA H200 SXM\n"),
    (["doc", "mistral"], OK, "mistral has the parameters of llama, name for name.\n"),
    (["doc", "kimi_k2"], OK, "\ndeepseek_v3: an architecture of std/arch/deepseek_v3.cz\n"),
    (["doc", "falcon_mamba"], OK, "\nmamba: an architecture of std/arch/mamba.cz\n"),
    (["doc", "architectures"], OK, "\nkimi_k2                  as deepseek_v3, name for name\n"),
    (["doc"], OK, " kimi_k2"),
    (["doc", "mistrall"], USAGE, 'did you mean "mistral"?'),
    (["plan", "--json", "--json", "--no-baselines", GPT], OK, '"baselines":[],'),
    (["build", "-o", "a", "--output=out", GPT], OK,
     "canzona build: --output is given twice: the last counts\n"),
    (["plan", "-D", "mesh.dp=2", "-D", "mesh.dp=4", GPT], OK, "dp 4 x tp 2 = 8 ranks"),
    (["check", "-D", "mesh.dp=2", "-D", "mesh.dp=4", GPT], OK,
     "warning: -D mesh.dp is given twice: the last counts [E0505]"),
    (["plan", "full.cz"], OK, "\nmemory "),
    (["plan", "-D", "memory=106495B", "full.cz"], UNSUPPORTED, "`memory 106496B` has room"),
    (["run", "--check", "full.cz"], OK, "equal"),
    (["check", "unread.cz"], OK,
     "unread.cz:2:20: warning: 'unread' is read nowhere, and changes nothing [E0307]"),
    (["check", "unread_let.cz"], OK, "'f' is read nowhere, and changes nothing [E0307]"),
    (["check", "unread_let.cz"], OK, "unread_let.cz:2:12: warning: 'idle' is read nowhere"),
    (["plan", "unread_let.cz"], OK, "unread_let.cz:1:1: warning: 'spare' is read nowhere"),
    (["plan", "--machine=h200", GPT], USAGE,
     'there is no option "--machine"; did you mean "-D machine=h200"?'),
    (["plan", CONFIG], ERRORS, "note: this looks like JSON: `canzona import` makes a source"),
    (["import", "unread.cz"], ERRORS, "it is text, and no JSON: import reads a config.json"),
    (["run", "--out=none/r.safetensors", GPT], ERRORS, "none/r.safetensors cannot be written"),
    (["import", "string.json"], ERRORS, 'string.json:6:3: error: the dimension is "abc"'),
    (["plan", "-D", "memory=80", "full.cz"], UNSUPPORTED, "more than `memory 80B` allows"),
    (["plan", "-D", "mesh.ep=2", GPT], ERRORS, "those axes of experts that the source has"),
    (["import", "--mesh=dp=4,ep=2", CONFIG], USAGE, "as `ep = 8 of dp`"),
    (["plan", EXAMPLES / "qwen3-235b-a22b.cz"], OK, "6.25 % of experts at work on a token"),
    (["plan", "-D", "active=1", EXAMPLES / "qwen3-235b-a22b.cz"], OK,
     "forward and backward take 4.06 s at 45 % of bf16"),
    (["plan", "-D", "active=2", GPT], ERRORS, "active is the part of experts"),
    (["check", "silent.cz"], OK, "silent.cz:6:11: warning: 'lr' stays open here, for the trainer"),
    (["check", "silent.cz"], OK, "'blind' never reads grad: it learns nothing"),
    (["check", "silent.cz"], OK, "warning: the plan is made for h100: `machine mine` on a line"),
    (["check", "silent.cz"], OK, "warning: no parameter is cut over tp, of 2 ranks"),
    (["check", "silent.cz"], OK, "warning: no parameter is cut over ep, of 2 ranks"),
    (["plan", "--mesh=dp=4", GPT], USAGE, 'did you mean "-D mesh.dp=4"?'),
    (["run", "--out=run.safetensors", GPT], OK, "gpt: 1 steps"),
    (["run", "--out=run.safetensors", GPT], OK, "gpt: 1 steps"),
    (["run", "--out=not_finite.safetensors", "not_finite.cz"], ERRORS,
     "the last step made 'a' something that is not finite"),
    (["doc", "moun"], USAGE, 'there is no entry "moun"; did you mean "muon"?'),
    (["explain"], OK, "\n  E0501  a path that no parameter matches\n"),
    (["explain", "e0501"], OK, "E0501: a path that no parameter matches\n\n"),
    (["explain", "E050"], USAGE, 'there is no code "E050"; did you mean "E0501"?'),
    (["plan"], USAGE, "which FILE?"),
    (["plan", GPT, GPT], USAGE, "one FILE only"),
    (["plan", "--ir=final", GPT], USAGE, '--ir is source, assigned, scheduled or after:PASS'),
    (["plan", "--json", GPT], OK, '{"name":"replicated",'),
    (["plan", "--json", "--no-baselines", GPT], OK, '"baselines":[],'),
    (["plan", "--explain", GPT], OK, "what would help"),
    (["plan", "--explain=algebra", GPT], OK, "algebra, of one matrix"),
    (["plan", "--explain=algebr", GPT], USAGE, "the parts are help, time,"),
    (["plan", "--explain", "--json", GPT], USAGE, "--json or --explain, not"),
    (["plan", "--html=x", "--ir", GPT], USAGE, "--ir goes without --html"),
    (["plan", "--html=none/x.html", GPT], ERRORS, "none/x.html"),
    (["plan", "--trace=lone", "-D", "mesh.tp=9", GPT], ERRORS, "error"),
    (["plan", "--ir=source", "-D", "bucket=40MB", "-D", "clip=2", "-D", "group=4GiB",
      "-D", "memory=80GB", "-D", "overlap=none", "-D", "form=gram", "-D", "wire=1",
      "-D", "schedule.tolerance=0.05", GPT], OK,
     '{active = 1000000 : i64, bucket_elements = 10000000 : i64, bucket_is_free = 0 : i64, '
     'clip = 2.000000e+00 : f64, form = "gram", geometry = "uneven", '
     'joins_updates = 0 : i64, layout = "engine", layout_is_free = 1 : i64, master_dtype = "f32", '
     "memory_bytes = 80000000000 : i64, micro_group_bytes = 4294967296 : i64, "
     "skip = 1 : i64, tokens = 1048576 : i64, tolerance = 5.000000e-02 : f64, "
     'tp_strategy = "auto", tp_subgroup = 0 : i64, wire = 1.000000e+00 : f64, wire_is_free = 0 : i64}'),
    (["check", "--help"], OK, "memory=80GB"),
    (["plan", "--help"], OK, "canzona plan --explain examples/qwen3-32b.cz"),
    (["check", "--diagnostics=xml", GPT], USAGE, "text, json or sarif"),
    (["run", "--steps=many", GPT], USAGE, '--steps takes a number from 0 to'),
    (["run", "--seed=-1", GPT], USAGE, "--seed takes a number"),
    (["run", "--microbatches=99999999999999999999", GPT], USAGE, "takes a n"),
    (["run", "--check=bytes", GPT], USAGE, "--check is bits or values"),
    (["run", "--target=sm_80,sm_90a", GPT], UNSUPPORTED, "is not supported yet"),
    (["run", "--target=sm_80", "--late", GPT], USAGE, "--late is for threads"),
    (["run", "--world=mars", GPT], UNSUPPORTED, 'world "mars" is not supp'),
    (["run", "--microbatches=7", "-D", "mesh.dp=2", GPT], ERRORS,
     "7 microbatches do not divide over 2 ranks that sum gradients; "
     "try --microbatches=8"),
    (["run", "--microbatches=0", GPT], USAGE, "takes a number from 1 on"),
    (["run", "--steps=0", "norate.cz"], OK, "norate: 0 steps on 1 ranks"),
    (["run", "norate.cz"], ERRORS, "-D NAME=VALUE"),
    (["run", "none.cz"], ERRORS, "none.cz"),
    (["plan", "--target=sm_80", GPT], USAGE, "--target goes with --json"),
    (["plan", "--json", "--target=sm_9", GPT], UNSUPPORTED, "is not supported yet"),
    (["build", "--print-cflags"], OK, "-ffp-contract=off"),
    (["build", "--target=abacus", GPT], UNSUPPORTED, 'target "abacus" is not'),
    (["build", "--target=cpu,sm_90,x", GPT], UNSUPPORTED,
     'target "sm_90" is not supported yet: cpu, sm_80 and sm_90a are'),
    (["build", "--target=cpu,", GPT], UNSUPPORTED, 'target "" is not'),
    (["build", "--target=sm_90a,cpu", "-o", "out", GPT], OK,
     "later ones PTX of compute_80"),
    (["build", "--target=sm_80", "-o", "lone_cu", GPT], ERRORS, "lone_cu/gpt.cu is a folder"),
    (["build", "-o", "plain", GPT], ERRORS, "plain/gpt.c"),
    (["build", "-o", "lone", GPT], ERRORS, "lone/gpt.h is a folder"),
    (["build", "-o", "a/b/c", GPT], ERRORS, "folder a/b/c cannot be made: No such"),
    (["build", "broken.cz"], ERRORS, "broken.cz:2:1: error"),
    (["build", "--strict", "-o", "out", GPT], OK, ""),
    (["build", "--strict", "-o", "out", "-D", "mesh.dp=8", GPT], ERRORS,
     "12 microbatches cannot be shared by 8 ranks; try --microbatches=16"),
    (["build", "--strict", "--microbatches=16", "-o", "out", "-D", "mesh.dp=8", GPT], OK,
     ""),
    (["diff", GPT], USAGE, "two FILEs are compared"),
    (["diff", GPT, GPT, GPT], USAGE, "two FILEs are compared"),
    (["diff", GPT, "none.json"], ERRORS, "none.json"),
    (["diff", "broken.cz", GPT], ERRORS, "broken.cz:2:1: error"),
    (["diff", GPT, GPT], OK, "no differences"),
    (["diff", "--help"], OK, "canzona diff before.json examples/"),
    (["trace", "--help"], OK, "canzona trace canzona.trace.json"),
    (["trace", "none.json"], ERRORS, "none.json"),
    (["trace", "broken.cz"], ERRORS, "error"),
    (["trace", "late.trace.json"], OK,
     "\nrank 1\n    begins, ms   lasts, ms   step     op       bytes\n"
     "        -3.000       1.000                            barrier\n"
     "        -1.000   under way      4      7           0  kernel of bias\n"),
    (["simulate", "none.json"], ERRORS, "none.json"),
    (["simulate", "broken.cz"], ERRORS, "broken.cz:2:1: error"),
    (["simulate", "--mfu=0", GPT], USAGE, "--mfu takes a percentage from 1"),
    (["simulate", "--e=100.5", GPT], USAGE, "--e takes a percentage from 1"),
    (["simulate", "--tokens=1.5", GPT], USAGE, "--tokens takes a number"),
    (["simulate", "--tokens=0", GPT], USAGE, "--tokens takes a number from 1"),
    (["simulate", "--tokens=1MB", GPT], USAGE, "to 2^40, as 1M"),
    (["simulate", "--tokens=4Ki", GPT], OK, "gpt         4,096 tokens an iter"),
    (["simulate", "--tokens=1", GPT], UNSUPPORTED,
     "1 tokens do not reach 2 replicas of the model: take at least `--tokens=2`"),
    (["simulate", "-D", "memory=1MB", GPT], UNSUPPORTED, "at least `memory 6"),
    (["plan", "-D", "group=1K", GPT], UNSUPPORTED, "at least `group "),
    (["plan", "-D", "machine.node_rate=0", GPT], ERRORS,
     "node_rate cannot be 0: it is a whole number of at least 1"),
    (["plan", GPT], OK, "iteration   4.05 ms of 1,048,576 tokens"),
    (["plan", "-D", "layers=12", "-D", "width=768", "-D", "mesh.dp=16", "-D", "mesh.tp=1", GPT],
     OK, "chosen for it: bucket 40M"),
    (["plan", "-D", "width=5120", "-D", "layers=1", "-D", "mesh.dp=8", "-D", "mesh.tp=4",
      "-D", "tokens=16K", GPT], OK, "chosen for it: wire 4"),
    (["plan", "-D", "width=5120", "-D", "layers=1", "-D", "mesh.dp=8", "-D", "mesh.tp=4",
      "-D", "tokens=16K", "-D", "wire=0.5", GPT], OK, "iteration   23.45 ms of 16,000 tokens"),
    (["plan", "-D", "layout=trainer", GPT], OK, "iteration   4.13 ms of 1,048,576 tokens"),
    (["run", "--check", "-D", "width=352", "-D", "layers=1", "--microbatches=4", GPT], OK,
     "h.0.mlp.fc1: not repeated: 4.00 GF, and 2.00 GF at most"),
    (["plan", "-D", "tokens=2Mi", GPT], OK, " of 2,097,152 tokens"),
    (["plan", "-D", "tokens=1", GPT], OK, "instead of"),
    (["plan", "-D", "tokens=0", GPT], ERRORS, "number of tokens is 0"),
    (["simulate", "-D", "tokens=2Mi", GPT], OK, "2,097,152 tokens an iter"),
    (["simulate", "--machine=h800", GPT], OK, "published greedy"),
    (["simulate", "--machine=h8", GPT], ERRORS, "'h8'"),
    (["simulate", "--machine=a100", "plan.json"], OK, "baselines are left out"),
    (["simulate", "-D", "machine.node_rate=1", "-D", "machine.network_rate=1",
      EXAMPLES / "qwen3-32b.cz"], OK, "published greedy"),
    (["run", "--steps=0", "--seed=1Ki", "norate.cz"], OK, "norate: 0 steps"),
    (["run", "--seed=3G", "norate.cz"], USAGE, "--seed takes a number from 0"),
    (["simulate", "--jitter=much", GPT], USAGE, "--jitter takes a percentage"),
    (["simulate", "--contention=-1", GPT], USAGE, "--contention takes a percentage"),
    (["simulate", "--stragglers=2", GPT], USAGE, "takes RANKS:FACTOR"),
    (["simulate", "--active=1.0000001", GPT], USAGE, "--active takes a"),
    (["verify", GPT], OK, "on 4 ranks, 36 parameters"),
    (["verify", "broken.cz"], ERRORS, "broken.cz:2:1: error"),
    (["fmt", "none.cz"], ERRORS, "none.cz"),
    (["fmt", "-i", "-"], USAGE, "standard input has no place"),
    (["import", "--mesh=dp", CONFIG], USAGE, "a mesh reads dp=32,tp=8"),
    (["import", "--mesh=dp=2,dp=2", CONFIG], USAGE, "an axis is given twice"),
    (["import", "--mesh=dp=x", CONFIG], USAGE, "a number of ranks"),
    (["import", "--mesh=dp=0", CONFIG], USAGE, "a number of ranks"),
    (["import", "--mesh=up=2", CONFIG], USAGE, "axes are pp, dp, cp and tp"),
    (["import", "--optimizer=sgd", CONFIG], USAGE, "is muon or adamw"),
    (["import", "-o", "lone/gpt.h", CONFIG], ERRORS, "lone/gpt.h"),
    (["import", "-o", "none/gpt.cz", CONFIG], ERRORS,
     "none/gpt.cz cannot be written: there is no folder 'none'"),
    (["import", "-o", "plain/gpt.cz", CONFIG], ERRORS,
     "there is no folder 'plain'"),
    (["check", "rules.cz"], OK,
     "checked for all shapes: 2 optimizers, 1 def, 1 table"),
    (["check", "--diagnostics=json", "rules.cz"], OK, "{"),
    (["check", "-D", "a.lr=2", "rules.cz"], ERRORS, "-D a.lr sets nothing"),
    (["plan", "rules.cz"], ERRORS, "does not say which model it is about"),
    (["plan", "--ir=source", "rules.cz"], ERRORS, "does not say which model"),
    (["import", "--optimizer=muon", "-o", "-", CONFIG], OK, "use muon("),
]


def run(words, folder, **more):
    return subprocess.run([CANZONA, *words], cwd=folder, text=True, timeout=120,
                          check=False, **({"stdin": subprocess.DEVNULL}
                                          if "input" not in more else {}),
                          **({"capture_output": True} | more))


def complaints(folder):
    """One sentence for each case that does not hold."""
    for words, status, text in CASES:
        done = run(words, folder)
        said = done.stderr + (done.stdout if status == OK else "")
        line = " ".join(map(str, words))
        if done.returncode != status:
            yield f"{line}: status {done.returncode}, expected {status}"
        if text not in said:
            yield f"{line}: does not say '{text}':\n{said}"


def check_files(folder):
    """All files or none; IR that was printed verifies; -o - is a pipe."""
    if list(folder.glob("lone/gpt.c")) + list(folder.glob("lone_cu/gpt*.[ch]")):
        yield "build leaves NAME.c where NAME.h cannot be written"
    if sorted(p.name for p in folder.glob("out/*")) != [
            "gpt.c", "gpt.cu", "gpt.h", "gpt_cuda.c"]:
        yield "build does not write NAME.c, NAME.cu, NAME_cuda.c and NAME.h"
    for stage in "source", "assigned", "scheduled":
        ir = folder / f"{stage}.mlir"
        ir.write_text(run(["plan", f"--ir={stage}", GPT], folder).stdout)
        done = run(["verify", ir], folder)
        if not done.stdout.startswith("verified: "):
            yield f"verify, from IR {stage}: {done.stderr}"
        text = ir.read_text()
        for old, new, said in (('compiler = "[^"]*"', 'compiler = "9.0.0"',
                                "is of canzona 9.0.0, format 9,"),
                               (", format = 9 ", ", format = 1 ", ", format 1,"),
                               (", format = 9 : i64", "", ", format 0,"),
                               ("canzona.pattern", "canzona.family", None)):
            ir.write_text(re.sub(old, new, text))
            done = run(["verify", ir], folder)
            if done.returncode != ERRORS or (said or "error") not in done.stderr:
                yield f"IR {stage} with '{new}' is accepted: {done.stderr}"


def check_gpu(folder):
    """Who plans for a GPU and when does not matter to what is built."""
    names = "gpt.c", "gpt.cu", "gpt.h", "gpt_cuda.c"
    target = "--target=sm_90a"
    run(["build", target, "-o", "whole", GPT], folder)
    for what, options in (("ir", []), ("gpu_ir", [target])):
        ir = folder / f"{what}.mlir"
        ir.write_text(run(["plan", "--ir", *options, GPT], folder).stdout)
        done = run(["build", target, "-o", what, ir], folder)
        if [(folder / what / n).read_bytes() for n in names] != [
                without_names((folder / "whole" / n).read_bytes())
                for n in names]:
            yield f"build of {what} is another: {done.stderr}"
    text = (folder / "gpu_ir.mlir").read_text()
    if "canzona.tiling" not in text:
        yield "plan --ir --target=sm_90a shows no tiles"
    if not run(["verify", "gpu_ir.mlir"], folder).stdout.startswith("verified: "):
        yield "verify, from IR for a GPU"


def check_time(folder):
    """Times go to standard error: the plan is the same without them."""
    done = run(["plan", "--json", "--time", GPT], folder)
    if done.stdout != run(["plan", "--json", GPT], folder).stdout:
        yield "--time changes the plan"
    lines = [line.rsplit(maxsplit=2) for line in done.stderr.splitlines()]
    parts = {name.strip(): float(seconds) for name, seconds, _ in lines}
    total = parts.pop("all", 0)
    if "verifier" not in parts or abs(sum(parts.values()) - total) > 0.01:
        yield f"--time: parts that are not the whole: {done.stderr}"


def check_run(folder):
    """run --check reads a source once; of IR it compares ranks with ranks, and
    does not say that it has seen one rank."""
    source = NO_RATE.replace("dp = 1", "dp = 2").replace("lr", "lr = 0.1")
    ir = run(["plan", "--ir", "-"], folder, input=source).stdout
    for what, text, said in (
            ("a source", source, "equal to one rank's: 3 tensors"),
            ("IR", ir, "ranks that hold the same tensor have the same; "
                       "one rank is not compared")):
        done = run(["run", "--check", "-"], folder, input=text)
        if done.returncode != OK or f"\nbits      {said}" not in done.stdout:
            yield f"run --check of {what}: {done.stdout}{done.stderr}"


def check_world(folder):
    """A full disk, and a compiler that fails, end as errors."""
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run(["plan", GPT], folder, capture_output=False, stdout=full,
                   stderr=subprocess.PIPE)
    if done.returncode != ERRORS or "cannot be written" not in done.stderr:
        yield f"a full disk goes unnoticed: {done.returncode} {done.stderr}"
    for name, value, text in (("CC", "false", "the C compiler ($CC, else cc)"),
                              ("CC", "no-such-cc", "the C compiler"),
                              ("TMPDIR", "/none", "no temporary folder")):
        done = run(["run", GPT], folder, env=os.environ | {name: value})
        if done.returncode != ERRORS or text not in done.stderr:
            yield f"{name}={value}: {done.returncode} {done.stderr}"


ITERATION = re.compile(r"takes ([\d.]+ \ws) without a schedule")


def check_import(folder):
    """What import says of schedules is what plan says of them."""
    config = EXAMPLES / "configs" / "gpt2.json"
    (folder / "gpt2.json").write_text(config.read_text())
    for mesh, written in (("dp=8", None), ("dp=96", "layout trainer")):
        done = run(["import", f"--mesh={mesh}", "gpt2.json"], folder)
        (folder / "imported.cz").write_text(done.stdout)
        plain = folder / "plain.cz"
        plain.write_text(done.stdout.split("\nschedule {")[0])
        if ("\nschedule {" in done.stdout) != (written is not None):
            yield f"import {mesh}: {done.stdout[-400:]}"
        said = {None: ITERATION.search(done.stdout).group(1)}
        said |= {clause: time for clause, time in re.findall(
            r"(?:# With|,) `?(\w+ \w+)`? (?:it takes )?([\d.]+ \ws)", done.stdout)}
        best = re.search(r"With `(\w+ \w+)` it takes ([\d.]+ \ws)\.\n", done.stdout)
        said |= {best.group(1): best.group(2)} if best else {}
        if len(said) != 5 or (best.group(1) if best else None) != written:
            yield f"import {mesh}: {said}"
        for clause, time in said.items():
            define = ["-D", "schedule." + clause.replace(" ", "=")] if clause else []
            shown = run(["plan", *define, "plain.cz"], folder).stdout
            if f"\niteration   {time} of" not in shown:
                yield f"import {mesh}: {clause or 'nothing'} takes {time}; {shown[-1500:]}"
        if f"\niteration   {said[written]} of" not in run(["plan", "imported.cz"],
                                                         folder).stdout:
            yield f"import {mesh}: what is written does not take {said[written]}"


def check_found(folder):
    """A line for each library; what theirs never free is no leak of ours."""
    done = run(["--version", "--verbose"], folder,
               env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
    lines = [line.split("  ")[0] for line in done.stdout.splitlines()]
    if done.returncode != OK or lines[1:] != [
            "compiled by", "LLVM, MLIR", "BLAS", "oneDNN", "MPI", "CUDA driver", "NVRTC"]:
        yield f"--version --verbose: {done.returncode} {done.stdout}{done.stderr}"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plain").write_text("no folder")
        (folder / "lone" / "gpt.h").mkdir(parents=True)
        (folder / "lone_cu" / "gpt.cu").mkdir(parents=True)
        (folder / "broken.cz").write_text("mesh dp = \n")
        (folder / "late.trace.json").write_text(LATE)
        (folder / "full.cz").write_text(FULL)
        (folder / "unread.cz").write_text(UNREAD)
        (folder / "unread_let.cz").write_text(UNREAD_LET)
        (folder / "silent.cz").write_text(SILENT)
        (folder / "not_finite.cz").write_text(NOT_FINITE)
        (folder / "string.json").write_text(CONFIG.read_text().replace(
            '"hidden_size": 5120', '"hidden_size": "abc"'))
        (folder / "rules.cz").write_text(RULES)
        (folder / "norate.cz").write_text(NO_RATE)
        (folder / "plan.json").write_text(run(["plan", "--json", GPT], folder).stdout)
        found = [*complaints(folder), *check_files(folder),
                 *check_gpu(folder), *check_time(folder), *check_run(folder),
                 *check_world(folder), *check_found(folder), *check_import(folder)]
    print("\n".join(found) or f"driver: {len(CASES)} command lines as told")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
