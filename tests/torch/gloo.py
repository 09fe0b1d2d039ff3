"""Checks on several ranks: a process each, over gloo."""
import multiprocessing
import os
import tempfile

import torch
import torch.distributed as dist


def run_rank(rank, ranks, folder, check_all):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks,
                            init_method=f"file://{folder}/store")
    check_all(rank, folder)
    os._exit(0)


def run(ranks, check_all):
    """Whether check_all(rank, folder) returns on every one of so many ranks."""
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        processes = [fork.Process(target=run_rank, args=(rank, ranks, folder, check_all))
                     for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return not any(process.exitcode for process in processes)


def each(checks, rank, *arguments):
    """One after the other, named by rank 0 once it holds."""
    for check in checks:
        check(*arguments, rank)
        if rank == 0:
            print(check.__name__.replace("_", " "), flush=True)
