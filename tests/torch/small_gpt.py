"""A small transformer and its data, for tests of the PyTorch package: drawn from a
seed, the same in every process."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

# What older versions of torch lack, the second on CPUs.
HAS_MUON = hasattr(torch.optim, "Muon")
HAS_FSDP = hasattr(torch.cpu.Stream(), "record_event")

VOCAB, WIDTH, HEADS, CONTEXT, BATCH = 66, 32, 4, 16, 24
EXPERTS, HIDDEN = 8, 24


class Gather(torch.autograd.Function):
    """The batches of all ranks of a group, one behind the other."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group, ctx.n = group, len(x)
        parts = [torch.empty_like(x) for _ in range(group.size())]
        dist.all_gather(parts, x.contiguous(), group)
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad, group=ctx.group)
        return grad.split(ctx.n)[ctx.group.rank()], None


class Reduce(torch.autograd.Function):
    """What all ranks of a group have made of this rank's batch, added up."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group, x = group, x.contiguous()
        dist.all_reduce(x, group=group)
        return x.split(len(x) // group.size())[group.rank()].clone()

    @staticmethod
    def backward(ctx, grad):
        parts = [torch.empty_like(grad) for _ in range(ctx.group.size())]
        dist.all_gather(parts, grad.contiguous(), ctx.group)
        return torch.cat(parts), None


class Experts(nn.Module):
    """All experts see all tokens.  `apart`: a parameter for each matrix, as torch's Muon
    wants them.  With `group` this rank has its own experts, for the batches of all."""

    def __init__(self, apart):
        super().__init__()
        made = (torch.randn(EXPERTS, WIDTH, HIDDEN) / WIDTH ** 0.5,
                torch.randn(EXPERTS, HIDDEN, WIDTH) / HIDDEN ** 0.5)
        self.w_in, self.w_out = (nn.ParameterList(w.unbind()) if apart else nn.Parameter(w)
                                 for w in made)
        self.group = None

    def forward(self, x, shares):
        if self.group is not None:
            x, shares = Gather.apply(x, self.group), Gather.apply(shares, self.group)
        w_in, w_out = ((torch.stack(list(w)) if isinstance(w, nn.ParameterList) else
                        w.to_local() if hasattr(w, "to_local") else w)
                       for w in (self.w_in, self.w_out))
        first = 0
        if self.group is not None:
            first = self.group.rank() * len(w_in)
            for w in (w_in, w_out):  # FSDP averages over the others; losses are means
                w.register_hook(lambda grad: grad / self.group.size())
        shares = shares[..., first:first + len(w_in)]
        made = torch.einsum("btd,edf->btef", x, w_in)
        made = torch.einsum("btef,efd,bte->btd", F.gelu(made), w_out, shares)
        return made if self.group is None else Reduce.apply(made, self.group)


class Block(nn.Module):
    def __init__(self, experts=None):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q = nn.Linear(WIDTH, WIDTH)
        self.k = nn.Linear(WIDTH, WIDTH)
        self.v = nn.Linear(WIDTH, WIDTH)
        self.gate = nn.Linear(WIDTH, HEADS, bias=False)  # few rows, for empty shards
        self.o = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        if experts:
            self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
            self.experts = Experts(experts == "apart")

    def forward(self, x):
        y = self.norm1(x)
        # A rank of tensor parallelism has some of the heads.
        q, k, v = (of(y).unflatten(-1, (-1, WIDTH // HEADS)).transpose(-3, -2)
                   for of in (self.q, self.k, self.v))
        gate = torch.sigmoid(self.gate(y)).unsqueeze(-1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(-3, -2)
        x = x + self.o((gate * y).flatten(-2))
        y = self.norm2(x)
        if hasattr(self, "experts"):
            x = x + self.experts(y, torch.softmax(self.router(y), -1))
        return x + self.down(F.gelu(self.up(y)))


class SmallGpt(nn.Module):
    def __init__(self, layers=2, experts=None):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, WIDTH)
        self.wpe = nn.Embedding(CONTEXT, WIDTH)
        self.mix = nn.Parameter(torch.tensor([[1.0], [0.0]]).repeat(1, WIDTH))
        self.h = nn.ModuleList(Block(experts) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) * self.mix[0] + self.mix[1]
        x = x + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.head(self.norm(x))


def make(dtype=torch.float32, experts=None):
    torch.manual_seed(7)
    return SmallGpt(experts=experts).to(dtype)


ADAMW = "use adamw(lr = 1e-3, decay = 0.01) on **"
MUON = """
use muon_torch(lr = 0.02, decay = 0.1) as matrices on h.**.weight where ndim == 2
use adamw(lr = 1e-3, decay = 0.01)     as rest     on **
"""
MUON_EXPERTS = "use muon_torch(lr = 0.02, decay = 0.1) as experts on h.**.{w_in, w_out}" + MUON
RULES = {"adamw": ADAMW, "muon": MUON} if HAS_MUON else {"adamw": ADAMW}


def theirs(model, rules):
    """torch's own optimizers that do what these rules say."""
    if rules == ADAMW:
        return [torch.optim.AdamW(model.parameters(), lr=1e-3)]
    is_matrix = lambda name, p: name.startswith("h.") and p.ndim == 2
    matrices = [p for name, p in model.named_parameters() if is_matrix(name, p)]
    rest = [p for name, p in model.named_parameters() if not is_matrix(name, p)]
    return [torch.optim.Muon(matrices, lr=0.02, weight_decay=0.1),
            torch.optim.AdamW(rest, lr=1e-3)]


def batch(step, rank=0, ranks=1):
    """Tokens and what follows each: this rank's part of them.  Each token but some is the
    one before it, times 5 and 3 more."""
    random = torch.Generator().manual_seed(1000 + step)
    tokens = torch.randint(VOCAB, (BATCH, CONTEXT + 1), generator=random)
    for i in range(CONTEXT):
        noise = torch.rand(BATCH, generator=random) < 0.1
        tokens[:, i + 1] = torch.where(noise, tokens[:, i + 1], (5 * tokens[:, i] + 3) % VOCAB)
    own = tokens[rank * BATCH // ranks:(rank + 1) * BATCH // ranks]
    return own[:, :-1], own[:, 1:]


def loss_of(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1).float(), targets.flatten())
