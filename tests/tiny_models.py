"""Very small models with random weights, of several architectures and sizes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerFast, ProcessorMixin

from mrb_lib.judges.local.checkpoint import still_processor
from mrb_lib.judges.local.tiny import CHAT, small_tokenizer, text_config, write_tiny

Architecture = Literal["llava", "qwen2_5_vl", "llama"]
Made = tuple[PreTrainedModel, ProcessorMixin | PreTrainedTokenizerFast]


def write(
    folder: Path,
    architecture: Architecture,
    *,
    width: int = 96,
    layers: int = 2,
    vocabulary: int = 1200,
    texts: Sequence[str] = (),
) -> Path:
    """Write a model; `width` is that of the hidden states, a multiple of 96, and `llama` reads text only."""
    if architecture == "llava":
        return write_tiny(folder, vocabulary=vocabulary, texts=texts)
    sized = {
        "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers,
        "num_attention_heads": width // 32, "num_key_value_heads": width // 96,
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if architecture == "llama":
            reads = small_tokenizer(texts, vocabulary, {})
            reads.chat_template = CHAT
            model = transformers.LlamaForCausalLM(transformers.LlamaConfig.from_dict({**text_config(reads), **sized}))
        else:
            vision = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": width,
                      "patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1]}  # fmt: skip
            rope = {"mrope_section": [4, 6, 6]}
            model, reads = qwen("Qwen2_5_VL", rope, vision, texts=texts, vocabulary=vocabulary, sized=sized)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    reads.save_pretrained(folder)
    return folder


def with_images(
    name: str,
    tokens: Mapping[str, str],
    image: str,
    images: object,
    *,
    text: Mapping[str, object],
    vision: Mapping[str, object],
    config: Mapping[str, object],
    processor: Mapping[str, object] | None = None,
    texts: Sequence[str] = (),
    vocabulary: int = 1000,
) -> Made:
    """Return a model that sees images, and its processor.

    Parameters
    ----------
    name : the beginning of the names of its classes in transformers
    tokens : the tokens of its own, by name
    image : the text of a prompt that stands for an image
    images : the image processor
    text, vision, config : the configurations of its two parts and of the whole; a value of `config` that is one of
        `tokens` becomes its id
    processor : further arguments of the processor
    """
    tokenizer = small_tokenizer(texts, vocabulary, tokens)
    if "bos_token_id" in text:
        tokenizer.add_special_tokens({"bos_token": "<|system|>"})
    marks = {token: tokenizer.convert_tokens_to_ids(token) for token in tokens.values()}
    named = {key: marks.get(value, value) if isinstance(value, str) else value for key, value in config.items()}
    own: Any = getattr(transformers, f"{name}Config")
    stated = own(text_config={**text_config(tokenizer), **text}, vision_config=dict(vision), **named)
    reads: Any = still_processor(getattr(transformers, f"{name}Processor"))
    template = CHAT.replace("<image>", image)
    made = reads(image_processor=images, tokenizer=tokenizer, chat_template=template, **(processor or {}))
    return getattr(transformers, f"{name}ForConditionalGeneration")(stated), made


def qwen(
    name: str,
    rope: Mapping[str, object],
    vision: Mapping[str, object],
    sized: Mapping[str, object] | None = None,
    **more: Any,
) -> Made:
    """Return a small model of the family Qwen-VL; `rope` and `vision` hold what its versions state of their own."""
    parts = ("image", "video", "vision_start", "vision_end")
    tokens = {f"{part}_token": f"<|{part}_pad|>" if "_" not in part else f"<|{part}|>" for part in parts}
    patch = int(str(vision["patch_size"]))
    edges = {"shortest_edge": (4 * patch) ** 2, "longest_edge": (8 * patch) ** 2}
    # Heads are 32 wide: 16 pairs of rotary frequencies, shared out to time, height and width.
    rotary = {"rope_type": "default", "rope_theta": 10_000.0, **rope}
    return with_images(
        name,
        tokens,
        "<|vision_start|><|image_pad|><|vision_end|>",
        transformers.Qwen2VLImageProcessorPil(patch_size=patch, merge_size=2, size=edges),
        text={"head_dim": 32, "rope_parameters": rotary, **(sized or {})},
        vision={"num_heads": 4, **vision},
        config={"tie_word_embeddings": True, **{f"{part}_id": token for part, token in tokens.items()}},
        **more,
    )
