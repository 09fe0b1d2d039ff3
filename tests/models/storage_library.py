#!/usr/bin/python3
"""The library's architectures, small: the same logical values and gradients
give the same bits of every parameter, state and norm in Hugging Face's storage
and in each trainer's, also where tensor parallelism cuts inside a query group
where experts are dealt out over ranks, and on the stages of a pipeline.

    storage_library.py CANZONA LIBCZR.A
"""
import collections
import json
import pathlib
import re
import sys
import tempfile
import unittest

import numpy as np

import embed
import storage_counts
import training
from storage_names import PADDED, fused, of_conv1d, padded, place

TOOLS = []
ARCHITECTURES = embed.ROOT / "dsl" / "std" / "arch"
STEPS, SEED, MULTIPLE = 2, 17, 8
PADDING = 3328.0  # exact in bf16
HYPERS = {"MATRICES_LR": 0.02, "REST_LR": 0.01}
EXPERTS = "\nmesh experts edp = {}, ep = {}, etp = {}"
# (pp, dp, tp, experts' factors); with two query groups tp = 4 cuts inside them.
DENSE = [(1, 2, 2, None), (1, 1, 4, None), (2, 1, 2, None)]
DEALT = [(1, 2, 2, (1, 4, 1)), (1, 1, 4, (1, 1, 4)), (2, 2, 1, (1, 2, 1))]
DECODER = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
           "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 4,
           "vocab_size": 52, "make_vocab_size_divisible_by": MULTIPLE}
CONFIGS = {
    "qwen3": DECODER,
    "llama": {**DECODER, "tie_word_embeddings": True},
    "qwen3_moe": {**DECODER, "num_experts": 4, "moe_intermediate_size": 12,
                  "decoder_sparse_step": 2},
    "deepseek_v3": {**DECODER, "q_lora_rank": 8, "kv_lora_rank": 12,
                    "qk_nope_head_dim": 4, "qk_rope_head_dim": 2,
                    "v_head_dim": 6, "first_k_dense_replace": 1,
                    "n_routed_experts": 4, "n_shared_experts": 2,
                    "moe_intermediate_size": 12},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 6,
             "vocab_size": 52, "make_vocab_size_divisible_by": MULTIPLE},
}
# What Hugging Face's GPT-2 is asked for: a matrix each for q, k and v.
C_ATTN = re.compile(r"(c_attn\.weight .*stored transposed)")
C_ATTN_PIECES = r"\1 blocks 1 { q = n_embd, k = n_embd, v = n_embd }"
PROGRAM = """{architecture}
mesh pp = {pp}, dp = {dp}, tp = {tp}{experts}
model {name} from "{config}"

use muon(lr) as matrices on {paths} view {view}
use adamw(lr) as rest on **

schedule {{
    clip norm 1.0, skip nonfinite
    strict
}}
"""


def architecture(name, dtype):
    """A file of the library, whose parameters have the given type."""
    text = (ARCHITECTURES / f"{name}.cz").read_text(encoding="utf-8")
    text, n = re.subn(r"params \w+ \{", f"params {dtype} {{", text)
    assert n == 1, name
    return C_ATTN.sub(C_ATTN_PIECES, text)


def program(family, storage, dtype, mesh, more, view="blocks"):
    """The built program of a small model in a storage."""
    name, (pp, dp, tp, experts) = family + storage, mesh
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        values = {**CONFIGS[family], **more, "model_type": family}
        config.write_text(json.dumps(values))
        text = PROGRAM.format(
            architecture=architecture(name, dtype), pp=pp, dp=dp, tp=tp,
            view=view, experts=EXPERTS.format(*experts) if experts else "",
            name=name, config=config,
            paths=storage_counts.paths_of(storage, values))
        return embed.Program(*TOOLS, name, text, dp, tp, pp)


def shapes_of(built):
    """Whole shapes of what any rank binds."""
    ranks = built.run(lambda rank: {
        name: tuple(layout.globe[:layout.n_dims])
        for name, layout in rank.layouts.items()})
    return {name: shape for rank in ranks for name, shape in rank.items()}


def bits(array):
    return np.asarray(array, np.float32).view(np.uint32)


class Storage:
    """A trainer's storage of Hugging Face's tensors on one mesh."""

    def __init__(self, storage, family, start, mesh):
        *_, tp, experts = mesh
        names = [name for n, array in start.items()
                 for name, _ in of_conv1d(n, array)]
        self.places = {name: place(storage, name, names) for name in names}
        self.multiple = MULTIPLE * tp
        config = CONFIGS[family]
        self.repeats = {"linear_qkv": config.get("num_key_value_heads") or
                                      config["n_head"],
                        "linear_fc1": tp,
                        "linear_fc1.experts": experts[2] if experts else tp}

    def gathered(self, whole):
        """stored name -> piece -> tensor."""
        out = collections.defaultdict(dict)
        for name, array in (pair for item in whole.items()
                            for pair in of_conv1d(*item)):
            stored, piece = self.places[name]
            assert piece not in out[stored], f"{stored} twice"
            out[stored][piece] = array
        return out

    def stored(self, whole, filling):
        """Hugging Face's tensors as the trainer stores them, whole."""
        out = {}
        for name, pieces in self.gathered(whole).items():
            out[name] = fused(name, pieces, self.repeats)
            if name in PADDED:
                out[name] = padded(out[name], self.multiple, filling)
        return out

    def states(self, states, there):
        """Hugging Face's states by the names that `there` has: of a piece, of
        the part that is not padding, or of a stored tensor."""
        by_state = collections.defaultdict(dict)
        for (name, state), array in states.items():
            by_state[state][name] = array
        for state, arrays in by_state.items():
            for name, pieces in self.gathered(arrays).items():
                if (name, state) in there:
                    yield (name, state), fused(name, pieces, self.repeats)
                    continue
                for piece, array in pieces.items():
                    yield (f"{name}[{piece or 'unpadded'}]", state), array


class Library(unittest.TestCase):
    def same(self, found, expected):
        self.assertEqual(found.keys(), expected.keys())
        for key, array in expected.items():
            np.testing.assert_array_equal(bits(array), bits(found[key]),
                                          str(key))

    def trained(self, family, storage, dtype, mesh, more, view="blocks"):
        """(storage, first values, Hugging Face's outcome, this storage's)."""
        dp = mesh[1]
        hf = program(family, "", dtype, mesh, more)
        start, grads, _ = training.gaussian(shapes_of(hf), SEED, STEPS, dp)
        there = Storage(storage, family, start, mesh)
        spread = [{name: [there.stored({n: g[r] for n, g in step.items()},
                                       np.nan)[name] for r in range(dp)]
                   for name in there.stored(start, 0)} for step in grads]
        return there, start, training.train(hf, start, grads, HYPERS), \
            training.train(program(family, storage, dtype, mesh, more, view),
                           there.stored(start, PADDING), spread, HYPERS)

    def check(self, family, storage, dtype, more=None):
        has_experts = "moe_intermediate_size" in CONFIGS[family]
        for mesh in DEALT if has_experts else DENSE:
            there, start, hf, found = self.trained(family, storage, dtype,
                                                   mesh, more or {})
            self.assertEqual(hf.results, found.results)
            self.assertEqual([r[1:] for r in hf.results],
                             [(0, i + 1) for i in range(STEPS)])
            self.same(found.params, there.stored(hf.params, PADDING))
            self.same(found.states, dict(there.states(hf.states, found.states)))
            self.assertGreater(min(np.abs(hf.params[n] - start[n]).max()
                                   for n in start), 1e-4)
            print(f"{family}{storage} {dtype} on {mesh}: {len(found.params)} "
                  f"tensors, {len(found.states)} states as Hugging Face's")

    def test_a_view_that_ignores_the_blocks(self):
        there, _, hf, found = self.trained("qwen3", "_megatron", "f32",
                                           (1, 1, 2, None), {}, "whole")
        name = "decoder.layers.0.self_attention.linear_qkv.weight"
        self.assertGreater(np.abs(there.stored(hf.params, 0)[name]
                                  - found.params[name]).max(), 1e-3)


def add(family, storage, dtype, more=None, name=""):
    """A test of its own for each family and storage."""
    def test(self):
        self.check(family, storage, dtype, more)
    setattr(Library, f"test_{family}{storage}{name}", test)


for each in CONFIGS:
    for there in ("_megatron", "_torchtitan"):
        if each in storage_counts.STORAGES[there]:
            add(each, there, "f32" if there == "_torchtitan" else "bf16")
add("llama", "_megatron", "f32", {"attention_bias": True, "mlp_bias": True},
    "_biases")
add("deepseek_v3", "_megatron", "f32", {"mtp_layers": 1}, "_prediction")


if __name__ == "__main__":
    TOOLS = [sys.argv.pop(1), sys.argv.pop(1)]
    unittest.main()
