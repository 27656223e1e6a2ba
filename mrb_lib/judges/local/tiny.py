"""Very small models with RANDOM WEIGHTS: to try the whole workbench without a download, and to test it.

They have the architecture, tokenizer, processor and chat template of real judges,
and know nothing; their verdicts are noise.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast, ProcessorMixin

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
        model, processor = make(corpus_of(texts), Size(width, layers, vocabulary))
    model.generation_config.do_sample = False
    model.generation_config.pad_token_id = model.config.get_text_config().pad_token_id
    model.generation_config.eos_token_id = model.config.get_text_config().eos_token_id
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def corpus_of(texts: Iterable[str]) -> list[str]:
    """Return the built-in prompts and further texts, to learn tokens from."""
    letters = ['"A"', '"B"', '"tie"', " A", " B", "A", "B", *map(str, range(1, 11))]
    # What `single-reference` and `single-rubric` say, the others say.
    names = [name for name in builtin_ids() if not name.startswith("single-")]
    prompts = [load_prompt(name).text.replace("{{ offer }}", offer(CHOICES)) for name in names]
    return [*prompts, " ".join(letters), *texts]


class Size(NamedTuple):
    """The size of a tiny model; see `write_tiny`."""

    width: int
    layers: int
    vocabulary: int


Made = tuple[PreTrainedModel, ProcessorMixin | PreTrainedTokenizerFast]


def _tokenizer(corpus: Sequence[str], vocabulary: int, tokens: Mapping[str, str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[_PAD, _END, *_TURNS, *tokens.values()],
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=_PAD,
        eos_token=_END,
        bos_token=None,
        padding_side="left",
        extra_special_tokens=dict(tokens),
    )


def _text(tokenizer: PreTrainedTokenizerFast, size: Size) -> dict[str, object]:
    return {
        "hidden_size": size.width,
        "intermediate_size": 2 * size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.width // 32,
        "num_key_value_heads": max(1, size.width // 96),
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
    }


def _llama(corpus: Sequence[str], size: Size) -> Made:
    tokenizer = _tokenizer(corpus, size.vocabulary, {})
    tokenizer.chat_template = _CHAT
    return transformers.LlamaForCausalLM(transformers.LlamaConfig.from_dict(_text(tokenizer, size))), tokenizer


def with_images(
    name: str,
    tokens: Mapping[str, str],
    image: str,
    images: object,
    corpus: Sequence[str],
    size: Size,
    *,
    text: Mapping[str, object],
    vision: Mapping[str, object],
    config: Mapping[str, object],
    processor: Mapping[str, object] | None = None,
) -> Made:
    """Return a small model that sees images, and its processor.

    Parameters
    ----------
    name : what the names of its classes in transformers begin with
    tokens : the tokens of its own, by name
    image : what a prompt shows for an image
    images : the image processor
    text, vision : what the configurations of its two parts state besides the size
    config : of the whole; the values that are one of `tokens` become its id
    processor : further arguments of the processor
    """
    tokenizer = _tokenizer(corpus, size.vocabulary, tokens)
    if "bos_token_id" in text:
        tokenizer.add_special_tokens({"bos_token": _TURNS[0]})
    marks = {token: tokenizer.convert_tokens_to_ids(token) for token in tokens.values()}
    named = {key: marks.get(value, value) if isinstance(value, str) else value for key, value in config.items()}
    own: Any = getattr(transformers, f"{name}Config")
    stated = own(text_config={**_text(tokenizer, size), **text}, vision_config=dict(vision), **named)
    template = _CHAT.replace("IMAGE", image)
    reads: Any = still_processor(getattr(transformers, f"{name}Processor"))
    made = reads(image_processor=images, tokenizer=tokenizer, chat_template=template, **(processor or {}))
    return getattr(transformers, f"{name}ForConditionalGeneration")(stated), made


def _llava(corpus: Sequence[str], size: Size) -> Made:
    layers = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    return with_images(
        "Llava",
        {"image_token": "<image>"},
        "<image>",
        transformers.CLIPImageProcessorPil(size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}),
        corpus,
        size,
        text={"model_type": "llama"},
        vision={"model_type": "clip_vision_model", "image_size": 64, "patch_size": 16, **layers},
        config={
            "tie_word_embeddings": True,
            "image_token_index": "<image>",
            "vision_feature_layer": -1,
            "vision_feature_select_strategy": "default",
            "pad_token_id": 0,
        },
        processor={"patch_size": 16, "num_additional_image_tokens": 1, "vision_feature_select_strategy": "default"},
    )


def qwen(
    name: str, rope: Mapping[str, object], vision: Mapping[str, object], corpus: Sequence[str], size: Size
) -> Made:
    """Return a small model of the family Qwen-VL; `rope` and `vision` hold what its versions state of their own."""
    parts = ("image", "video", "vision_start", "vision_end")
    tokens = {f"{part}_token": f"<|{part}_pad|>" if "_" not in part else f"<|{part}|>" for part in parts}
    patch = int(str(vision["patch_size"]))
    edges = {"shortest_edge": (4 * patch) ** 2, "longest_edge": (8 * patch) ** 2}
    return with_images(
        name,
        tokens,
        "<|vision_start|><|image_pad|><|vision_end|>",
        transformers.Qwen2VLImageProcessorPil(patch_size=patch, merge_size=2, size=edges),
        corpus,
        size,
        # Heads are 32 wide: 16 pairs of rotary frequencies, shared out to time, height and width.
        text={"head_dim": 32, "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, **rope}},
        vision={"num_heads": 4, **vision},
        config={"tie_word_embeddings": True, **{f"{part}_id": token for part, token in tokens.items()}},
    )


def _qwen2_5_vl(corpus: Sequence[str], size: Size) -> Made:
    vision = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": size.width, "patch_size": 14}
    windows = {"window_size": 56, "fullatt_block_indexes": [1]}
    return qwen("Qwen2_5_VL", {"mrope_section": [4, 6, 6]}, {**vision, **windows}, corpus, size)
