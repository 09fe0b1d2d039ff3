#!/usr/bin/python3
"""What bench_gpu compares with, by PyTorch on the same GPU, a line at a time.

    muon                    a step of torch.optim.Muon, matrices of Qwen3-1.7B
    captured                the same by compiled functions in a CUDA graph
    schulz ROWS COLS BATCH  five rows of Newton-Schulz, compiled, bf16
    turn                    the microseconds of one of what was asked for last

The others are answered by "ok ..." with what there is to say, or "none WHY"."""
import os
import sys
import time

TURN_SECONDS, LAYERS, WIDTH, KEYS, HIDDEN = 4e-3, 28, 2048, 1024, 6144
ROW = (3.4445, -4.7750, 2.0315)
LR, MOMENTUM, DECAY, ROWS = 0.02, 0.95, 0.1, 5


def shapes():
    layer = 2 * [(WIDTH, WIDTH)] + 2 * [(KEYS, WIDTH)]
    return LAYERS * (layer + 2 * [(HIDDEN, WIDTH)] + [(WIDTH, HIDDEN)])


def newton_schulz(x):
    """Of x with at most as many rows as columns."""
    import torch
    a, b, c = ROW
    x = x / (torch.linalg.matrix_norm(x.float(), keepdim=True) + 1e-7).to(x.dtype)
    for _ in range(ROWS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


def once(function):
    """Seconds of one call, of as many as take some milliseconds."""
    import torch

    def seconds(n):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            function()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / n
    return seconds(1 + int(TURN_SECONDS / seconds(1)))


def schulz(rows, columns, batch):
    import torch
    lead = (batch,) if batch > 1 else ()
    x = torch.randn(*lead, rows, columns, device="cuda", dtype=torch.bfloat16)
    compiled = torch.compile(newton_schulz, fullgraph=True)
    for _ in range(3):
        compiled(x)
    gram = x @ x.mT

    def bare():
        for _ in range(ROWS):
            torch.matmul(x, x.mT)
            torch.matmul(gram, gram)
            torch.matmul(gram, x)
    for _ in range(2):
        bare()
    share = once(bare) / once(lambda: compiled(x))
    return lambda: compiled(x), f"its products are {share:.2f} of its time"


def matrices():
    import torch
    params = [torch.randn(s, device="cuda", dtype=torch.bfloat16) for s in shapes()]
    grads = [torch.randn_like(p) for p in params]
    return params, grads


def muon():
    import torch
    params, grads = matrices()
    params = [torch.nn.Parameter(p) for p in params]
    for param, grad in zip(params, grads):
        param.grad = grad
    optimizer = torch.optim.Muon(params, lr=LR, weight_decay=DECAY)
    for _ in range(2):
        optimizer.step()
    return optimizer.step, "eager"


def update(param, grad, moment):
    """One matrix, in place."""
    moment.lerp_(grad, 1 - MOMENTUM)
    u = grad.lerp(moment, MOMENTUM)
    rows, columns = u.shape
    o = newton_schulz(u.mT).mT if rows > columns else newton_schulz(u)
    param.mul_(1 - LR * DECAY)
    param.add_(o, alpha=-LR * 0.2 * max(rows, columns) ** 0.5)


def captured():
    import torch
    params, grads = matrices()
    moments = [torch.zeros_like(p) for p in params]
    compiled = torch.compile(update, fullgraph=True, dynamic=False)

    def step():
        for each in zip(params, grads, moments):
            compiled(*each)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay, "one CUDA graph"


def prepare(verb, *arguments):
    import torch
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch finds no GPU")
    torch.set_grad_enabled(False)
    function, says = {"schulz": schulz, "muon": muon,
                      "captured": captured}[verb](*map(int, arguments))
    return function, f"PyTorch {torch.__version__}, {says}"


def answer(words, function):
    """The answer, and what is measured from now on."""
    if words == ["turn"]:
        return f"{1e6 * once(function):.3f}", function
    try:
        function, says = prepare(*words)
        return f"ok {says}", function
    except Exception as why:  # whatever it is, bench_gpu goes on without us
        return "none " + (" ".join(str(why).split()) or repr(why))[:200], None


def main():
    # Others may print, but not between our lines.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    function = None
    for line in sys.stdin:
        says, function = answer(line.split(), function)
        print(says, file=out, flush=True)


if __name__ == "__main__":
    main()
