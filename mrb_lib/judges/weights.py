"""A model and its processor, read from a folder of safetensors, and text and images made into its inputs."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

import torch
import transformers
from jinja2 import TemplateError
from PIL import Image
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
    LogitsProcessorList,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProcessorMixin,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING

from mrb_lib.errors import InputError, RunError
from mrb_lib.judges.prompts import marks_pattern
from mrb_lib.judges.settings import DType

Tensors = dict[str, torch.Tensor]

# Inputs that go with the tokens, one value a token; every other input belongs to the images.
TOKENWISE: Final = ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids")


class _Encodes(Protocol):
    """What this module asks of a processor or a tokenizer."""

    def __call__(self, **arguments: object) -> Mapping[str, torch.Tensor]: ...


class _Talks(Protocol):
    """The chat template of a processor or a tokenizer."""

    def apply_chat_template(self, conversation: list[dict[str, object]], **options: object) -> str: ...


class _Writes(Protocol):
    """A model's text generation."""

    def generate(self, **arguments: object) -> torch.Tensor: ...


@dataclass(frozen=True)
class Weights:
    """A loaded model.

    Attributes
    ----------
    processor : None for a model that reads text only
    marks : the marks of its tokenizer, for `mrb_lib.judges.prompts.defuse`
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    processor: ProcessorMixin | None
    device: torch.device
    marks: re.Pattern[str]

    @property
    def sees_images(self) -> bool:
        """Whether images can be shown to it."""
        return self.processor is not None

    @property
    def pad_id(self) -> int:
        """A token to fill up with; it is never attended to."""
        value = self.tokenizer.pad_token_id
        return int(value if value is not None else self.tokenizer.eos_token_id or 0)

    @property
    def ends(self) -> list[int]:
        """The tokens that end a reply."""
        stated = self.model.generation_config.eos_token_id if self.model.generation_config else None
        stated = self.tokenizer.eos_token_id if stated is None else stated
        return [int(token) for token in (stated if isinstance(stated, list) else [stated]) if token is not None]

    def generate(self, inputs: Tensors, config: GenerationConfig, processors: LogitsProcessorList) -> torch.Tensor:
        """Prompt and reply as token ids, (B, prompt + reply), filled up with `pad_id`."""
        writes = cast("_Writes", self.model)
        return writes.generate(**inputs, generation_config=config, logits_processor=processors)

    def has_token(self, *spellings: str) -> bool:
        """Whether one of the spellings is a single token."""
        ids = (self.tokenizer(spelling, add_special_tokens=False)["input_ids"] for spelling in spellings)
        return any(len(cast("list[int]", some)) == 1 for some in ids)

    def chat(self, text: str, n_images: int, options: Mapping[str, object], *, reply: str | None = None) -> str:
        """The chat template's text of one user turn with its images first, up to where the reply begins.

        Parameters
        ----------
        options : arguments of the template
        reply : the assistant's turn that follows, to its end; None for the reply still to be made

        Raises
        ------
        InputError
            The model has no chat template, or its template refuses the turn.
        """
        content: object = text
        if self.processor is not None:
            content = [*({"type": "image"} for _ in range(n_images)), {"type": "text", "text": text}]
        talks = cast("_Talks", self.processor if self.processor is not None else self.tokenizer)
        turns: list[dict[str, object]] = [{"role": "user", "content": content}]
        if reply is not None:
            said: object = reply if self.processor is None else [{"type": "text", "text": reply}]
            turns.append({"role": "assistant", "content": said})
        try:
            return talks.apply_chat_template(turns, tokenize=False, add_generation_prompt=reply is None, **options)
        except (ValueError, TypeError, KeyError, TemplateError) as error:
            raise InputError(f"{self.model.name_or_path}: its chat template cannot be used ({error}).") from error

    def tokens(self, text: str) -> list[int]:
        """The token ids of a chat template's text; images are still single placeholders."""
        ids = self.tokenizer(text, add_special_tokens=self._adds_marks(text))["input_ids"]
        return cast("list[int]", ids)

    def encode(self, texts: Sequence[str], images: Sequence[Sequence[Image.Image]]) -> Tensors:
        """Texts and their images as inputs, padded on the left.

        Parameters
        ----------
        texts : chat template texts
        images : those of each text; ignored by a model that reads text only

        Returns
        -------
        dict
            `input_ids` and `attention_mask` with shape (texts, tokens), on the CPU, and what the images need.
        """
        marks = any(self._adds_marks(text) for text in texts)
        arguments: dict[str, object] = {
            "text": list(texts),
            "return_tensors": "pt",
            "padding": True,
            "add_special_tokens": marks,
        }
        encodes = cast("_Encodes", self.tokenizer)
        if self.processor is not None:
            encodes = cast("_Encodes", self.processor)
            arguments["padding_side"] = "left"
            if any(images):
                arguments["images"] = [list(some) for some in images]
        else:
            arguments["padding_side"] = "left"
        return {name: value for name, value in encodes(**arguments).items() if isinstance(value, torch.Tensor)}

    def to_device(self, inputs: Mapping[str, torch.Tensor]) -> Tensors:
        """Move inputs beside the weights; pictures take the weights' type."""
        moved = {}
        for name, value in inputs.items():
            dtype = self.model.dtype if value.is_floating_point() else value.dtype
            moved[name] = value.to(self.device, dtype, non_blocking=True)
        return moved

    def _adds_marks(self, text: str) -> bool:
        # A chat template that writes the first mark itself must not get a second one.
        first = self.tokenizer.bos_token
        return not (isinstance(first, str) and text.startswith(first))


def choose_device(device: str) -> torch.device:
    """The device of a name, or the best at hand for "auto".

    Raises
    ------
    InputError
        torch does not know the name, or this machine has no such device.
    """
    name = device
    if device == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(name)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"device {device!r}: cannot be used ({reason}); `mrb doctor` shows what there is.") from error
    return chosen


def choose_dtype(dtype: DType, device: torch.device) -> torch.dtype:
    """bfloat16 on a GPU and float32 on a CPU, unless one is named."""
    if dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    return torch.bfloat16 if dtype == "bfloat16" else torch.float32


def describe(device: torch.device) -> str:
    """The device for people and manifests, as `cuda (NVIDIA H100)` or `cpu (x86_64, 2 threads)`."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} ({platform.machine()}, {torch.get_num_threads()} threads)"


def load(folder: Path, *, device: torch.device, dtype: torch.dtype, trust_remote_code: bool = False) -> Weights:
    """Read a model and its processor.

    Parameters
    ----------
    folder : a checkpoint as `save_pretrained` writes it, weights as safetensors
    trust_remote_code : code in the folder may be run

    Raises
    ------
    InputError
        The folder holds no model that this library can read, or needs its own code.
    RunError
        The memory does not suffice.
    """
    transformers.utils.logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code)
        sees = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        processor = _processor(folder, config, trust_remote_code) if sees else None
        tokenizer = (
            processor.tokenizer
            if processor is not None
            else AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
        )
        kind = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        model = kind.from_pretrained(
            folder,
            dtype=dtype,
            use_safetensors=True,
            attn_implementation="sdpa",
            trust_remote_code=trust_remote_code,
        )
        model = model.eval()
        model.to(device)
        # What a publisher set for chatting (temperature, penalties) must not shape a verdict unnoticed.
        own = model.generation_config
        model.generation_config = GenerationConfig(eos_token_id=own.eos_token_id, pad_token_id=own.pad_token_id)
    except torch.OutOfMemoryError as error:
        raise RunError(f"{folder.name}: does not fit into the memory of {device}; `mrb doctor` shows what does.") from (
            error
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{folder}: cannot be loaded as a judge ({reason}).") from error
    return Weights(model, tokenizer, processor, device, marks_pattern(special_tokens(tokenizer)))


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """The tokens that a tokenizer treats as marks, and never as text."""
    added = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    return added | set(tokenizer.all_special_tokens)


def still_processor(kind: type[ProcessorMixin]) -> type[ProcessorMixin]:
    """A processor class that reads still images and text, and asks for no video or audio processor.

    Video processors need torchvision, of which judging images has no use.
    """
    wanted = [name for name in kind.get_attributes() if name in ("image_processor", "tokenizer")]
    return type(kind.__name__, (kind,), {"get_attributes": classmethod(lambda cls: list(wanted))})


def _processor(folder: Path, config: PreTrainedConfig, trust_remote_code: bool) -> ProcessorMixin:
    kind: object = PROCESSOR_MAPPING.get(type(config), None)
    if not (isinstance(kind, type) and issubclass(kind, ProcessorMixin)):
        loaded = transformers.AutoProcessor.from_pretrained(folder, trust_remote_code=trust_remote_code)
    else:
        loaded = still_processor(kind).from_pretrained(folder, trust_remote_code=trust_remote_code)
    if not isinstance(loaded, ProcessorMixin):
        raise InputError(f"{folder}: holds no processor for images ({type(loaded).__name__} was found).")
    return loaded
