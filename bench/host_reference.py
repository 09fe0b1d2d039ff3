"""SOAP and Distributed Shampoo as their sources state them, plainly in PyTorch, one
matrix and one call at a time.  Each makes a state of a parameter and changes both at
every call; neither knows ours."""
import torch


class Soap:
    """nikhilvyas/SOAP, soap.py: precondition_frequency, both sides."""
    betas, eps, decay = (0.95, 0.95), 1e-8, 0.01

    def __init__(self, param, lr, interval):
        self.param, self.lr, self.interval = param, lr, interval
        self.mom, self.square = torch.zeros_like(param), torch.zeros_like(param)
        self.factors = [torch.zeros(n, n) for n in param.shape]
        self.bases, self.k = None, 0

    def enter(self, x):
        for basis in self.bases:
            x = torch.tensordot(x, basis, dims=[[0], [0]])
        return x

    def leave(self, x):
        for basis in self.bases:
            x = torch.tensordot(x, basis, dims=[[0], [1]])
        return x

    def add(self, grad):
        for side, factor in enumerate(self.factors):
            other = [[1 - side], [1 - side]]
            factor.lerp_(torch.tensordot(grad, grad, dims=other),
                         1 - self.betas[1])

    def first_bases(self):
        return [torch.flip(torch.linalg.eigh(f + 1e-30 * torch.eye(len(f)))[1],
                           [1]) for f in self.factors]

    def next_bases(self):
        bases = []
        for side, (factor, basis) in enumerate(zip(self.factors, self.bases)):
            order = torch.argsort(torch.diag(basis.T @ factor @ basis),
                                  descending=True)
            self.square = self.square.index_select(side, order)
            bases.append(torch.linalg.qr(factor @ basis[:, order])[0])
        return bases

    def step(self, grad):
        if self.bases is None:
            self.add(grad)
            self.bases = self.first_bases()
            return
        self.k += 1
        b1, b2 = self.betas
        turned = self.enter(grad)
        self.mom.mul_(b1).add_(turned, alpha=1 - b1)
        self.square.mul_(b2).add_(turned.square(), alpha=1 - b2)
        size = self.lr * (1 - b2 ** self.k) ** 0.5 / (1 - b1 ** self.k)
        move = self.leave(self.mom / self.square.sqrt().add_(self.eps))
        self.param.add_(move, alpha=-size)
        self.param.add_(self.param, alpha=-self.lr * self.decay)
        self.mom = self.leave(self.mom)
        self.add(grad)
        if self.k % self.interval == 0:
            self.bases = self.next_bases()
        self.mom = self.enter(self.mom)


class Shampoo:
    """facebookresearch/optimizers, distributed_shampoo, EigenConfig, no grafting:
    sums of factors, roots at the calls that `interval` divides."""
    beta, eps = 0.9, 1e-12

    def __init__(self, param, lr, interval):
        self.param, self.lr, self.interval = param, lr, interval
        self.mom = torch.zeros_like(param)
        self.factors = [torch.zeros(n, n) for n in param.shape]
        self.roots = [torch.eye(n) for n in param.shape]
        self.t = 0

    def root(self, factor):
        values, vectors = torch.linalg.eigh(factor)
        values -= torch.clamp(values.min(), max=0)
        values += self.eps
        return vectors * values.pow(-0.25).unsqueeze(0) @ vectors.T

    def step(self, grad):
        self.t += 1
        for side, factor in enumerate(self.factors):
            factor.add_(torch.tensordot(grad, grad,
                                        dims=[[1 - side], [1 - side]]))
        if self.t % self.interval == 0:
            self.roots = [self.root(f) for f in self.factors]
        self.mom.lerp_(grad, 1 - self.beta)
        move = self.mom / (1 - self.beta ** self.t)
        for root in self.roots:
            move = torch.tensordot(move, root, dims=[[0], [0]])
        self.param.add_(move, alpha=-self.lr)
