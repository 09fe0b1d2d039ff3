#!/usr/bin/python3
"""torch.optim.Muon on the matrices of bench/host, one thread, processor time;
a line that says so where it cannot be imported."""
import statistics
import time

STEPS = 5
MODELS = {
    "GPT-2 124M": 12 * [(2304, 768), (768, 768), (3072, 768), (768, 3072)],
    "Qwen3-0.6B, 4 layers": 4 * ([(2048, 1024)] + 2 * [(1024, 1024)] +
                                 [(1024, 2048)] + 2 * [(3072, 1024)] +
                                 [(1024, 3072)]),
}


def step_time(torch, muon, shapes):
    """Median seconds of a step."""
    params = [torch.nn.Parameter(torch.rand(shape)) for shape in shapes]
    for param in params:
        param.grad = torch.rand(param.shape)
    optimizer = muon(params, lr=0.02, weight_decay=0.1,
                     adjust_lr_fn="match_rms_adamw")
    seconds = []
    for _ in range(STEPS + 1):
        start = time.process_time()
        optimizer.step()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds[1:])


def main():
    print("## torch.optim.Muon\n")
    try:
        import torch
        muon = torch.optim.Muon
    except (ImportError, AttributeError) as why:
        print(f"Skipped: {why}.")
        return
    torch.set_num_threads(1)
    print("| matrices of | ms |\n|---|---:|")
    for name, shapes in MODELS.items():
        print(f"| {name}, bf16 | {1e3 * step_time(torch, muon, shapes):.0f} |")


if __name__ == "__main__":
    main()
