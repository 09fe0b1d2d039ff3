#!/usr/bin/python3
"""Writes tests/models/published.json: names and shapes of every architecture as
Hugging Face's transformers builds it, on torch's meta device.  Needs transformers
and torch, which no test does; the file says which versions wrote it.

    published_dump.py [NAME ...]        all, or these entries alone

Version 4 names experts as published files do; entries of version 5 are of models
whose experts it stores as one tensor.  So run it once with each.
"""
import itertools
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers

OUT = pathlib.Path(__file__).resolve().parent / "published.json"
MAJOR = int(transformers.__version__.split(".")[0])
DECODER = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
           "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 160,
           "pad_token_id": 0}
EXPERTS = {**DECODER, "num_hidden_layers": 2, "moe_intermediate_size": 32}
LATENT = {**EXPERTS, "num_hidden_layers": 4, "q_lora_rank": 24, "kv_lora_rank": 16,
          "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 12,
          "first_k_dense_replace": 1, "n_routed_experts": 4, "n_shared_experts": 2,
          "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2}
LINEAR = {"head_dim": 32, "num_experts": 4, "num_experts_per_tok": 2,
          "shared_expert_intermediate_size": 48, "linear_num_key_heads": 2,
          "linear_num_value_heads": 4, "linear_key_head_dim": 8,
          "linear_value_head_dim": 16, "linear_conv_kernel_dim": 3}
MIXTRAL = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
           "num_attention_heads": 32, "num_key_value_heads": 8,
           "num_local_experts": 8, "vocab_size": 32000,
           "tie_word_embeddings": False}
# Entry: (model_type, transformers' class, its configuration).
ENTRIES = {
    "mistral-7b": ("mistral", "MistralForCausalLM", {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000}),
    "mistral-small": ("mistral", "MistralForCausalLM", {
        **DECODER, "head_dim": 24, "tie_word_embeddings": True}),
    "qwen2-7b": ("qwen2", "Qwen2ForCausalLM", {
        "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064}),
    "qwen2-0.5b": ("qwen2", "Qwen2ForCausalLM", {
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
        "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936,
        "tie_word_embeddings": True}),
    "qwen2-small": ("qwen2", "Qwen2ForCausalLM", DECODER),
    "gemma2-9b": ("gemma2", "Gemma2ForCausalLM", {
        "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256,
        "vocab_size": 256000}),
    "gemma2-small": ("gemma2", "Gemma2ForCausalLM", {
        **DECODER, "head_dim": 32, "attention_bias": True}),
    "gemma3-1b": ("gemma3_text", "Gemma3ForCausalLM", {
        "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26,
        "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
        "vocab_size": 262144}),
    "gemma3-small": ("gemma3_text", "Gemma3ForCausalLM", {
        **DECODER, "head_dim": 24, "tie_word_embeddings": False,
        "attention_bias": True}),
    "mixtral-8x7b": ("mixtral", "MixtralForCausalLM", MIXTRAL),
    "mixtral-small": ("mixtral", "MixtralForCausalLM", {
        **DECODER, "head_dim": 8, "num_local_experts": 4,
        "tie_word_embeddings": True}),
    "phi3-mini": ("phi3", "Phi3ForCausalLM", {
        "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064}),
    "phi3-small": ("phi3", "Phi3ForCausalLM", DECODER),
    "glm4-9b": ("glm4", "Glm4ForCausalLM", {
        "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
        "vocab_size": 151552, "attention_bias": True}),
    "glm4-small": ("glm4", "Glm4ForCausalLM", {
        **DECODER, "head_dim": 8, "attention_bias": False,
        "tie_word_embeddings": True}),
    "gpt-oss-20b": ("gpt_oss", "GptOssForCausalLM", {
        "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "num_local_experts": 32, "vocab_size": 201088}),
    "gpt-oss-120b": ("gpt_oss", "GptOssForCausalLM", {
        "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "num_local_experts": 128, "vocab_size": 201088}),
    "gpt-oss-small": ("gpt_oss", "GptOssForCausalLM", {
        **DECODER, "head_dim": 8, "num_local_experts": 4,
        "num_experts_per_tok": 2}),
    "kimi-k2": ("kimi_k2", "DeepseekV3ForCausalLM", {
        "hidden_size": 7168, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "num_hidden_layers": 61,
        "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "first_k_dense_replace": 1, "n_routed_experts": 384,
        "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
        "vocab_size": 163840}),
    "kimi-k2-small": ("kimi_k2", "DeepseekV3ForCausalLM", LATENT),
    "olmo2-7b": ("olmo2", "Olmo2ForCausalLM", {
        "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32,
        "vocab_size": 100352}),
    "olmo2-small": ("olmo2", "Olmo2ForCausalLM", {
        **DECODER, "attention_bias": True, "tie_word_embeddings": True}),
    "qwen3-next-80b-a3b": ("qwen3_next", "Qwen3NextForCausalLM", {
        "hidden_size": 2048, "intermediate_size": 5120, "num_hidden_layers": 48,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "num_experts": 512, "num_experts_per_tok": 10, "vocab_size": 151936,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4}),
    "qwen3-next-small": ("qwen3_next", "Qwen3NextForCausalLM", {
        **EXPERTS, **LINEAR, "num_hidden_layers": 4, "decoder_sparse_step": 2,
        "full_attention_interval": 2, "tie_word_embeddings": True, "attention_bias": True}),
    "mamba2-codestral-7b": ("mamba2", "Mamba2ForCausalLM", {
        "hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128,
        "head_dim": 64, "state_size": 128, "n_groups": 8, "vocab_size": 32768,
        "expand": 2, "conv_kernel": 4, "tie_word_embeddings": False}),
    "mamba2-small": ("mamba2", "Mamba2ForCausalLM", {
        "hidden_size": 64, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 16,
        "state_size": 12, "n_groups": 2, "vocab_size": 160, "use_bias": True,
        "use_conv_bias": False, "tie_word_embeddings": True}),
    "falcon-mamba-7b": ("falcon_mamba", "FalconMambaForCausalLM", {
        "hidden_size": 4096, "intermediate_size": 8192, "num_hidden_layers": 64,
        "state_size": 16, "conv_kernel": 4, "time_step_rank": 256,
        "vocab_size": 65024, "tie_word_embeddings": False}),
    "mamba-130m": ("mamba", "MambaForCausalLM", {
        "hidden_size": 768, "intermediate_size": 1536, "num_hidden_layers": 24,
        "state_size": 16, "conv_kernel": 4, "time_step_rank": 48,
        "vocab_size": 50280}),
    "falcon-mamba-small": ("falcon_mamba", "FalconMambaForCausalLM", {
        "hidden_size": 64, "num_hidden_layers": 2, "state_size": 8,
        "vocab_size": 160, "use_bias": True, "use_conv_bias": False}),
    "vit-base": ("vit", "ViTForImageClassification", {"num_labels": 1000}),
    "vit-small": ("vit", "ViTForImageClassification", {
        "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 96, "image_size": 48, "patch_size": 8,
        "num_channels": 1, "num_labels": 10, "qkv_bias": False}),
    "llama-3-8b": ("llama", "LlamaForCausalLM", {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128256}),
    "llama-small": ("llama", "LlamaForCausalLM", {
        **DECODER, "attention_bias": True, "mlp_bias": True}),
    "qwen3-0.6b": ("qwen3", "Qwen3ForCausalLM", {
        "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 151936, "tie_word_embeddings": True}),
    "qwen3-small": ("qwen3", "Qwen3ForCausalLM", {
        **DECODER, "head_dim": 24, "attention_bias": True}),
    "qwen3-moe-30b-a3b": ("qwen3_moe", "Qwen3MoeForCausalLM", {
        "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
        "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
        "num_experts_per_tok": 8, "vocab_size": 151936}),
    "qwen3-moe-small": ("qwen3_moe", "Qwen3MoeForCausalLM", {
        **EXPERTS, "num_hidden_layers": 4, "num_experts": 4,
        "num_experts_per_tok": 2, "decoder_sparse_step": 2,
        "attention_bias": True}),
    "deepseek-v3": ("deepseek_v3", "DeepseekV3ForCausalLM", {
        "hidden_size": 7168, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "num_hidden_layers": 61,
        "num_attention_heads": 128, "num_key_value_heads": 128,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "first_k_dense_replace": 3,
        "n_routed_experts": 256, "n_shared_experts": 1, "vocab_size": 129280}),
    "deepseek-v3-small": ("deepseek_v3", "DeepseekV3ForCausalLM", {
        **LATENT, "q_lora_rank": None, "tie_word_embeddings": True}),
    "gpt2": ("gpt2", "GPT2LMHeadModel", {}),
    "gpt2-small": ("gpt2", "GPT2LMHeadModel", {
        "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32,
        "vocab_size": 160, "n_inner": 96, "tie_word_embeddings": False}),
}
# Of version 5, where the experts of a layer are one tensor.
BATCHED = {
    "mixtral-batched": ("mixtral", "MixtralForCausalLM", {
        **DECODER, "num_local_experts": 4}),
    "mixtral-8x7b-batched": ("mixtral", "MixtralForCausalLM", MIXTRAL),
    "qwen3-moe-batched": ("qwen3_moe", "Qwen3MoeForCausalLM", {
        **EXPERTS, "num_experts": 4, "num_experts_per_tok": 2}),
    "qwen3-next-batched": ("qwen3_next", "Qwen3NextForCausalLM", {
        **EXPERTS, **LINEAR}),
    "kimi-k2-batched": ("kimi_k2", "DeepseekV3ForCausalLM", LATENT),
}


def config_class(name):
    """The class of the configuration that a model's class reads."""
    return getattr(transformers, name).config_class


def built(name, values):
    """The model on the meta device: no memory, all shapes."""
    config = config_class(name)(**values)
    with torch.device("meta"):
        return getattr(transformers, name)(config)


def ranges(values):
    """{0, 1, 2, 5} as "0..2,5"."""
    runs = []
    for v in sorted(values):
        if runs and runs[-1][1] == v - 1:
            runs[-1][1] = v
        else:
            runs.append([v, v])
    return ",".join(str(a) if a == b else f"{a}..{b}" for a, b in runs)


def compact(facts):
    """{name: fact} with names that differ in numbers alone as one, such as
    layers.{0..3}.weight; each stands for all combinations of its numbers."""
    groups = {}
    for name, fact in facts.items():
        words = name.split(".")
        template = tuple("#" if w.isdigit() else w for w in words)
        number = tuple(int(w) for w in words if w.isdigit())
        groups.setdefault((template, json.dumps(fact)), []).append(number)
    out = {}
    for (template, fact), numbers in groups.items():
        sets = [set(column) for column in zip(*numbers)]
        if set(itertools.product(*sets)) != set(numbers):
            sys.exit(f"{template}: its numbers are no product")
        texts = iter(["{" + ranges(s) + "}" for s in sets])
        out[".".join(next(texts) if w == "#" else w for w in template)] = \
            json.loads(fact)
    return out


def inventory(model):
    """{name: [owner's class, shape]} and {name: what it is tied to}.  A buffer
    that is stored is of the class "buffer"."""
    modules = dict(model.named_modules())
    trained = {id(p) for p in model.parameters()}
    tensors, ties, first = {}, {}, {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) in first:
            ties[name] = first[id(tensor)]
            continue
        first[id(tensor)] = name
        owner = type(modules[name.rpartition(".")[0]]).__name__
        tensors[name] = [owner if id(tensor) in trained else "buffer",
                         list(tensor.shape)]
    return tensors, ties


def entry(model_type, name, values):
    model = built(name, values)
    tensors, ties = inventory(model)
    config = json.loads(model.config.to_json_string(use_diff=True))
    # Names of labels say nothing but how many there are.
    config.pop("label2id", None)
    return {"transformers": transformers.__version__, "class": name,
            "config": dict(config, model_type=model_type),
            "n_tensors": len(tensors), "n_elements":
                sum(p.numel() for p in model.parameters()),
            "tensors": compact(tensors), "ties": ties}


def written(entries):
    """JSON with a line for each tensor and one for all keys of a configuration."""
    texts = []
    for name, found in entries.items():
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}"
                 for key, value in found.items() if key != "tensors"]
        tensors = ",\n".join(f"   {json.dumps(pattern)}: {json.dumps(fact)}"
                             for pattern, fact in found["tensors"].items())
        lines.append('  "tensors": {\n' + tensors + "\n  }")
        texts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(texts) + "\n}\n"


def main():
    wanted = ENTRIES if MAJOR == 4 else BATCHED
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    found = {n: found[n] for n in found if n not in wanted or sys.argv[1:]}
    for name in sys.argv[1:] or wanted:
        found[name] = entry(*wanted[name])
        print(f"{name}: {found[name]['n_tensors']:,} tensors, "
              f"{found[name]['n_elements']:,} parameters", flush=True)
    OUT.write_text(written({n: found[n] for n in {**ENTRIES, **BATCHED}
                            if n in found}))


if __name__ == "__main__":
    main()
