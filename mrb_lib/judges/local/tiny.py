"""Very small models with RANDOM WEIGHTS: to try the whole workbench without a download, and to test it.

They have the architecture, tokenizer, processor and chat template of real judges,
and know nothing; their verdicts are noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, get_args

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from mrb_lib.judges.local.checkpoint import still_processor
from mrb_lib.judges.prompts import builtin_ids, load_prompt, offer
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES

Architecture = Literal["llava", "qwen2_5_vl", "llama"]

_PAD, _END = "<|pad|>", "<|end|>"
_TURNS: Final = ("<|system|>", "<|user|>", "<|assistant|>")
_CHAT = (
    "{% for turn in messages %}<|{{ turn['role'] }}|>\n"
    "{% if turn['content'] is string %}{{ turn['content'] }}{% else %}"
    "{% for part in turn['content'] %}{% if part['type'] == 'image' %}IMAGE\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def write_tiny(
    folder: Path,
    architecture: Architecture,
    *,
    width: int = 96,
    layers: int = 2,
    vocabulary: int = 1200,
    texts: Iterable[str] = (),
    seed: int = 0,
) -> Path:
    """Write a small model with random weights as a folder that `path:FOLDER` judges with.

    Parameters
    ----------
    architecture : "llava" (CLIP and Llama), "qwen2_5_vl", or "llama", which reads text only
    width : of the hidden states, a multiple of 96
    layers : of the language model
    vocabulary : at most so many tokens
    texts : to learn the tokens from, besides the built-in prompts

    Returns
    -------
    Path
        `folder`.

    Raises
    ------
    InputError
        The architecture is none of these, or the width does not fit.
    """
    if architecture not in get_args(Architecture):
        raise InputError(f"architecture {architecture!r}: use one of {', '.join(get_args(Architecture))}.")
    if width < 96 or width % 96:
        raise InputError(f"width {width}: must be a multiple of 96.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        make = {"llava": _llava, "qwen2_5_vl": _qwen2_5_vl, "llama": _llama}[architecture]
        model, processor = make(_corpus(texts), vocabulary, width, layers)
    model.generation_config.do_sample = False
    model.generation_config.pad_token_id = model.config.get_text_config().pad_token_id
    model.generation_config.eos_token_id = model.config.get_text_config().eos_token_id
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _corpus(texts: Iterable[str]) -> list[str]:
    letters = ['"A"', '"B"', '"tie"', " A", " B", "A", "B", *map(str, range(1, 11))]
    # What `single-reference` and `single-rubric` say, the others say.
    names = [name for name in builtin_ids() if not name.startswith("single-")]
    prompts = [load_prompt(name).text.replace("{{ offer }}", offer(CHOICES)) for name in names]
    return [*prompts, " ".join(letters), *texts]


def _tokenizer(corpus: list[str], vocabulary: int, marks: list[str], named: dict[str, str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[_PAD, _END, *_TURNS, *marks],
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=_PAD,
        eos_token=_END,
        bos_token=None,
        padding_side="left",
        extra_special_tokens=named,
    )


def _text(tokenizer: PreTrainedTokenizerFast, width: int, layers: int) -> dict[str, object]:
    return {
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": width // 32,
        "num_key_value_heads": max(1, width // 96),
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
    }


Made = tuple[PreTrainedModel, transformers.ProcessorMixin | PreTrainedTokenizerFast]


def _llama(corpus: list[str], vocabulary: int, width: int, layers: int) -> Made:
    tokenizer = _tokenizer(corpus, vocabulary, [], {})
    tokenizer.chat_template = _CHAT
    return transformers.LlamaForCausalLM(transformers.LlamaConfig.from_dict(_text(tokenizer, width, layers))), tokenizer


def _llava(corpus: list[str], vocabulary: int, width: int, layers: int) -> Made:
    tokenizer = _tokenizer(corpus, vocabulary, ["<image>"], {"image_token": "<image>"})
    config = transformers.LlavaConfig.from_dict(
        {
            "text_config": {"model_type": "llama", **_text(tokenizer, width, layers)},
            "vision_config": {
                "model_type": "clip_vision_model",
                "hidden_size": 64,
                "intermediate_size": 128,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "image_size": 64,
                "patch_size": 16,
            },
            "tie_word_embeddings": True,
            "image_token_index": tokenizer.convert_tokens_to_ids("<image>"),
            "vision_feature_layer": -1,
            "vision_feature_select_strategy": "default",
            "pad_token_id": tokenizer.pad_token_id,
        }
    )
    processor = transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessorPil(
            size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}
        ),
        tokenizer=tokenizer,
        patch_size=16,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=_CHAT.replace("IMAGE", "<image>"),
    )
    return transformers.LlavaForConditionalGeneration(config), processor


def _qwen2_5_vl(corpus: list[str], vocabulary: int, width: int, layers: int) -> Made:
    marks = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    named = {"image_token": marks["image_token_id"], "video_token": marks["video_token_id"]}
    tokenizer = _tokenizer(corpus, vocabulary, list(marks.values()), named)
    # Heads are 32 wide: 16 pairs of rotary frequencies, shared out to time, height and width.
    rotary = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [4, 6, 6]}
    config = transformers.Qwen2_5_VLConfig.from_dict(
        {
            "text_config": {**_text(tokenizer, width, layers), "rope_parameters": rotary},
            "vision_config": {
                "depth": 2,
                "hidden_size": 64,
                "intermediate_size": 128,
                "out_hidden_size": width,
                "num_heads": 4,
                "patch_size": 14,
                "window_size": 56,
                "fullatt_block_indexes": [1],
            },
            "tie_word_embeddings": True,
            **{name: tokenizer.convert_tokens_to_ids(token) for name, token in marks.items()},
        }
    )
    processor = still_processor(transformers.Qwen2_5_VLProcessor)(
        image_processor=transformers.Qwen2VLImageProcessorPil(
            patch_size=14, merge_size=2, size={"shortest_edge": 56 * 56, "longest_edge": 112 * 112}
        ),
        tokenizer=tokenizer,
        chat_template=_CHAT.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return transformers.Qwen2_5_VLForConditionalGeneration(config), processor
