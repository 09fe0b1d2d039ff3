"""Buffers of Megatron-core's DDP under use_distributed_optimizer, as a plan lays them out:
each rank has the reduced gradients of its slice of each bucket, and of no other."""
import dataclasses
import functools
import json
import pathlib
import tempfile

from . import program

CLAUSES = "\n    geometry padded, layout trainer"


@functools.lru_cache(maxsize=8)
def _plan(source, strict):
    options = ["--strict"] if strict else []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, f"{program.NAME}.cz")
        file.write_text(source, encoding="utf-8")
        words, _ = program.canzona("plan", *options, "--json", file.name, folder=folder)
    return json.loads(words)


@dataclasses.dataclass(frozen=True)
class Place:
    """Elements [start, end) of bucket number `bucket`, of `length`; `is_owned`: each of
    its matrices lies in one slice."""
    bucket: int
    start: int
    end: int
    length: int
    is_owned: bool

    def __str__(self):
        return f"[{self.start}, {self.end}) of {self.length} elements"


def _whole(name, pieces):
    """Of a stored tensor: its only piece, or several, one behind the other."""
    pieces.sort(key=lambda p: p["stored"]["map"][0] if p["stored"] else 0)
    end = pieces[0]["offset"]
    for piece in pieces:
        if (piece["bucket"], piece["offset"]) != (pieces[0]["bucket"], end):
            raise ValueError(f"{name}: the plan has {piece['name']} apart from {pieces[0]['name']}, "
                             "where DDP's buffers have the tensor in one run: one rule for all "
                             "pieces, each of a multiple of 16 elements, has them so")
        end += piece["local_elements"]
    return pieces[0]["bucket"], pieces[0]["offset"], end


def places(source, strict, ranks):
    """Where each stored tensor lies, by name.  ValueError where slices are not equal parts
    of so many ranks."""
    plan, pieces = _plan(source, strict), {}
    for bucket in plan["buckets"]:
        n = bucket["length"] // ranks
        if bucket["slices"] != [n * rank for rank in range(ranks + 1)]:
            raise ValueError(f"the plan's buckets have no equal slices for {ranks} ranks of "
                             "data parallelism: states are split over dp, `geometry padded`")
    for piece in plan["parameters"]:
        pieces.setdefault((piece["stored"] or piece)["name"], []).append(piece)
    found = {}
    for name, own in pieces.items():
        number, start, end = _whole(name, own)
        bucket = plan["buckets"][number]
        found[name] = Place(number, start, end, bucket["length"], bucket["kind"] == "owned")
    return found


def per_buffer(names, placed, params, PerBuffer):
    """Of one buffer: the parameters in the order of the module, and where each is."""
    found, numbers, starts = {}, {}, [0]
    for param in reversed(params):
        place = placed[names[param]]
        if place.bucket not in numbers:
            numbers[place.bucket] = len(numbers)
            starts.append(starts[-1] + place.length)
        elif numbers[place.bucket] != len(numbers) - 1:
            raise ValueError(f"{names[param]}: its bucket is no run of the parameters as "
                             "gradients come to them, backwards through the module")
        base = starts[numbers[place.bucket]]
        found[param] = base + place.start, base + place.end, numbers[place.bucket]
    unpadded = [0] * len(numbers)
    for param, (_, _, number) in found.items():
        unpadded[number] += param.numel()
    return PerBuffer(param_index_map=found, bucket_indices=list(zip(starts, starts[1:])),
                     per_bucket_numel_unpadded=unpadded)


def full_param_layout(params, placed, ddp_config, ranks):
    """Megatron's FullParamLayout of these places.  Parameters know in which buffer they
    lie: matrices in one, what is cut anywhere in another."""
    try:
        from megatron.core.distributed.param_and_grad_buffer import group_params_for_buffers
        from megatron.core.optimizer.param_layout import FullParamLayout, PerBufferParamLayout
    except ImportError as error:
        raise RuntimeError("this Megatron-core takes no full_param_layout, as 0.20 "
                           "does") from error
    names = {param: name for name, param in params.items()}
    for name, param in params.items():
        param.is_managed_by_layer_wise_optimizer = placed[name].is_owned
    layouts, buffer_of = {}, {}
    groups = group_params_for_buffers(list(params.values()), ddp_config.grad_reduce_in_fp32)
    for key, (own, indices) in groups.items():
        for param in own:
            other = buffer_of.setdefault(placed[names[param]].bucket, key)
            if other != key:
                raise ValueError(f"{names[param]}: its bucket lies in two buffers of DDP, "
                                 f"{other} and {key}")
        one = per_buffer(names, placed, own, PerBufferParamLayout)
        one.param_indices, one.num_optimizer_shards = indices, ranks
        layouts[key] = one
    return FullParamLayout(layouts=layouts)


def check(ddp, params, placed, ranks):
    """ValueError unless gradients lie in DDP's buffers as the plan has them; ranks: of
    data parallelism, in order."""
    import torch.distributed as dist
    found = {}
    for buffer in [*ddp.buffers, *ddp.expert_parallel_buffers]:
        own = dist.get_process_group_ranks(buffer.data_parallel_group)
        for bucket in buffer.buckets:
            for param in bucket.params:
                found[param] = bucket, own
    buckets = {}
    for name, param in params.items():
        place = placed[name]
        bucket, own = found[param]
        if own != ranks:
            raise ValueError(f"{name}: DDP reduces its gradient over ranks {own}, the plan "
                             f"over {ranks}")
        n = bucket.grad_data.element_size()
        start = (param.main_grad.data_ptr() - bucket.grad_data.data_ptr()) // n
        there = dataclasses.replace(place, start=start, end=start + param.numel(),
                                    length=bucket.grad_data.numel())
        if there != place or buckets.setdefault(place.bucket, bucket) is not bucket:
            raise ValueError(
                f"{name} lies at {there} of its bucket in DDP, in the plan at {place}: "
                "full_param_layout of this DDP is not what compute_full_param_layout has of "
                "the same configuration, rules and schedule")
