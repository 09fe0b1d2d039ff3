#!/usr/bin/python3
"""Megatron-core's DDP under use_distributed_optimizer, whose buffers our plan lays out:
losses are those under a DDP that reduces whole gradients, bit for bit, and nobody reads
what DDP leaves of gradients outside of a rank's shard.  Skipped before Megatron-core 0.20,
where DDP takes no layout.

    megatron_buffers.py"""
import importlib.util
import inspect
import math
import sys
import warnings

import torch
import torch.distributed as dist

import megatron_trains as common
from megatron_trains import MUON, RULES, SKIPPED, loss_of, make, on_ranks, refuses, schedule

STEPS, CLIP, SMALL = 12, 0.5, "bucket 6K"


def configs(**of_ddp):
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig
    return (OptimizerConfig(clip_grad=CLIP, use_distributed_optimizer=True),
            DistributedDataParallelConfig(grad_reduce_in_fp32=True,
                                          use_distributed_optimizer=True, **of_ddp))


def layout_of(model, rules, clauses=SMALL, **of_ddp):
    from canzona.megatron import compute_full_param_layout
    config, ddp_config = configs(**of_ddp)
    return compute_full_param_layout(config, ddp_config, model, rules, schedule=clauses,
                                     strict=True)


def wrap(model, layout, **of_ddp):
    from megatron.core.distributed import DistributedDataParallel
    return DistributedDataParallel(model.config, configs(**of_ddp)[1], model,
                                   full_param_layout=layout)


def ours(ddp, rules, clauses=SMALL):
    from canzona.megatron import Optimizer
    return Optimizer(configs()[0], [ddp], rules, schedule=clauses, strict=True)


def all_buffers(ddp):
    return [*ddp.buffers, *ddp.expert_parallel_buffers]


def spoil(ddp):
    """What is not in this rank's shard of a bucket is no gradient; nor is padding."""
    for buffer in all_buffers(ddp):
        n, rank = buffer.data_parallel_group.size(), buffer.data_parallel_group.rank()
        for bucket in buffer.buckets:
            is_read = torch.zeros(bucket.grad_data.numel(), dtype=torch.bool)
            for param in bucket.params:
                start, end = bucket.param_to_index[param]
                is_read[start:end] = True
            shard = len(is_read) // n
            is_read[:rank * shard] = is_read[(rank + 1) * shard:] = False
            assert is_read.any() or len(buffer.buckets) > 1
            bucket.grad_data[~is_read] = math.nan


def train(model, ddp, optimizer, state, prepare=lambda ddp: None):
    scheduler, losses, norms = schedule(optimizer), [], []
    rank, ranks = state.get_data_parallel_rank(), state.get_data_parallel_world_size()
    for step in range(STEPS):
        ddp.zero_grad_buffer()
        optimizer.zero_grad()
        loss = loss_of(ddp, step, rank, ranks)
        loss.backward()
        ddp.finish_grad_sync()
        prepare(ddp)
        scheduler.step(1)
        is_done, norm, _ = optimizer.step()
        assert is_done
        loss = loss.detach().double() / dist.get_world_size()
        dist.all_reduce(loss)
        losses.append(loss.item())
        norms.append(norm)
    return losses, norms, common.weights_of(model, state), optimizer.state_dict()


def same(a, b):
    return (a[:2] == b[:2] and all(torch.equal(a[2][name], p) for name, p in b[2].items()) and
            common.same_states(a[3], b[3]))


def usual(rules, state, **more):
    model = make(**more)
    ddp = common.wrap(model)
    return train(model, ddp, common.ours([ddp], rules, schedule=SMALL), state)


def sliced(rules, state, prepare=lambda ddp: None, more=None, **of_ddp):
    model = make(**more or {})
    ddp = wrap(model, layout_of(model, rules, **of_ddp), **of_ddp)
    return train(model, ddp, ours(ddp, rules), state, prepare)


# ---- checks ----

def losses_and_bits_are_those_of_whole_gradients(state):
    for name, rules in RULES.items():
        expected = usual(rules, state)
        assert expected[0][-1] < expected[0][0] - 0.1, expected[0]
        for overlap in (False, True):
            assert same(sliced(rules, state, overlap_grad_reduce=overlap), expected), name


def nothing_outside_of_a_shard_is_read(state):
    for rules in RULES.values():
        assert same(sliced(rules, state, spoil), sliced(rules, state)), rules


def a_reduction_leaves_others_wrong(state):
    """Or the check above shows nothing."""
    model = make()
    ddp = wrap(model, layout_of(model, MUON))
    loss_of(ddp, 0, state.get_data_parallel_rank(), state.get_data_parallel_world_size()
            ).backward()
    ddp.finish_grad_sync()
    whole = [param.main_grad.clone() for param in model.parameters()]
    for one in whole:
        dist.all_reduce(one, group=state.get_data_parallel_group())
    assert any(not torch.allclose(one / state.get_data_parallel_world_size(), param.main_grad)
               for one, param in zip(whole, model.parameters()))


def bf16_parameters_train(state):
    more = {"dtype": torch.bfloat16}
    expected = usual(MUON, state, **more)
    assert same(sliced(MUON, state, spoil, more), expected)


def buffers_are_as_megatron_wants_them(state):
    from megatron.core.distributed.param_and_grad_buffer import shard_buffer
    model, ranks = make(), state.get_data_parallel_world_size()
    layout = layout_of(model, MUON)
    assert sum(len(one.bucket_indices) for one in layout.layouts.values()) > 2
    order = {param: i for i, param in enumerate(reversed(list(model.parameters())))}
    for key, one in layout.layouts.items():
        buckets = [number for _, (_, _, number) in sorted(
            one.param_index_map.items(), key=lambda item: order[item[0]])]
        assert buckets == sorted(buckets) and set(buckets) == set(range(len(
            one.bucket_indices))), buckets
        assert one.num_optimizer_shards == ranks
        for param, (start, end, number) in one.param_index_map.items():
            first, last = one.bucket_indices[number]
            shard = (last - first) // ranks
            assert start % 64 == 0 and end - start == param.numel()
            assert (last - first) % ranks == 0 and shard % 64 == 0
            if key.is_managed_by_layer_wise_optimizer:  # whole in one shard
                assert (start - first) // shard == (end - 1 - first) // shard
    ddp = wrap(model, layout)
    rank = state.get_data_parallel_rank()
    for buffer in all_buffers(ddp):
        for bucket in buffer.buckets:
            assert len(shard_buffer(bucket.grad_data, ranks)[rank]) * ranks == len(
                bucket.grad_data)


def padding(layout):
    return sum(last - first for one in layout.layouts.values()
               for first, last in one.bucket_indices) - sum(
                   p.numel() for one in layout.layouts.values() for p in one.param_index_map)


def padding_is_at_most_megatrons(state):
    """That of its layer-wise optimizer, on the same buffers."""
    from megatron.core.optimizer.layer_wise_optimizer import LayerWiseDistributedOptimizer
    for layers, most in ((2, 6 << 10), (7, 6 << 10), (7, 20 << 10), (7, 1 << 20)):
        model = make(num_layers=layers)
        layout = layout_of(model, MUON, f"bucket {most}")
        theirs = LayerWiseDistributedOptimizer.compute_full_param_layout(
            list(model.parameters()), most, state.get_data_parallel_world_size(), configs()[1])
        assert set(theirs.layouts) == set(layout.layouts)
        pads = padding(layout), padding(theirs)
        if dist.get_rank() == 0:
            print(f"{layers} layers, buckets of {most}: padding {pads[0]}, Megatron's "
                  f"{pads[1]}, of {sum(p.numel() for p in model.parameters())}", flush=True)
        assert pads[0] <= pads[1], pads


def other_layouts_are_refused(state):
    from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer
    name = "embedding.word_embeddings.weight"
    model = make()
    ddp = wrap(model, None)  # Megatron's own
    refuses(lambda: ours(ddp, MUON), "full_param_layout", "in the plan")
    model = make()
    ddp = wrap(model, layout_of(model, MUON, "bucket 1M"))
    refuses(lambda: ours(ddp, MUON), "full_param_layout", "in the plan")
    model = make()  # on one rank alone; the other hears of it
    layout, ranks = layout_of(model, MUON), state.get_data_parallel_world_size()
    if dist.get_rank() == 1:
        for param in model.parameters():
            param.is_managed_by_layer_wise_optimizer = False
        layout = DistributedOptimizer.compute_full_param_layout(
            list(model.parameters()), None, ranks, configs()[1])
    ddp = wrap(model, layout)
    refuses(lambda: ours(ddp, MUON), "in the plan")
    refuses(lambda: layout_of(make(), "use adamw(lr = 1) on decoder.**"), name)
    refuses(lambda: layout_of(make(), MUON, "state f32"), "equal slices")
    refuses(lambda: layout_of(make(), MUON, overlap_param_gather=True,
                              overlap_grad_reduce=True), "overlap_param_gather")
    refuses(lambda: layout_of(make(hidden_size=12, ffn_hidden_size=17), MUON), "in one run")
    model = make()
    refuses(lambda: ours(common.wrap(model), MUON), "use_distributed_optimizer")
    chunks = [wrap(model, layout_of(model, MUON)) for model in (make(), make())]
    from canzona.megatron import Optimizer
    refuses(lambda: Optimizer(configs()[0], chunks, MUON), "chunk")


CHECKS = (losses_and_bits_are_those_of_whole_gradients, nothing_outside_of_a_shard_is_read,
          a_reduction_leaves_others_wrong, bf16_parameters_train,
          buffers_are_as_megatron_wants_them, padding_is_at_most_megatrons,
          other_layouts_are_refused)
ON_FOUR = (losses_and_bits_are_those_of_whole_gradients, nothing_outside_of_a_shard_is_read,
           buffers_are_as_megatron_wants_them)


def check(checks):
    def each(state):
        for one in checks:
            one(state)
            if dist.get_rank() == 0:
                print(f"{dist.get_world_size()} ranks: {one.__name__.replace('_', ' ')}",
                      flush=True)
    return each


def takes_layouts():
    if not all(map(importlib.util.find_spec, ("megatron", "megatron.core"))):
        return False
    from megatron.core.distributed import DistributedDataParallel
    return "full_param_layout" in inspect.signature(DistributedDataParallel).parameters


def main():
    warnings.simplefilter("ignore")
    if not takes_layouts():
        print("skipped: no megatron.core whose DDP takes a full_param_layout, as 0.20 does")
        return SKIPPED
    is_right = on_ranks(1, 2, check(CHECKS)) and on_ranks(2, 2, check(ON_FOUR))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
