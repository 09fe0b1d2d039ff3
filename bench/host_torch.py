#!/usr/bin/python3
"""Ours beside PyTorch, one thread each, processor time, step by step on the same
Gaussian gradients: torch.optim.Muon, and SOAP and Shampoo as host_reference.py writes
them.  A turn of these is one period of their bases and roots.  Their matrices are
square: the factors of others have null spaces, whose eigenvectors are anybody's.

    [WITNESS_CHECKOUTS=CLONES] host_torch.py CANZONA LIBCZR.A

A line that says so where PyTorch cannot be imported.  Where CLONES has
facebookresearch/optimizers (tests/witness/witness.py), beside its Shampoo as well."""
import pathlib
import statistics
import sys
import time
import typing

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), *(str(ROOT / "tests" / name) for name in
                                       ("witness", "numbers", "run"))]

LR, INTERVAL, SEED = 0.02, 10, 70
GPT2 = 12 * [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
QWEN3 = 4 * ([(2048, 1024)] + 2 * [(1024, 1024)] + [(1024, 2048)] +
             2 * [(3072, 1024)] + [(1024, 3072)])
SQUARES = 2 * [(768, 768)]


class Case(typing.NamedTuple):
    name: str
    use: str
    shapes: list
    make: typing.Callable  # step(grads), of a list of parameters
    steps: int             # of a turn
    turns: int = 3


def steps_of(optimizer, params):
    def step(grads):
        for param, grad in zip(params, grads):
            param.grad = grad
        optimizer.step()
    return step


def cases():
    import torch
    import host_reference as reference

    def muon(params):
        return steps_of(torch.optim.Muon(params, lr=LR, weight_decay=0.1), params)

    def plain(kind):
        def make(params):
            each = [kind(p.detach(), LR, INTERVAL) for p in params]

            def step(grads):
                for one, grad in zip(each, grads):
                    one.step(grad)
            return step
        return make

    return [
        Case("torch.optim.Muon, GPT-2 124M", "muon_torch(lr)", GPT2, muon, 1),
        Case("torch.optim.Muon, Qwen3-0.6B, 4 layers", "muon_torch(lr)", QWEN3,
             muon, 1),
        Case("SOAP, two of 768x768", f"soap(lr, interval = {INTERVAL})",
             SQUARES, plain(reference.Soap), INTERVAL, 9),
        Case("Shampoo, two of 768x768",
             f"shampoo(lr, interval = {INTERVAL})", SQUARES,
             plain(reference.Shampoo), INTERVAL, 9),
    ]


def shampoo_of_its_authors():
    """A list of the case, and what is said of it."""
    import witness_checkouts
    heading, is_there = witness_checkouts.enter("facebookresearch/optimizers")
    if not is_there:
        return [], f"Distributed Shampoo: {heading}"
    import distributed_shampoo
    witness_checkouts.silence(distributed_shampoo)

    def make(params):
        optimizer = distributed_shampoo.DistributedShampoo(
            params, lr=LR, max_preconditioner_dim=max(SQUARES[0]) + 1,
            precondition_frequency=INTERVAL, start_preconditioning_step=INTERVAL)
        return steps_of(optimizer, params)
    return [Case("Distributed Shampoo, the same",
                 f"shampoo(lr, interval = {INTERVAL})", SQUARES, make,
                 INTERVAL, 9)], f"Distributed Shampoo: {heading}"


def seconds_of(step):
    start = time.process_time()
    step()
    return time.process_time() - start


class Turns:
    """Ours and theirs in turn; the first, which warms up, does not count."""

    def __init__(self, case):
        import torch
        torch.manual_seed(SEED)
        self.case = case
        self.first = [torch.randn(shape) for shape in case.shapes]
        self.theirs = [torch.nn.Parameter(w.clone()) for w in self.first]
        self.step = case.make(self.theirs)
        self.names = [f"w{i}" for i in range(len(case.shapes))]

    def turn(self, rank):
        """Seconds of a mean step, ours and theirs."""
        import torch
        ours = theirs = 0
        for _ in range(self.case.steps):
            grads = [torch.randn(shape) for shape in self.case.shapes]
            for name, grad in zip(self.names, grads):
                rank.grads[name][...] = grad.numpy()
            ours += seconds_of(lambda: rank.step({"OWN_LR": LR}))
            theirs += seconds_of(lambda: self.step(grads))
        return ours / self.case.steps, theirs / self.case.steps

    def run(self, rank):
        for name, first in zip(self.names, self.first):
            rank.params[name][...] = first.numpy()
        rank.seal()
        pairs = [self.turn(rank) for _ in range(self.case.turns + 1)]
        return pairs[1:], max(map(self.apart,
                                  (rank.params[n] for n in self.names),
                                  self.theirs, self.first))

    @staticmethod
    def apart(ours, theirs, first):
        """Of how far theirs moved."""
        import torch
        moved = torch.linalg.norm(theirs.detach() - first)
        return float(torch.linalg.norm(torch.from_numpy(ours.copy()) -
                                       theirs.detach()) / moved)


def measure(tools, case):
    import embed
    params = "\n".join(f"w{i} : [{m}, {n}]" for i, (m, n) in
                       enumerate(case.shapes))
    text = f"model m {{\nparams f32 {{\n{params}\n}}\n}}\nuse {case.use} as own on **\n"
    program = embed.Program(*tools, "host", text)
    program.is_in_place = True
    (pairs, apart), = program.run(Turns(case).run, embed.Options(threads=1))
    ours, theirs = (1e3 * statistics.median(side) for side in zip(*pairs))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"| {case.name} | {ours:.0f} | {theirs:.0f} | {ratio:.2f} | "
          f"{apart:.0e} |", flush=True)


def main(*tools):
    print("## Beside PyTorch\n")
    try:
        import torch
        torch.optim.Muon
    except (ImportError, AttributeError) as why:
        print(f"Skipped: {why}.")
        return
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    print("| theirs, on matrices of | ours ms | theirs ms | faster | differs |\n"
          "|---|---:|---:|---:|---:|")
    authors, heading = shampoo_of_its_authors()
    for case in cases() + authors:
        measure(tools, case)
    print(f"\n{heading}")


if __name__ == "__main__":
    main(*sys.argv[1:])
