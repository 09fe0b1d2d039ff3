#!/usr/bin/python3
"""The PyTorch package in one process, beside torch's own optimizers.

    one.py"""
import sys
import warnings

import torch
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR

import canzona
from canzona.hooks import Checks
from refused import refuses
from small_gpt import ADAMW, HAS_MUON, MUON, RULES, batch, loss_of, make, theirs

STEPS = 20
NEAR = {"adamw": 1e-6, "muon": 1e-3}  # Muon iterates in bf16


def ours(model, rules=ADAMW, **options):
    return canzona.Optimizer(model.named_parameters(), rules, **options)


def train(model, optimizers, steps=range(STEPS), schedulers=(), accumulate=1):
    losses = []
    for step in steps:
        for optimizer in optimizers:
            optimizer.zero_grad()
        for part in range(accumulate):
            loss = loss_of(model, *batch(step, part, accumulate)) / accumulate
            loss.backward()
        for each in (*optimizers, *schedulers):
            each.step()
        losses.append(loss.item())
    return losses


def far(a, b):
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


def same(a, b):
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters()))


def losses_are_those_of_torch():
    for name, rules in RULES.items():
        a, b = make(), make()
        distance = far(train(a, [ours(a, rules)]), train(b, theirs(b, rules)))
        print(f"  {name}: losses within {distance:.1e} of torch's")
        assert distance <= NEAR[name]


def schedulers_change_what_groups_say():
    for scheduler in (lambda o: OneCycleLR(o, 3e-3, total_steps=STEPS),
                      lambda o: LambdaLR(o, lambda step: 1 / (1 + step))):
        a, b = make(), make()
        own, [other] = ours(a), theirs(b, ADAMW)
        distance = far(train(a, [own], schedulers=[scheduler(own)]),
                       train(b, [other], schedulers=[scheduler(other)]))
        assert distance <= NEAR["adamw"], distance
        assert own.param_groups[0]["lr"] == other.param_groups[0]["lr"]
        assert own.param_groups[0]["betas"] == other.param_groups[0]["betas"]


def groups_are_the_uses():
    model = make()
    optimizer = ours(model, MUON)
    assert [group["name"] for group in optimizer.param_groups] == ["matrices", "rest"]
    assert optimizer.param_groups[0]["momentum"] == 0.95
    assert optimizer.param_groups[1]["betas"] == (0.9, 0.999)
    names = [name for name, _ in model.named_parameters()
             if name.startswith("h.") and name.endswith("weight") and "norm" not in name]
    assert optimizer.param_groups[0]["param_names"] == names


def groups_of_torch_are_uses():
    a, b = make(), make()
    own = lambda model: [p for p in model.h.parameters() if p.ndim == 2]
    rest = lambda model: [(name, p) for name, p in model.named_parameters()
                          if not (name.startswith("h.") and p.ndim == 2)]
    optimizer = canzona.Optimizer([
        {"params": own(a), "rule": "muon_torch", "lr": 0.02, "decay": 0.1, "name": "matrices"},
        {"params": rest(a), "rule": "adamw", "lr": torch.tensor(1e-3), "betas": (0.9, 0.95)}])
    other = [torch.optim.Muon(own(b), lr=0.02, weight_decay=0.1),
             torch.optim.AdamW([p for _, p in rest(b)], lr=1e-3, betas=(0.9, 0.95))]
    groups = optimizer.param_groups
    assert [group["name"] for group in groups] == ["matrices", "group1"]
    assert groups[0]["param_names"][:2] == ["matrices.0", "matrices.1"]
    assert groups[1]["param_names"][0] == "mix" and groups[1]["betas"] == (0.9, 0.95)
    assert far(train(a, [optimizer]), train(b, other)) <= NEAR["muon"]
    one = canzona.Optimizer([{"params": make().wte.weight, "rule": "adamw", "lr": 1}])
    assert one.param_groups[0]["param_names"] == ["group0.0"]
    assert "use adamw(lr = 1) as group0 on group0.0" in one.source


def a_closure_and_accumulated_gradients_do_as_in_torch():
    a, b = make(), make()
    own, [other] = ours(a), theirs(b, ADAMW)
    assert far(train(a, [own], accumulate=3), train(b, [other], accumulate=3)) <= 1e-6

    def closure():
        own.zero_grad(set_to_none=False)  # gradients stay where they are
        loss = loss_of(a, *batch(0))
        loss.backward()
        return loss

    assert own.step(closure).item() > own.step(closure).item()


def a_resumed_training_has_the_bits_of_one_that_went_on():
    for rules in RULES.values():
        for dtype in (torch.float32, torch.bfloat16):
            a, b = make(dtype), make(dtype)
            own = ours(a, rules)
            train(a, [own], range(5))
            saved, weights = own.state_dict(), {k: v.clone() for k, v in a.state_dict().items()}
            train(a, [own], range(5, 9))
            other = ours(b, rules)
            other.param_groups[0]["lr"] = 77
            b.load_state_dict(weights)
            other.load_state_dict(saved)
            train(b, [other], range(5, 9))
            assert same(a, b) and other.state[b.wte.weight]["step"] == 9


def bf16_parameters_have_masters():
    a, b = make(torch.bfloat16), make()
    losses = train(a, [ours(a)]), train(b, [ours(b)])
    assert far(*losses) < 0.05 and losses[0][-1] < losses[0][0] - 0.3
    c = make(torch.bfloat16)
    [plain] = theirs(c, ADAMW)  # torch's moments are bf16
    train(c, [plain])
    assert not same(a, c)


def weights_that_are_loaded_stay():
    a = make(torch.bfloat16)
    own, weights = ours(a), {k: v.clone() for k, v in make(torch.bfloat16).state_dict().items()}
    weights["norm.weight"] += 4
    a.load_state_dict(weights)  # before the first step, which makes masters
    train(a, [own], range(1))
    assert (a.norm.weight - 5).abs().max() < 0.1
    a.load_state_dict(weights)
    try:
        train(a, [own], range(1))
        raise AssertionError("the step undid what was loaded")
    except RuntimeError as error:
        assert "mix was written" in str(error), error
    own.renew_masters()
    train(a, [own], range(1))
    assert (a.norm.weight - 5).abs().max() < 0.1


def parameters_may_move_before_the_first_step():
    for dtype in (torch.float32, torch.bfloat16):
        a, b = make(dtype), make(dtype)
        own = ours(a, MUON)
        train(a, [own], range(3))
        saved = own.state_dict()
        train(a, [own], range(3, 5))
        first, moved = ours(b, MUON), make(dtype)
        move = lambda p: setattr(p, "data", p.data.clone())
        move(b.h[1].up.weight)
        train(b, [first], range(3))
        again = ours(moved, MUON)
        moved.load_state_dict({name: p.clone() for name, p in b.state_dict().items()})
        again.load_state_dict(saved)
        for p in (moved.wte.weight, moved.h[0].q.weight, moved.mix):
            move(p)
        train(moved, [again], range(3, 5))
        assert same(a, moved) and again.state[moved.mix]["step"] == 5


class Odd(torch.nn.Module):
    """A scalar, a convolution, a batch of matrices, what is tied, frozen, transposed."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.scale = torch.nn.Parameter(torch.tensor(0.5))
        self.conv = torch.nn.Conv2d(2, 3, 3)
        self.experts = torch.nn.Parameter(torch.randn(3, 4, 5))
        self.slope = torch.nn.Parameter(torch.randn(6, 4).t())  # other strides
        self.again = self.slope
        self.still = torch.nn.Parameter(torch.randn(3), requires_grad=False)

    def forward(self):
        x = self.conv(torch.ones(1, 2, 5, 5)).square().sum() * self.scale
        return x + (self.experts.sum(0) ** 2).sum() + (self.slope ** 4).sum() + self.still.sum()


def odd_parameters_train():
    a, b = Odd(), Odd()
    own, other = ours(a), torch.optim.AdamW(b.parameters(), lr=1e-3)
    for _ in range(5):
        for model, optimizer in ((a, own), (b, other)):
            optimizer.zero_grad()
            model().backward()
            optimizer.step()
    for (name, p), q in zip(a.named_parameters(), b.parameters()):
        assert (p - q).abs().max() < 1e-6, name
    c = Odd()
    rules = "use muon(lr = 0.1) as matrices on experts, slope\nuse adamw(lr = 1e-3) on **"
    own = ours(c, rules)
    c().backward()
    own.step()
    saved = own.state_dict()
    first = saved["state"][saved["param_groups"][0]["params"][0]]
    assert sorted(first) == ["mom[0]", "mom[1]", "mom[2]", "step"], sorted(first)
    own.load_state_dict(saved)


def kernels_of_convolutions_are_matrices():
    """Four dimensions and more: with the bits of the same numbers as a matrix."""
    torch.manual_seed(4)
    kernel, matrix = (torch.nn.Parameter(torch.randn(8, 4, 3, 3)) for _ in range(2))
    matrix.data = kernel.data.reshape(8, 36).clone()
    runs = [canzona.Optimizer([("weight", p)], "use muon(lr = 0.1) on ** where ndim == 2")
            for p in (kernel, matrix)]
    for _ in range(3):
        kernel.grad = torch.randn(8, 4, 3, 3)
        matrix.grad = kernel.grad.reshape(8, 36)
        for own in runs:
            own.step()
        assert torch.equal(kernel.reshape(8, 36), matrix)
    runs[0].load_state_dict(runs[1].state_dict())


def warnings_of_the_compiler_are_pythons():
    kernel = [("conv.weight", torch.nn.Parameter(torch.randn(16, 16, 3)))]
    for make_it in (canzona.Optimizer, canzona.Optimizer, canzona.plan):  # one from the cache
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            make_it(kernel, "use muon(lr = 0.1) on **")
        assert ["E0507" in str(one.message) and "conv.weight" in str(one.message)
                and one.filename == __file__ for one in found] == [True], found
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            make_it(kernel, "use adamw(lr = 0.1) on **")
        assert not found, found


def clips_and_skips():
    a, b = make(), make()
    own = ours(a, schedule="clip norm 0.1, skip nonfinite")
    [other] = theirs(b, ADAMW)
    for step in range(3):
        for model, optimizer in ((a, own), (b, other)):
            optimizer.zero_grad()
            loss_of(model, *batch(step)).backward()
        norm = torch.nn.utils.clip_grad_norm_(b.parameters(), 0.1)
        other.step()
        own.step()
        assert abs(own.grad_norm - norm) < 1e-5 * norm and not own.skipped
    before = [p.detach().clone() for p in a.parameters()]
    a.wte.weight.grad[3, 4] = float("nan")
    own.step()
    assert own.skipped and all(map(torch.equal, before, a.parameters()))


def pairs(optimizer):
    return [(p, p.grad) for group in optimizer.param_groups for p in group["params"]]


def gradients_are_looked_at_as_they_are_made():
    """With the bits of steps that look themselves, whatever comes behind backward."""
    def replace(optimizer):
        for param, grad in pairs(optimizer):
            param.grad = grad * 2
    behind = (lambda _: None, replace,
              lambda own: torch.nn.utils.clip_grad_norm_((p for p, _ in pairs(own)), 0.1))
    for dtype in (torch.float32, torch.bfloat16):
        a, b = make().to(dtype), make().to(dtype)
        looking, reading = ours(a), ours(b, overlap=False)
        assert len(looking._checks.handles) == len(looking.bound) and not reading._checks
        for step in range(6):
            for model, own in ((a, looking), (b, reading)):
                own.zero_grad(set_to_none=step > 2)
                for part in range(2):
                    loss_of(model, *batch(step, part, 2)).backward()
                assert own is reading or len(own._checks.seen) == len(own.bound)
                behind[step % len(behind)](own)
                own.step()
        assert same(a, b), dtype
        looking.close()
        assert not a.wte.weight._post_accumulate_grad_hooks


def what_is_not_finite_writes_nothing():
    """Made by backward, or written behind it; and what was mended since is taken."""
    for overlap in (True, False):
        model = make()
        own = ours(model, overlap=overlap)
        for spoil in (lambda: model.h[1].up.bias.grad.fill_(float("inf")),
                      lambda: (loss_of(model, *batch(1)) * float("nan")).backward(),
                      lambda: setattr(model.wte.weight, "grad",
                                      torch.full_like(model.wte.weight, 1e30))):
            before = [p.detach().clone() for p in model.parameters()]
            own.zero_grad()
            loss_of(model, *batch(0)).backward()
            spoil()
            refuses(canzona.Error, ["not finite"], own.step)
            refuses(canzona.Error, ["not finite"], own.step)
            assert all(map(torch.equal, before, model.parameters()))
            for param in model.parameters():
                param.grad.nan_to_num_(0, 0, 0).clamp_(-1, 1)
            own.step()
            assert not any(map(torch.equal, before, model.parameters()))


def what_is_assumed_to_be_finite_is_told_behind():
    """The same bits where it is; else the next step says which parameter is lost."""
    a, b = make(), make()
    own, looking = ours(a, assume_finite=True), ours(b)
    train(a, [own]), train(b, [looking])
    assert same(a, b) and not a.wte.weight._post_accumulate_grad_hooks
    a.h[1].up.bias.grad[2] = float("inf")
    own.step()
    assert a.h[1].up.bias.isnan().any()
    refuses(canzona.Error, ["h.1.up.bias", "not finite"], own.step)
    refuses(canzona.Error, ["assume_finite", "skip nonfinite"],
            lambda: ours(make(), schedule="skip nonfinite", assume_finite=True))


def gradients_may_lie_anywhere():
    """New ones, with other strides, also where the last one lay; some are none."""
    def one(value):
        return torch.nn.Parameter(torch.full((4, 4), value))

    memory = torch.randn(40)
    square = memory[:16].view(4, 4)
    places = [square, square.t(), square.t(), square, memory[5:21].view(4, 4), None,
              memory.as_strided((4, 4), (8, 1)), square, square.t()]
    for overlap in (True, False):
        a, b = ([("a", one(1.0)), ("b", one(2.0)), ("c", one(3.0))] for _ in range(2))
        runs = [canzona.Optimizer(params, "use muon(lr = 0.1) on b\nuse adamw(lr = 0.1) on **",
                                  overlap=overlap) for params in (a, b)]
        for i, place in enumerate(places):
            for k, ((_, p), (_, q)) in enumerate(zip(a, b)):
                p.grad = place if k < 2 else torch.full((4, 4), float(i))
                q.grad = p.grad if p.grad is None else p.grad.clone()
            for own in runs:
                own.step()
        assert all(torch.equal(p, q) for (_, p), (_, q) in zip(a, b))


def drop_gradients(model, step):
    """A head that is never used, some that are so at times, and once all."""
    for i, (name, param) in enumerate(model.named_parameters()):
        if name == "mix" or (step + i) % 5 == 0 or step == 4:
            param.grad = None


def what_has_no_gradient_stays_as_in_torch():
    for name, rules in RULES.items():
        a, b, c = make(), make(), make()
        own, others, again = ours(a, rules), theirs(b, rules), None
        losses = {a: [], b: [], c: []}
        for step in range(12):
            for model, optimizers in ((a, [own]), (b, others), (c, [again] if again else [])):
                for optimizer in optimizers:
                    optimizer.zero_grad()
                losses[model].append(loss_of(model, *batch(step)))
                losses[model][-1].backward()
                drop_gradients(model, step)
                for optimizer in optimizers:
                    optimizer.step()
            if step == 6:  # a training that goes on from here
                again = ours(c, rules)
                c.load_state_dict(a.state_dict())
                again.load_state_dict(own.state_dict())
        assert same(a, c), name
        steps = {p: state["step"] for one in others for p, state in one.state.items()
                 if "step" in state}
        state = own.state_dict()
        for number, param in enumerate(p for g in own.param_groups for p in g["params"]):
            key = dict(zip(a.parameters(), b.parameters()))[param]
            assert key not in steps or steps[key] == state["state"][number]["step"]
        assert far(losses[a], losses[b]) <= NEAR[name], name


def a_plan_can_be_looked_at():
    plan = canzona.plan(make().named_parameters(), MUON, mesh={"dp": 8}, reduces=True)
    assert "dp 8 = 8 ranks" in str(plan) and "matrices" in str(plan), str(plan)
    assert "mesh dp = 8" in plan.source and "partial over dp" in plan.source
    strict = canzona.plan(make().named_parameters(), MUON, mesh={"dp": 8}, strict=True)
    assert "matrices" in str(strict)
    page = plan._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "muon_torch" in page
    assert page.count("<iframe") == 1 and len(page) > 10000


def compiled_and_wrapped_names_are_the_models():
    model = make()
    named = [(f"_orig_mod.{name}", p) for name, p in model.named_parameters()]
    optimizer = canzona.Optimizer(named, MUON)
    assert optimizer.param_groups[0]["param_names"][0] == "h.0.q.weight"


def main():
    torch.set_num_threads(1)
    Checks.LEAST = 1  # its parameters are small
    for check in (losses_are_those_of_torch, schedulers_change_what_groups_say,
                  groups_are_the_uses, groups_of_torch_are_uses, a_closure_and_accumulated_gradients_do_as_in_torch,
                  a_resumed_training_has_the_bits_of_one_that_went_on,
                  bf16_parameters_have_masters, weights_that_are_loaded_stay,
                  parameters_may_move_before_the_first_step,
                  odd_parameters_train, kernels_of_convolutions_are_matrices,
                  warnings_of_the_compiler_are_pythons, clips_and_skips,
                  gradients_are_looked_at_as_they_are_made, what_is_not_finite_writes_nothing,
                  what_is_assumed_to_be_finite_is_told_behind,
                  gradients_may_lie_anywhere, what_has_no_gradient_stays_as_in_torch, a_plan_can_be_looked_at,
                  compiled_and_wrapped_names_are_the_models):
        if check is groups_of_torch_are_uses and not HAS_MUON:
            continue
        check()
        print(check.__name__.replace("_", " "), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
