"""A very small model with RANDOM WEIGHTS: to try the whole workbench without a download.

It has the architecture, tokenizer, processor and chat template of a real judge (LLaVA: CLIP and Llama), and knows
nothing; its verdicts are noise.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from mrb_lib.judges.local.checkpoint import still_processor
from mrb_lib.judges.prompts import builtin_ids, load_prompt

_PAD, _END = "<|pad|>", "<|end|>"
_TURNS: Final = ("<|system|>", "<|user|>", "<|assistant|>")
CHAT: Final = (
    "{% for turn in messages %}<|{{ turn['role'] }}|>\n"
    "{% if turn['content'] is string %}{{ turn['content'] }}{% else %}"
    "{% for part in turn['content'] %}{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
"""The chat template; an image is `<image>`."""
_TEXT: Final = {
    "hidden_size": 96, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 3,
    "num_key_value_heads": 1, "max_position_embeddings": 8192, "tie_word_embeddings": True,
}  # fmt: skip
_VISION: Final = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64,
    "patch_size": 16,
}  # fmt: skip


def write_tiny(folder: Path, *, vocabulary: int = 1200, texts: Iterable[str] = (), seed: int = 0) -> Path:
    """Write a small model with random weights as a folder that `path:FOLDER` judges with, and return the folder.

    Parameters
    ----------
    vocabulary : at most so many tokens
    texts : to learn the tokens from, besides the built-in prompts
    """
    tokenizer = small_tokenizer(texts, vocabulary, {"image_token": "<image>"})
    strategy = {"vision_feature_select_strategy": "default"}
    images = transformers.CLIPImageProcessorPil(size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64})
    reads: Any = still_processor(transformers.LlavaProcessor)
    states: Any = transformers.LlavaConfig
    parts = {"image_processor": images, "tokenizer": tokenizer, "chat_template": CHAT}
    processor = reads(**parts, **strategy, patch_size=16, num_additional_image_tokens=1)
    config = states(
        text_config={"model_type": "llama", **text_config(tokenizer)},
        vision_config={"model_type": "clip_vision_model", **_VISION},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        **strategy,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.LlavaForConditionalGeneration(config)
    transformers.utils.logging.disable_progress_bar()
    for part in (model, processor):
        part.save_pretrained(folder)
    return folder


def small_tokenizer(texts: Iterable[str], vocabulary: int, marks: Mapping[str, str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer that has learnt its tokens from the built-in prompts and further texts; `marks` by name."""
    prompts = [load_prompt(name).text for name in builtin_ids()]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[_PAD, _END, *_TURNS, *marks.values()],
    )
    tokenizer.train_from_iterator([*prompts, *texts], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=_PAD,
        eos_token=_END,
        bos_token=None,
        padding_side="left",
        extra_special_tokens=dict(marks),
    )


def text_config(tokenizer: PreTrainedTokenizerFast) -> dict[str, object]:
    """Return the configuration of the part that reads text."""
    tokens = {name: getattr(tokenizer, name) for name in ("pad_token_id", "eos_token_id", "bos_token_id")}
    return {**_TEXT, "vocab_size": len(tokenizer), **tokens}
