"""torchtitan's container of optimizers, in which ours is called "Canzona":

    from canzona.torchtitan import OptimizersContainer

    OptimizersContainer.Config(param_groups=[
        ParamGroupConfig(pattern=r"layers.*weight", optimizer_name="Canzona",
                         optimizer_kwargs={"rule": "muon", "lr": 0.02, "name": "matrices"}),
        ParamGroupConfig(pattern=r".*", optimizer_name="Canzona",
                         optimizer_kwargs={"rule": "adamw", "lr": 3e-4, "name": "rest"})])

All groups of that name are one plan.  optimizer_factory_kwargs_by_name["Canzona"] has
Optimizer's other arguments, rules of one's own too.  Of torchtitan's clipping and the
schedule's `clip`, use one."""
from dataclasses import dataclass

from torchtitan.components import optimizer as titan

from .optimizer import Optimizer


def build(groups, rules="", **options):
    """What torchtitan calls a factory, of groups as it makes them."""
    return Optimizer([{**{key: value for key, value in group.items()
                          if key not in ("param_names", "foreach", "fused")},
                       "params": list(zip(group["param_names"], group["params"]))}
                      for group in groups], rules, **options)


class OptimizersContainer(titan.OptimizersContainer):
    @dataclass(kw_only=True, slots=True)
    class Config(titan.OptimizersContainer.Config):
        pass

    @staticmethod
    def _resolve_optimizer_factory(name):
        if name == "Canzona":
            return build
        return titan.OptimizersContainer._resolve_optimizer_factory(name)

    def load_state_dict(self, state_dict):
        """torchtitan looks for the names of states where ours are the engine's."""
        lent = [(own, own.state) for own in self.optimizers if isinstance(own, Optimizer)]
        for own, _ in lent:
            own.state = own.state_names()
        try:
            super().load_state_dict(state_dict)
        finally:
            for own, state in lent:
                own.state = state
