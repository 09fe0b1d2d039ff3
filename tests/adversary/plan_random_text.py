"""Random valid programs for the planner: one method for each part of the
language.  Every parameter, rule and clause stands on a line of its own, so that
a program becomes smaller line by line."""
import math
import random

RULES = {
    "careful(lr = 0.1)": """optimizer careful(lr, momentum = 0.9) for [m, n] {
    state mom, slow : f32[m, n] = 0
    mom <- ema(mom, grad, momentum)
    slow <- ema(slow, mom, 0.5)
    o = mom / (norm(mom) + 1e-7)
    param <- param - lr * (where(o * grad > 0, o, 0) + 0.1 * slow)
}""",
    "edges(lr = 0.1)": """optimizer edges(lr) for [m, n] {
    u = grad / (sum(grad * grad, 1) + 1e-3)
    param <- param - lr * (u + grad / (sum(grad * grad, 0) + 1e-3))
}""",
    "two_sided(lr = 0.1)": """optimizer two_sided(lr) for [m, n] {
    state mom : f32[m, n] = 0
    mom <- ema(mom, grad, 0.9)
    left = mom @ mom'
    right = mom' @ mom
    param <- param - lr * (left @ mom + mom @ right)
}""",
    "rooted(lr = 0.1)": """optimizer rooted(lr, momentum = 0.9) for [m, n] {
    state mom : f32[m, n] = 0
    state left, base : f32[m, m] = 0
    state columns : f32[1, n] = 0
    mom <- ema(mom, grad, momentum)
    first { left <- grad @ grad' } else { left <- ema(left, grad @ grad', 0.5) }
    columns <- ema(columns, sum(grad * grad, 0), 0.5)
    every 4 from 1 stagger {
        base <- cholesky(symmetric(left + (1 + norm(left)) * eye(left)))
    }
    param <- param - lr * (base @ mom) / (1 + columns)
}""",
    "placed(lr = 0.1)": """optimizer placed(lr) for [m, n] {
    state mom : f32[m, n] = 0
    mom <- ema(mom, triu(grad) - tril(grad), 0.9)
    u = mom * uniform(mom, 1, t) + 0.01 * row(mom)
    param <- param - lr * u / (norm(u) + 1e-7)
}""",
    "headed(lr = 0.1)": """optimizer headed(lr, heads = 3) for [m, n] {
    extern limit : f32[heads]
    extern gain : f32
    extern mask : f32[m]
    state seen : f32[heads, 1] = 0
    seen <- ema(seen, limit, 0.5)
    param <- param - lr * mask * grad * gain / (1 + norm(seen))
}""",
    "chained(lr = 0.1)": """def rows_normalised(x, m) {
    state v : f32[m, 1]
    v <- ema(v, mean(x * x, 1), 0.9)
    return x / (sqrt(v) + 1e-8)
}
def softened(x) { return x / (1 + abs(x)) }
optimizer chained(lr) for [m, n] {
    slow = averaged(grad, 0.99)
    param <- lerp(slow, averaged(grad, 0.9), 0.5) |> rows_normalised(m) |> softened() |> polar(quintic) |> descended(param, lr)
}""",
    "even(lr = 0.1)": """optimizer even(lr) for [m, n] {
    state left : f32[m, m] = identity
    state right : f32[n, n] = 0.1 * identity
    state turned : f32[n, m] = 0
    left <- ema(left, grad @ grad', 0.9)
    right <- ema(right, symmetric(param' @ param), 0.9)
    every 3 { turned <- right @ grad' }
    param <- param - lr * root(left, -1/4, 1e-3) @ (grad + 0.1 * turned') / (1 + norm(right))
}""",
    "normuon(lr = 0.01)": "",
    "kl_shampoo(lr = 0.01, interval = 3)": "",
    "soap(lr = 0.01)": "",
    "shampoo(lr = 0.01)": "",
    "adafactor(lr = 0.01)": "",
    "muon(lr = 0.02)": "",
    "muon(lr = 0.02, precision = f32)": "",
    "muon(lr = 0.02, coefficients = polar_express)": "",
}
ELSEWHERE = {
    "lookahead(lr = 0.1)": """optimizer lookahead(lr) for any {
    state mom, slow : f32
    first { slow <- param } else { mom <- ema(mom, grad, 0.9) }
    next = param - lr * mom
    every 5 stagger { next = lerp(slow, next, 0.5) }
    param <- next
}""",
    "adamw(lr = 0.01)": "",
    "sgd(lr = 0.1, nesterov = true)": "",
    "sgd(lr = 0.1, decay = 0.1)": "",
}
OTHERS = tuple(ELSEWHERE)
MACHINES = ("h100", "h200", "h800", "a100", "b200", "notes")
PRIMES = (2, 3, 5, 7, 11, 13)
MOST_RANKS = 96


class Writer:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.size = {}      # axes of both meshes
        self.params = []    # names, without the layers' part
        self.wide = self.r.choice((2, 8, 8, 40, 200))

    def chance(self, one_in):
        return self.r.randrange(one_in) == 0

    # ---- mesh ----

    def draw_sizes(self):
        r = self.r
        style = r.choice(("one", "primes", "powers", "powers", "any", "wide"))
        size = {"pp": 1, "dp": 1, "fsdp": 1, "cp": 1, "tp": 1}
        if style == "primes":
            size.update(dp=r.choice(PRIMES), tp=r.choice((1, *PRIMES[:4])))
        elif style == "powers":
            size.update(dp=2 ** r.randrange(5), tp=2 ** r.randrange(4))
        elif style == "any":
            size.update(dp=r.randint(1, 12), tp=r.randint(1, 6))
        elif style == "wide":
            size.update(dp=r.randint(16, MOST_RANKS), tp=r.randint(1, 2))
        if style != "one" and self.chance(3):
            size[r.choice(("fsdp", "cp"))] = r.choice((2, 3, 4))
        if style != "one" and self.chance(3):
            size["pp"] = r.choice((2, 3, 4))
        return size

    def mesh(self):
        while True:
            self.size = self.draw_sizes()
            if math.prod(self.size.values()) <= MOST_RANKS:
                break
        axes = [f"{a} = {n}" for a, n in self.size.items()
                if n > 1 or a == "dp" or self.chance(6)]
        yield "mesh " + ", ".join(axes)
        self.size.update(ep=1, edp=0, etp=self.size["tp"])
        if self.size["fsdp"] == 1 and self.chance(2):
            yield from self.experts()

    def experts(self):
        """ep in dp, or all of tp and a part of dp."""
        s, r = self.size, self.r
        part = r.choice([k for k in range(1, s["dp"] + 1) if s["dp"] % k == 0])
        s["edp"] = s["dp"] // part
        s["ep"] = part * s["cp"]
        if s["tp"] > 1 and self.chance(2):
            s["ep"], s["etp"] = s["ep"] * s["tp"], 1
        stages = f"pp = {s['pp']}, " if self.chance(4) else ""
        yield (f"mesh experts {stages}edp = {s['edp']}, ep = {s['ep']}, "
               f"etp = {s['etp']}")

    # ---- tensors ----

    def length(self, axis=None):
        base = math.lcm(self.size["tp"], self.size["etp"])
        n = base * self.r.randint(1, self.wide)
        if axis == "tp" and self.chance(8):
            return f"pad({self.r.randint(1, n)}, {base})/tp"
        return f"{n}/{axis}" if axis else str(n)

    def dimensions(self, axis):
        """Two, one of them cut, or none."""
        cut = self.r.choice((0, 1, None))
        return [self.length(axis if d == cut else None) for d in range(2)]

    def dtype(self):
        return self.r.choice(("", "", "f32", "bf16"))

    def matrix(self, axis="tp"):
        end = " stored transposed" if self.chance(6) else ""
        return f"{self.dtype()}[{', '.join(self.dimensions(axis))}]{end}"

    def fused(self):
        n, tp = self.r.randint(1, 4), self.size["tp"]
        period = tp * self.r.randint(2, 2 + self.wide)
        first = self.r.randint(1, period - 1)
        shape = [f"{n * period}/tp", str(self.r.randint(1, 9 * self.wide))]
        turned = self.chance(4)
        return (f"{self.dtype()}[{', '.join(shape[::-1] if turned else shape)}]"
                f"{' stored transposed' if turned else ''} blocks {n} "
                f"{{ a = {first}, b = {period - first} }}")

    def batch(self, first, axis="tp"):
        return f"{self.dtype()}[{first}, {', '.join(self.dimensions(axis))}]"

    def vector(self):
        return f"{self.dtype()}[{self.length('tp' if self.chance(4) else None)}]"

    # ---- model ----

    def name(self, kind):
        self.params.append(f"{kind}{len(self.params)}")
        return self.params[-1]

    def in_layer(self):
        """One line of a layer."""
        experts = self.size["ep"] * self.r.randint(1, 4)
        kind = self.r.randrange(12 if self.size["edp"] else 9)
        if kind == 0:
            return f"{self.name('m')} : {self.fused()}"
        if kind == 1:
            return f"{self.name('m')} : {self.batch(self.r.randint(1, 5))}"
        if kind == 2:
            return f"{self.name('f')} : {self.matrix()} frozen"
        if kind == 3:
            name = self.name("m")
            return (f"if i < 1 {{ {name} : {self.matrix()} }} else "
                    f"{{ {name} : {self.matrix()} }}")
        if kind < 6:
            return f"{self.name('v')} : {self.vector()}"
        if kind < 9:
            return f"{self.name('m')} : {self.matrix()}"
        if kind == 9:
            return f"{self.name('m')} : {self.batch(f'{experts}/ep', 'etp')}"
        self.params.append("e.m")
        return (f"e{len(self.params)}[x < {experts}/ep].m : "
                f"{self.matrix('etp')}")

    def layer_count(self):
        """How many, and the clause that deals them out."""
        pp, r = self.size["pp"], self.r
        if pp == 1 or self.chance(2):
            return pp * r.randint(1, 6), ""
        each = [r.randint(0, 4) for _ in range(pp)]
        each[r.randrange(pp)] += 1
        return sum(each), f"pipeline ({', '.join(map(str, each))})"

    def model(self):
        count, self.pipeline = self.layer_count()
        first = " stage first" if self.size["pp"] > 1 else ""
        last = " stage last" if self.size["pp"] > 1 else ""
        stages = "/pp" if self.size["pp"] > 1 else ""
        yield f"model m(layers = {count}) {{"
        yield f"params {self.r.choice(('bf16', 'f32'))} {{"
        yield f"embed : {self.matrix()}{first}"
        yield f"h[i < layers{stages}] {{"
        yield f"{self.name('m')} : {self.matrix()}"
        for _ in range(self.r.randint(0, 7)):
            yield self.in_layer()
        yield "}"
        if self.chance(2):
            yield f"norm : {self.vector()}{last}"
        if self.chance(3):
            yield f"tie head = embed{last}"
        elif self.chance(2):
            yield f"head : {self.matrix()}{last}"
        yield "}"
        yield "}"

    # ---- uses ----

    def use(self, rule, name, path):
        view = self.r.choice(("", "", " view each", " view whole", " view tiles"))
        if view == " view tiles":
            view += f" {self.r.randint(1 + self.wide // 2, 2 + 4 * self.wide)}"
            view *= rule in RULES       # tiles are of matrices
        return f"use {rule} as {name} on {path}{view}"

    def uses(self):
        rules = [self.r.choice(list(RULES)) for _ in range(3)]
        found = []
        if len(self.params) > 2 and self.chance(3):
            found.append(self.use(rules[1], "some", "h.*.m0"))
        if self.chance(8):
            found.append(self.use(self.r.choice(OTHERS), "matrices", "**.m*"))
        else:
            found.append(self.use(rules[0], "matrices", "**.m*"))
        if self.chance(4):
            found.append(self.use(rules[2], "ends", "embed"))
        found.append(f"use {self.r.choice(OTHERS)} as rest on **")
        for rule, text in {**RULES, **ELSEWHERE}.items():
            if text and any(rule in use for use in found):
                yield text
        yield from found

    # ---- schedule and machine ----

    def gradients(self):
        r, dtype = self.r, self.r.choice(("f32", "f32", "bf16"))
        axes = "(dp, cp)" if self.size["cp"] > 1 else "dp"
        if self.chance(8):
            yield f"grads {dtype} reduced"
        else:
            yield f"grads {dtype} partial over {axes}{r.choice(('', '', ' sum'))}"
        if self.chance(6):
            yield f"grads {r.choice(('f32', 'bf16'))} reduced on embed"

    def caps(self):
        r, scale = self.r, self.wide ** 2
        if not self.chance(3):
            unit = r.choice(("", "B"))
            yield f"bucket {r.randint(8, 400 * scale)}{unit}"
        if not self.chance(3):
            yield f"group {r.randint(1, 20 * scale // r.choice((1, 1, 64)) + 1)}KiB"
        if self.chance(4):
            yield f"memory {r.randint(1, 8000 * scale)}"

    def schedule(self):
        yield "schedule {"
        yield from self.gradients()
        yield "state f32" if self.chance(8) else "state f32 split over dp"
        yield from self.caps()
        if self.chance(2):
            yield "clip norm 1.0"
        if self.chance(2):
            yield "skip nonfinite"
        if self.pipeline:
            yield self.pipeline
        if self.size["fsdp"] > 1:
            yield f"shard dim {self.r.randrange(2)} over fsdp chunk"
        if self.size["fsdp"] > 1 and self.chance(2):
            yield (f"shard dim {self.r.randrange(3)} over fsdp chunk on h.*.m0")
        yield f"tp {self.r.choice(('auto', 'auto', 'auto', 'owner', 'gram'))}"
        yield from self.buffers()
        if self.chance(2):
            yield f"wire {self.r.choice(('0.1', '1', '4'))}"
        yield "}"

    def buffers(self):
        if self.chance(2):
            yield f"geometry {self.r.choice(('padded', 'equal'))}"
        if self.chance(4):
            yield "layout trainer"

    def machine(self):
        r, base = self.r, self.r.choice(MACHINES)
        if self.chance(3):
            return
        if self.chance(2):
            yield f"machine {base}"
            return
        rate = 10 ** r.randint(9, 14)
        yield f"machine other from {base} {{"
        yield f"gpus_per_node = {r.choice((1, 2, 4, 8, 16))}"
        yield f"sms = {r.choice((1, 16, 132))}"
        yield f"bf16_rate = {rate}.0"
        yield f"memory_rate = {10 ** r.randint(9, 12)}.0"
        yield f"node_rate = {10 ** r.randint(8, 12)}.0"
        yield f"launch = {r.choice(('0.0', '4e-6', '1e-4'))}"
        yield "}"
        yield "machine other"

    def options(self):
        """As the first line, a comment."""
        shards = self.size["tp"]
        if self.chance(2):
            yield "# -D tp_strategy=gram -D tp_subgroup=" + str(self.r.choice(
                [k for k in range(1, shards + 1)
                 if shards % k == 0 or self.chance(8)]))

    def program(self):
        body = [*self.mesh(), *self.machine(), *self.model(), *self.uses(),
                *self.schedule()]
        head = self.options() if "tp gram" in body else ()
        return "\n".join([*head, *body]) + "\n"


def program(seed):
    return Writer(seed).program()
