"""Megatron-core's trainers, with ours in the place of their optimizer:

    from canzona.megatron import Optimizer

    model = [DistributedDataParallel(config, DistributedDataParallelConfig(), gpt_model)]
    optimizer = Optimizer(OptimizerConfig(clip_grad=1.0), model, '''
        use muon(lr = 0.02, decay = 0.1) as matrices on decoder.**.weight where ndim == 2
        use adamw(lr = 3e-4, decay = 0)  as rest     on **
    ''')
    scheduler = OptimizerParamScheduler(optimizer, ...)

Shards along tp are read from the parameters, replicas from the process groups of data and
context parallelism.  A gate and an up matrix that one tensor joins are two matrices to
rules, `NAME[gate]` and `NAME[up]`.  DDP has averaged whole gradients; without DDP `.grad`
is as the trainer has made it.

Under use_distributed_optimizer (Megatron-core 0.20) DDP reduces each bucket to slices, and
the plan lays its buffers out:

    config = OptimizerConfig(use_distributed_optimizer=True)
    ddp_config = DistributedDataParallelConfig(use_distributed_optimizer=True)
    layout = compute_full_param_layout(config, ddp_config, gpt_model, rules)
    model = [DistributedDataParallel(transformer_config, ddp_config, gpt_model,
                                     full_param_layout=layout)]
    optimizer = Optimizer(config, model, rules)"""
import re

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.dist_checkpointing.dict_utils import nested_values
from megatron.core.dist_checkpointing.mapping import ShardedTensor, ShardedTensorFactory
from megatron.core.optimizer.optimizer import MegatronOptimizer
from torch.distributed.tensor import Shard

from . import buffers, layout, optimizer

# Of OptimizerConfig: what would have no effect, or another one.
REFUSED = ("use_precision_aware_optimizer", "use_layer_wise_distributed_optimizer",
           "optimizer_cpu_offload", "overlap_param_gather", "log_num_zeros_in_grad", "fp16")
# Likewise of the DDP's under use_distributed_optimizer: its buckets are the plan's, which
# gathers parameters itself.
REFUSED_OF_DDP = ("overlap_param_gather", "pad_buckets_for_high_nccl_busbw")
# Of a parameter, where it is true: how it lies or is reduced, as no plan does it.
WITHOUT_PLAN = {
    "shared": "tied to a parameter of another pipeline stage",
    "is_gtp_weight_remat": "sharded over gtp",
    "__fsdp_param__": "Megatron's FSDP shards it",
    "partition_sizes": "a rank has shards of several tensors of unequal rows"}


class Groups(layout.Mesh):
    """How Megatron's process groups factor the ranks of this pipeline stage.  `pg_collection`
    has `tp` and `dp_cp`; `expt_tp` with experts, `pp` with several stages.  `ddp_config`: of
    the DDP that will be made of these parameters.  Collective."""

    def __init__(self, params, pg_collection, ddp_config=None):
        if pg_collection is None:
            tp = parallel_state.get_tensor_model_parallel_group()
            dp = parallel_state.get_data_parallel_group(with_context_parallel=True)
            pp = parallel_state.get_pipeline_model_parallel_group()
            etp = parallel_state.get_expert_tensor_parallel_group()
        else:
            tp, dp, pp, etp = (getattr(pg_collection, name, None) for name in
                               ("tp", "dp_cp", "pp", "expt_tp"))
        own, of_all = dist.get_process_group_ranks(tp), [None] * dp.size()
        dist.all_gather_object(of_all, own, dp)
        self.ranks, self.experts = sum(of_all, []), {}
        self.of_dp, self.groups = dist.get_process_group_ranks(dp), (dp, tp)
        self.axes = {"dp": dp.size(), "tp": tp.size()}
        self.stages, self.expert_tp = (1 if group is None else group.size()
                                       for group in (pp, etp))
        self.ddp_config, has_ddp = ddp_config, any(hasattr(p, "main_grad") for p in params)
        self.word = "main_grad" if has_ddp and not ddp_config else "grad"

    def agree(self, failure, text):
        """Raises `failure`, or that of another rank, or that ranks have other texts."""
        found = [(failure and f"{type(failure).__name__}: {failure}", text)]
        for group in self.groups:
            of_all = [None] * group.size()
            dist.all_gather_object(of_all, found, group)
            found = sum(of_all, [])
        if failure:
            raise failure
        for why, other in found:
            if why:
                raise RuntimeError(f"another rank has failed: {why}")
            if other != text:
                raise ValueError("ranks have other rules or parameters")

    def axis_placements(self, name, param):
        for word, why in WITHOUT_PLAN.items():
            if getattr(param, word, False):
                raise ValueError(f"{name}: {why}, which no plan does")
        is_apart = self.expert_tp != self.axes["tp"] and "experts" in name.split(".")
        if is_apart or not getattr(param, "allreduce", True):
            raise ValueError(f"{name}: an expert's, of ranks that are not those of all else, "
                             "has no plan under Megatron")
        if not hasattr(param, self.word):
            raise ValueError(f"{name} has no {self.word}, as others have: it is not in the "
                             "DDP that reduces gradients")
        if self.axes["tp"] == 1 or not getattr(param, "tensor_model_parallel", False):
            return []
        return [("tp", Shard(param.partition_dim), self.axes["tp"])]

    def whole_shape(self, name, param):
        shape = list(param.shape)
        for _, placement, size in self.axis_placements(name, param):
            shape[placement.dim] *= size
        return shape

    def pieces(self, name, param):
        stride = getattr(param, "partition_stride", 1)
        if stride == 1:
            return ()
        if stride != 2 or param.partition_dim != 0:
            raise ValueError(f"{name}: partition_stride {stride} of dimension "
                             f"{param.partition_dim}, where 2 of dimension 0 has a plan")
        return "gate", "up"

    def grad_of(self, param):
        return getattr(param, self.word, None)

    def grad_dtype(self, param):
        if self.ddp_config:
            return torch.float32 if self.ddp_config.grad_reduce_in_fp32 else param.dtype
        grad = self.grad_of(param)
        return param.dtype if grad is None else grad.dtype


def _named(model_chunks):
    """Of all chunks, as the innermost modules call them."""
    for i, chunk in enumerate(model_chunks):
        while isinstance(getattr(chunk, "module", None), torch.nn.Module):
            chunk = chunk.module
        for name, param in chunk.named_parameters():
            yield f"model{i}.{name}" if len(model_chunks) > 1 else name, param


def _clauses(config, groups, schedule, has_slices):
    """The schedule's."""
    if config.clip_grad > 0:
        schedule += f"\n    clip norm {config.clip_grad!r}"
    if groups.stages > 1 and re.search(r"\b(clip|skip)\b", schedule):
        raise ValueError("clip_grad, clip and skip would ask the gradients of one of "
                         f"{groups.stages} pipeline stages alone")
    return schedule + (buffers.CLAUSES if has_slices else "")


def _check_ddp(ddp_config):
    for word in REFUSED_OF_DDP:
        if getattr(ddp_config, word, False):
            raise ValueError(f"{word} of DDP's configuration has no meaning for a plan")
    if getattr(ddp_config, "num_distributed_optimizer_instances", 1) != 1:
        raise ValueError("num_distributed_optimizer_instances: a plan has one")


def _sliced(model_chunks):
    """The DDP that reduces gradients to slices, or None."""
    found = [module for chunk in model_chunks for module in (chunk, *chunk.children())
             if getattr(getattr(module, "ddp_config", None), "use_distributed_optimizer", False)]
    if found and len(model_chunks) > 1:
        raise ValueError("use_distributed_optimizer: a plan lays out the buffers of one model "
                         f"chunk, and there are {len(model_chunks)}")
    return found[0] if found else None


def compute_full_param_layout(config, ddp_config, model_chunk, rules, *, pg_collection=None,
                              schedule="", strict=False):
    """DDP's full_param_layout of the plan that Optimizer will have of the same arguments.
    Before there is a DDP; collective over tp, dp and cp, where what is wrong on one rank is
    an exception on all."""
    params = list(_named([model_chunk]))
    groups = Groups([param for _, param in params], pg_collection, ddp_config)
    source, failure, found = "", None, None
    try:
        _check_ddp(ddp_config)
        named, rules = layout.read(params, rules)
        source = layout.source(named, groups, rules, False,
                               _clauses(config, groups, schedule, True))
        placed = buffers.places(source, strict, len(groups.of_dp))
        found = buffers.full_param_layout(named, placed, ddp_config, len(groups.of_dp))
    except Exception as error:
        failure = error
    groups.agree(failure, source)
    return found


class Optimizer(MegatronOptimizer):
    """Of `config` it takes clip_grad.  `rules`, `schedule`, `strict` and `deadline` are
    those of canzona.Optimizer, which is self.optimizer.  With several model_chunks names
    begin with theirs, model0.  `pg_collection`: Megatron's, else parallel_state's groups.

    Each `use` is a group.  Its lr is the max_lr, its decay start_wd and end_wd of the
    group, which a scheduler prefers to its own: take these from the group for the
    scheduler's.

    Construction, step and all about checkpoints are collective over tp, dp and cp.  So is
    state_dict, which not all ranks call where a checkpoint is not torch_dist."""

    is_stub_optimizer = False

    def __init__(self, config, model_chunks, rules, *, pg_collection=None, schedule="",
                 strict=False, deadline=600):
        for word in REFUSED:
            if getattr(config, word, False):
                raise ValueError(f"{word} of the optimizer's configuration has no meaning "
                                 "for a plan")
        sliced = _sliced(model_chunks)
        if sliced:
            _check_ddp(sliced.ddp_config)
        elif getattr(config, "use_distributed_optimizer", False):
            raise ValueError("use_distributed_optimizer of the optimizer's configuration, and "
                             "not of a DDP's")
        params = list(_named(model_chunks))
        groups = Groups([param for _, param in params], pg_collection)
        super().__init__(optimizer.Optimizer(
            params, rules, mesh=groups, overlap=False,
            schedule=_clauses(config, groups, schedule, sliced), strict=strict,
            deadline=deadline), config)
        if sliced:
            self._check_layout(sliced, groups, strict)
        for group in self.param_groups:
            group.update(lr_mult=1.0, wd_mult=1.0, default_config=True,
                         is_expert_parallel=False, is_decoupled_lr=False)
            if "lr" in group:
                group["max_lr"] = group["lr"]
            if "decay" in group:
                group.update(dict.fromkeys(("weight_decay", "start_wd", "end_wd"),
                                           group["decay"]))

    def _check_layout(self, ddp, groups, strict):
        """Collective, before any step."""
        with self.optimizer._together():
            named = {one.name: one.param for one in self.optimizer.bound}
            placed = buffers.places(self.optimizer.source, strict, len(groups.of_dp))
            buffers.check(ddp, named, placed, groups.of_dp)

    # ---- a step -------------------------------------------------------------
    def prepare_grads(self):
        """main_grad is read where it lies; `skip nonfinite` is a clause of the schedule."""
        return False

    def step_with_ready_grads(self):
        for group in self.param_groups:
            if "decay" in group:
                group["decay"] = group["weight_decay"]
        self.optimizer.step()
        return not self.optimizer.skipped

    def step(self):
        """Whether it updated, the norm before clipping, and no number of zeros."""
        self.prepare_grads()
        is_done = self.step_with_ready_grads()
        return is_done, self.optimizer.grad_norm if self.config.clip_grad > 0 else None, None

    def get_grads_for_grad_norm(self, grad_norm_group=None):
        """For get_grad_norm and clip_grad_norm, as ChainedOptimizer calls them."""
        raise RuntimeError("the plan clips in its step, by clip_grad of the configuration")

    get_main_grads_for_grad_norm = get_grads_for_grad_norm  # as it was called

    def count_zeros(self):
        raise RuntimeError("nobody counts zeros of gradients here")

    def zero_grad(self, set_to_none=True):
        """DDP zeroes main_grad."""
        self.optimizer.zero_grad(set_to_none)

    def get_loss_scale(self):
        return torch.ones(1)

    def reload_model_params(self, state_dict=None):
        if state_dict is not None:
            raise ValueError("masters are made anew from the model's parameters alone")
        self.optimizer.renew_masters()

    # ---- checkpoints --------------------------------------------------------
    def state_dict(self):
        return self.optimizer.state_dict()

    @staticmethod
    def _start(window):
        return tuple(part.start for part in window)

    def _boxes(self):
        """(label, parameter, name of the state, its tensor, window, memory) of all that
        this rank has."""
        name_of = {one.param: one.name for one in self.optimizer.bound}
        for param, state, tensor, boxes in self.optimizer._checkpoint():
            for window, memory in boxes:
                if memory.numel():
                    at = ",".join(map(str, self._start(window)))
                    yield f"{name_of[param]} {state} {at}", param, state, tensor, window, memory

    def sharded_state_dict(self, model_sharded_state_dict, is_loading=False, metadata=None):
        """A box of a state is a ShardedTensor under the key of its parameter; one of the
        ranks that have it is the main replica."""
        of_model = {id(item.data): item for item in nested_values(model_sharded_state_dict)
                    if isinstance(item, (ShardedTensor, ShardedTensorFactory))}
        rank, found = 1 + dist.get_rank(), {}  # without regular grid axes are not prepended
        with self.optimizer._together():
            for label, param, state, tensor, window, memory in self._boxes():
                if id(param) not in of_model:
                    raise ValueError(f"{label.split()[0]} is not in the model's sharded state "
                                     "dict, or not itself: keep_vars=True")
                own = of_model[id(param)]
                layers = own if isinstance(own, ShardedTensor) else next(
                    nested_values(own.build()))
                n = layers.prepend_axis_num
                data = memory[(None,) * n]
                found[label] = ShardedTensor(
                    f"optimizer.state.{state}.{own.key}",
                    data.clone() if is_loading else data, data.dtype, tuple(data.shape),
                    (*layers.global_shape[:n], *tensor.shape[:len(window)]),
                    (*layers.global_offset[:n], *self._start(window)), None,
                    replica_id=0 if tensor.is_main else rank,
                    allow_shape_mismatch=layers.allow_shape_mismatch)
            step = self._extract_common_per_param_step({"state": {
                one.name: {"step": int(self.optimizer._step_of(one))}
                for one in self.optimizer.bound}})
        return {"step": step, "state": found, "param_groups": [
            {key: value for key, value in group.items() if key not in ("params", "param_names")}
            for group in self.param_groups]}

    def load_state_dict(self, state_dict):
        """What state_dict has made, or what dist_checkpointing.load makes of a
        sharded_state_dict."""
        if "step" not in state_dict:
            self.optimizer.load_state_dict(state_dict)
            return
        found = state_dict["state"]
        saved = {group["name"]: group for group in state_dict["param_groups"]}
        with self.optimizer._together():
            for group in self.param_groups:
                if group["name"] not in saved:
                    raise ValueError(f"a state of groups {list(saved)}, without {group['name']}")
            values = {}
            for label, param, state, _, window, memory in self._boxes():
                value = found.get(label)
                if value is None or value.shape[-memory.dim():] != memory.shape:
                    raise ValueError(f"{label}: not in the state, or of another shape")
                values[param, state, self._start(window)] = value.reshape(memory.shape)
        for group in self.param_groups:
            group.update(saved[group["name"]])
        with torch.no_grad():
            self.optimizer._fill(
                lambda param, state, window: values[param, state, self._start(window)],
                [state_dict["step"]] * len(self.optimizer.bound))
