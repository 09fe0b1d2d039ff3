"""Distributed matrix optimizers, planned and compiled, as a torch.optim.Optimizer.

    import canzona

    optimizer = canzona.Optimizer(model.named_parameters(), '''
        use muon(lr = 0.02)             as matrices on h.**.weight where ndim == 2
        use adamw(lr = 3e-4, decay = 0) as rest     on **
    ''')

How the parameters are sharded is read from the live model: plain tensors, those of
DDP, FSDP2, tensor parallelism, both together, and experts beside FSDP2.  canzona.plan
shows what an optimizer would do.
"""
from .czr import Error
from .optimizer import Optimizer
from .preview import Plan, plan

__all__ = ["Error", "Optimizer", "Plan", "plan"]
