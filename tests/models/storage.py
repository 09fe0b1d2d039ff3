#!/usr/bin/python3
"""One model in Hugging Face's storage and in Megatron's: the same logical
values and gradients give the same bits of every parameter and state, on every
mesh, also where tensor parallelism cuts inside a query group and where gate
and up interleave by rank.  Generated C of both, driven as a trainer drives it.

    storage.py CANZONA LIBCZR.A

Megatron's layouts are built here in NumPy, from the description in its
sources, not from ours.  Padding holds numbers that nobody may touch, and NaN
as gradient.
"""
import sys
import unittest

import numpy as np

import embed
import training

TOOLS = []
MESHES = [(1, 1), (2, 1), (2, 2), (1, 4), (3, 2), (1, 8)]
D, F, HEADS, GROUPS, HD, LAYERS, VOCAB = 16, 24, 8, 2, 4, 2, 50
R = HEADS // GROUPS
STEPS, SEED, PADDING = 3, 11, 3333.0
HYPERS = {"MATRICES_LR": 0.02, "REST_LR": 0.01}
HEADS_HYPERS = {**HYPERS, "HEADS_LR": 0.03}
NAMES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
         "down_proj"]

HUGGING_FACE = f"""mesh dp = 1, tp = 1
model hf {{
    params DTYPE {{
        embed.weight : [{VOCAB}, {D}]
        layers[i < {LAYERS}] {{
            q_proj.weight : [{HEADS * HD}/tp, {D}] blocks {GROUPS} {{ q = {R * HD} }}
            {{k_proj, v_proj}}.weight : [{GROUPS * HD}/tp, {D}] blocks {GROUPS} {{ kv = {HD} }}
            o_proj.weight : [{D}, {HEADS * HD}/tp]
            {{gate_proj, up_proj}}.weight : [{F}/tp, {D}]
            down_proj.weight : [{D}, {F}/tp]
            norm : [{D}]
        }}
    }}
}}
"""
MEGATRON = f"""mesh dp = 1, tp = 1
model megatron {{
    params DTYPE {{
        embed.weight : [pad({VOCAB}, 8 * tp)/tp, {D}]
        layers[i < {LAYERS}] {{
            linear_qkv.weight : [{GROUPS * (R + 2) * HD}/tp, {D}] blocks {GROUPS} {{
                q = {R * HD}
                k = {HD}
                v = {HD}
            }}
            linear_proj.weight : [{D}, {HEADS * HD}/tp]
            linear_fc1.weight : [2*{F}/tp, {D}] blocks tp {{ gate = {F}/tp, up = {F}/tp }}
            linear_fc2.weight : [{D}, {F}/tp]
            norm : [{D}]
        }}
    }}
}}
"""
USES = {
    "blocks": "use muon(lr) as matrices on layers.*.*.weight",
    "whole": "use muon(lr) as matrices on layers.*.*.weight view whole",
    "each": """use muon(lr) as heads on layers.*.QKV.weight view each
use muon(lr) as matrices on layers.*.*.weight""",
}
RULES = """
VIEW
use adamw(lr) as rest on **

schedule {
    clip norm 1.0, skip nonfinite
    strict
}
"""


def shapes():
    yield "embed.weight", (VOCAB, D)
    for i in range(LAYERS):
        for name, rows, columns in (
                ("q_proj", HEADS * HD, D), ("k_proj", GROUPS * HD, D),
                ("v_proj", GROUPS * HD, D), ("o_proj", D, HEADS * HD),
                ("gate_proj", F, D), ("up_proj", F, D), ("down_proj", D, F)):
            yield f"layers.{i}.{name}.weight", (rows, columns)
        yield f"layers.{i}.norm", (D,)


def to_megatron(whole, tp, padding):
    """Logical tensors as Megatron's ranks hold them, end to end."""
    vocab = -(-VOCAB // (8 * tp)) * 8 * tp
    out = {"embed.weight": np.concatenate(
        [whole["embed.weight"],
         np.full((vocab - VOCAB, D), padding, np.float32)])}
    for i in range(LAYERS):
        w = {n: whole[f"layers.{i}.{n}.weight"] for n in NAMES}
        grouped = [w[n].reshape(GROUPS, -1, D) for n in NAMES[:3]]
        ranks = [w[n].reshape(tp, -1, D) for n in ("gate_proj", "up_proj")]
        out[f"layers.{i}.linear_qkv.weight"] = np.concatenate(
            grouped, axis=1).reshape(-1, D)
        out[f"layers.{i}.linear_fc1.weight"] = np.concatenate(
            ranks, axis=1).reshape(-1, D)
        out[f"layers.{i}.linear_proj.weight"] = w["o_proj"]
        out[f"layers.{i}.linear_fc2.weight"] = w["down_proj"]
        out[f"layers.{i}.norm"] = whole[f"layers.{i}.norm"]
    return out


def unit(name):
    """Hugging Face's tensor as a unit of Megatron's plan."""
    pairs = {"q_proj.weight": "linear_qkv.weight[q]",
             "k_proj.weight": "linear_qkv.weight[k]",
             "v_proj.weight": "linear_qkv.weight[v]",
             "gate_proj.weight": "linear_fc1.weight[gate]",
             "up_proj.weight": "linear_fc1.weight[up]",
             "o_proj.weight": "linear_proj.weight",
             "down_proj.weight": "linear_fc2.weight"}
    if name == "embed.weight":
        return "embed.weight[unpadded]"
    head, _, tail = name.partition("_proj")
    layer, _, last = head.rpartition(".")
    return f"{layer}.{pairs[last + '_proj' + tail]}" if tail else name


def hf_unit(name, state):
    """A unit of Hugging Face's program, "q_proj.weight[q.1]", as Megatron's."""
    stored, _, piece = name.partition("[")
    repeat = piece.rstrip("]").partition(".")[2]
    there = unit(stored)
    return there.replace("]", f".{repeat}]") if repeat else there, state


def hypers(view):
    return HEADS_HYPERS if view == "each" else HYPERS


def bits(array):
    return np.asarray(array, np.float32).view(np.uint32)


class Storage(unittest.TestCase):
    def data(self, dp):
        random = np.random.default_rng(SEED)
        draw = lambda shape: random.standard_normal(shape).astype(np.float32)
        start = {n: np.float32(0.02) * draw(s) for n, s in shapes()}
        grads = [{n: [draw(s) for _ in range(dp)] for n, s in shapes()}
                 for _ in range(STEPS)]
        return start, grads

    def hugging_face(self, dtype, view, dp, tp):
        program = embed.Program(
            *TOOLS, "hf", self.text(HUGGING_FACE, dtype, view), dp, tp)
        start, grads = self.data(dp)
        return training.train(program, start, grads, hypers(view))

    def megatron(self, dtype, view, dp, tp):
        program = embed.Program(
            *TOOLS, "megatron", self.text(MEGATRON, dtype, view), dp, tp)
        start, grads = self.data(dp)
        spread = lambda step: {
            n: [to_megatron({k: v[r] for k, v in step.items()}, tp, np.nan)[n]
                for r in range(dp)]
            for n in to_megatron(start, tp, 0)}
        return training.train(program, to_megatron(start, tp, PADDING),
                                [spread(step) for step in grads],
                                hypers(view))

    @staticmethod
    def text(model, dtype, view):
        qkv = "linear_qkv" if model is MEGATRON else "{q,k,v}_proj"
        use = USES[view].replace("QKV", qkv)
        return (model + RULES).replace("DTYPE", dtype).replace("VIEW", use)

    def same(self, hf, megatron, tp):
        self.assertEqual(hf.results, megatron.results)
        self.assertEqual([r[1:] for r in hf.results],
                         [(0, i + 1) for i in range(STEPS)])
        want = to_megatron(hf.params, tp, PADDING)
        want["embed.weight"][VOCAB:] = training.decode(training.encode(
            want["embed.weight"][VOCAB:], self.dtype))
        self.assertEqual(want.keys(), megatron.params.keys())
        for name, array in want.items():
            np.testing.assert_array_equal(bits(array),
                                          bits(megatron.params[name]), name)
        return len(want)

    def same_states(self, hf, megatron):
        states = {hf_unit(*key): value for key, value in hf.states.items()}
        self.assertEqual(states.keys(), megatron.states.keys())
        for key, array in states.items():
            np.testing.assert_array_equal(bits(array),
                                          bits(megatron.states[key]), str(key))

    def check(self, dtype, view, meshes):
        self.dtype = embed.BF16 if dtype == "bf16" else embed.F32
        references = {}
        for dp, tp in meshes:
            if dp not in references:
                references[dp] = self.hugging_face(dtype, view, dp,
                                                   2 if dp == 2 else 1)
            got = self.megatron(dtype, view, dp, tp)
            n = self.same(references[dp], got, tp)
            self.same_states(references[dp], got)
            start, _ = self.data(dp)
            self.assertGreater(np.abs(
                references[dp].params["layers.0.q_proj.weight"]
                - start["layers.0.q_proj.weight"]).max(), 1e-3)
            print(f"{dtype} {view} {dp}x{tp}: {n} tensors of "
                  "Megatron's storage have the bits of Hugging Face's")

    def test_pieces_are_updated_as_separate_tensors(self):
        self.check("bf16", "blocks", MESHES)

    def test_f32(self):
        self.check("f32", "blocks", [(2, 2), (1, 8)])

    def test_every_repetition_its_own_matrix(self):
        self.check("bf16", "each", [(1, 1), (2, 2), (1, 4)])

    def test_the_whole_tensor_is_another_matrix(self):
        """Nothing above would notice a view that ignores the blocks."""
        self.dtype = embed.BF16
        hf = self.hugging_face("bf16", "blocks", 1, 1)
        megatron = self.megatron("bf16", "whole", 1, 2)
        for name in ("linear_qkv", "linear_fc1"):
            key = f"layers.0.{name}.weight"
            self.assertGreater(np.abs(to_megatron(hf.params, 2, 0)[key]
                                      - megatron.params[key]).max(), 1e-3)


if __name__ == "__main__":
    TOOLS = [sys.argv.pop(1), sys.argv.pop(1)]
    unittest.main()
