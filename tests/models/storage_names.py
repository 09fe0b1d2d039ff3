"""Where each tensor of Hugging Face lies in a trainer's storage: what the tests
of architectures share.  Written from the trainers' sources, not from ours.
Knows names and NumPy arrays alone."""
import re

import numpy as np

PADDED = ("embedding.word_embeddings.weight", "output_layer.weight")

ENDS = {
    "_megatron": {"model.embed_tokens.": "embedding.word_embeddings.",
                  "model.norm.": "decoder.final_layernorm.",
                  "lm_head.": "output_layer.",
                  "transformer.wte.": "embedding.word_embeddings.",
                  "transformer.wpe.": "embedding.position_embeddings.",
                  "transformer.ln_f.": "decoder.final_layernorm."},
    "_torchtitan": {"model.embed_tokens.": "tok_embeddings.",
                    "model.norm.": "norm.", "lm_head.": "output."},
}
# Within a layer; what follows is kept.  A third word is a piece of fused storage,
# or a matrix's number within a batch.
MEGATRON = [
    (r"self_attn\.([qkv])_proj\.", r"self_attention.linear_qkv.", r"\1"),
    (r"self_attn\.o_proj\.", r"self_attention.linear_proj."),
    (r"self_attn\.([qk])_norm\.", r"self_attention.\1_layernorm."),
    (r"self_attn\.(q|kv)_a_proj\w*\.", r"self_attention.linear_\1_down_proj."),
    (r"self_attn\.(q|kv)_a_layernorm\.",
     r"self_attention.linear_\1_up_proj.layer_norm_"),
    (r"self_attn\.(q|kv)_b_proj\.", r"self_attention.linear_\1_up_proj."),
    (r"mlp\.experts\.(\d+)\.(gate|up)_proj\.weight",
     r"mlp.experts.linear_fc1.weight.\1", r"\2"),
    (r"mlp\.experts\.(\d+)\.down_proj\.weight",
     r"mlp.experts.linear_fc2.weight.\1"),
    (r"mlp\.(shared_experts\.)?(gate|up)_proj\.", r"mlp.\1linear_fc1.", r"\2"),
    (r"mlp\.(shared_experts\.)?down_proj\.", r"mlp.\1linear_fc2."),
    (r"mlp\.gate\.", r"mlp.router."),
    (r"attn\.c_attn\.([qkv])\.", r"self_attention.linear_qkv.", r"\1"),
    (r"attn\.c_proj\.", r"self_attention.linear_proj."),
    (r"mlp\.c_fc\.", r"mlp.linear_fc1."),
    (r"mlp\.c_proj\.", r"mlp.linear_fc2."),
    (r"ln_1\.", r"self_attention.linear_qkv.layer_norm_"),
    (r"ln_2\.", r"mlp.linear_fc1.layer_norm_"),
]
# Of a layer of multi-token prediction, outside of its decoder layer.
PREDICTION = [(r"(enorm|hnorm|eh_proj)\.", r"\1."),
              (r"shared_head\.norm\.", r"final_layernorm.")]
TORCHTITAN = [
    (r"self_attn\.([qkvo])_proj\.", r"attention.w\1."),
    (r"self_attn\.([qk])_norm\.", r"attention.\1_norm."),
    (r"self_attn\.(q|kv)_([ab])_proj\w*\.", r"attention.w\1_\2."),
    (r"self_attn\.(q|kv)_a_layernorm\.", r"attention.\1_norm."),
    (r"mlp\.experts\.(\d+)\.gate_proj\.weight", r"moe.experts.w1", r"\1"),
    (r"mlp\.experts\.(\d+)\.down_proj\.weight", r"moe.experts.w2", r"\1"),
    (r"mlp\.experts\.(\d+)\.up_proj\.weight", r"moe.experts.w3", r"\1"),
    (r"mlp\.shared_experts\.gate_proj\.", r"moe.shared_experts.w1."),
    (r"mlp\.shared_experts\.down_proj\.", r"moe.shared_experts.w2."),
    (r"mlp\.shared_experts\.up_proj\.", r"moe.shared_experts.w3."),
    (r"mlp\.gate_proj\.", r"feed_forward.w1."),
    (r"mlp\.down_proj\.", r"feed_forward.w2."),
    (r"mlp\.up_proj\.", r"feed_forward.w3."),
    (r"mlp\.gate\.", r"moe.router.gate."),
    (r"input_layernorm\.", r"attention_norm."),
    (r"post_attention_layernorm\.", r"ffn_norm."),
]
PIECES = {"linear_qkv": ("q", "k", "v"), "linear_fc1": ("gate", "up")}


def translated(table, name):
    """(stored name, piece or None) of a name within a layer."""
    for pattern, *words in table:
        match = re.match(pattern, name)
        if match:
            stored, *piece = (match.expand(word) for word in words)
            return stored + name[match.end():], *(piece or [None])
    raise KeyError(name)


def megatron_norm(name, layer, names):
    """Where the norms before attention and MLP of Megatron's layer lie."""
    if name == "input_layernorm.weight":
        fused = f"{layer}.self_attn.q_proj.weight" in names
        return "self_attention.linear_qkv.layer_norm_weight" if fused else name
    if f"{layer}.mlp.gate.weight" in names:
        return "pre_mlp_layernorm.weight"
    return "mlp.linear_fc1.layer_norm_weight"


def in_megatron_layer(number, inner, names):
    """place() of what lies in a layer of Megatron's."""
    layer = f"model.layers.{number}"
    depth = sum(f"model.layers.{i}.eh_proj.weight" in names
                for i in range(number))  # layers of prediction before this one
    is_prediction = f"{layer}.eh_proj.weight" in names
    prefix = f"mtp.layers.{depth}." if is_prediction \
        else f"decoder.layers.{number}."
    if re.match(r"enorm|hnorm|eh_proj|shared_head", inner):
        stored, piece = translated(PREDICTION, inner)
        return prefix + stored, piece
    if is_prediction:
        prefix += "mtp_model_layer."
    if re.match(r"(input|post_attention)_layernorm", inner):
        return prefix + megatron_norm(inner, layer, names), None
    stored, piece = translated(MEGATRON, inner)
    return prefix + stored, piece


def place(storage, name, names):
    """(stored name, piece or None) of Hugging Face's `name`, one of `names`."""
    for beginning, there in ENDS[storage].items():
        if name.startswith(beginning):
            return name.replace(beginning, there, 1), None
    number, inner = re.match(
        r"(?:model\.layers|transformer\.h)\.(\d+)\.(.*)", name).groups()
    if storage == "_megatron":
        return in_megatron_layer(int(number), inner, names)
    stored, piece = translated(TORCHTITAN, inner)
    return f"layers.{number}.{stored}", piece


def of_conv1d(name, array):
    """GPT-2's tensors as those of the linear layers that they are: Conv1D holds
    [in, out], and c_attn q, k and v one behind the other; "NAME[q]" is one."""
    name, _, piece = name.rstrip("]").partition("[")
    match = re.match(r"(.*\.c_\w+)\.(weight|bias)$", name)
    if not match:
        yield name, array
        return
    array = array.T
    if not match[1].endswith("c_attn"):
        yield name, array
    elif piece:
        yield f"{match[1]}.{piece}.{match[2]}", array
    else:
        for which, part in zip("qkv", np.split(array, 3)):
            yield f"{match[1]}.{which}.{match[2]}", part


def interleaved(pieces, repeats):
    """Tensors cut into `repeats` along their rows, the parts dealt in turn."""
    parts = [p.reshape(repeats, -1, *p.shape[1:]) for p in pieces]
    return np.concatenate(parts, axis=1).reshape(-1, *pieces[0].shape[1:])


def fused(stored, pieces, repeats):
    """A stored tensor of its pieces by name; repeats["linear_qkv"] and so on
    say how often its list of pieces comes again."""
    if None in pieces:
        return pieces[None]
    if ".experts.w" in stored:
        return np.stack([pieces[str(e)] for e in range(len(pieces))])
    kind = next(k for k in PIECES if f".{k}." in stored)
    assert set(pieces) == set(PIECES[kind]), (stored, set(pieces))
    more = repeats.get(kind + ".experts") if ".experts." in stored else None
    return interleaved([pieces[p] for p in PIECES[kind]], more or repeats[kind])


def padded(array, multiple, filling):
    """The array with rows of `filling` up to a multiple."""
    rows = -len(array) % multiple
    return np.concatenate(
        [array, np.full((rows, *array.shape[1:]), filling, array.dtype)])
