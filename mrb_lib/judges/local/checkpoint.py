"""A model and its processor read from a folder of safetensors, complete, and without running code that lies there."""

import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING

from mrb_lib.judges.fences import marks_pattern
from mrb_lib.judges.local.attention import use_own_attention
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.roster.machine import ROOM
from mrb_lib.judges.roster.source import adapter_base, loaded_bytes
from mrb_lib.judges.settings import Quantization
from mrb_lib.tables.errors import InputError, RunError

# What transformers raises where a folder is damaged, or holds what it does not know.
_UNREADABLE: Final = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, ImportError, RuntimeError),
    *(SafetensorError, StrictDataclassError),
)

_WORDS: Final = "lm_head."  # the parameters that turn hidden states into words
# Code that lies elsewhere is named as owner/name--module.Class.
_CODE_ELSEWHERE: Final = re.compile(rb'"auto_map"\s*:\s*\{[^{}]*"[^"]*--')
_BRACKETED: Final = re.compile(r"[<\[◁]\S+[>\]▷]")


def load_checkpoint(
    folder: Path,
    *,
    devices: Sequence[torch.device],
    dtype: torch.dtype,
    quantize: Quantization | None = None,
    trust_remote_code: bool = False,
    speaks: bool = True,
) -> Weights:
    """Read a model and its processor.

    Parameters
    ----------
    folder : a checkpoint as `save_pretrained` writes it, weights as safetensors; or peft's adapters to one, which are
        merged into it
    devices : where the weights may go, shard by shard: the first, or several GPUs where that does not hold them
    quantize : rounded on the way to the device, by bitsandbytes
    trust_remote_code : code in the folder may be run; code that the folder names in another
        repository is never fetched
    speaks : the model is to give probabilities of words, so its language model head must be in the folder

    Raises
    ------
    InputError
        The folder holds no model that this library can read, lacks some of its weights, or needs its own code.
    RunError
        The memory does not suffice.

    Notes
    -----
    Validated by tests/judges/local/test_weights.py.
    """
    transformers.utils.logging.disable_progress_bar()
    adapter, folder = folder, adapter_base(folder) or folder
    if trust_remote_code:
        _check_code(folder)
    used = devices_needed(folder, devices, dtype, quantize)
    options = {"trust_remote_code": trust_remote_code, "local_files_only": True}
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **options)
        sees = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        processor = _processor(folder, config, options) if sees else None
        reads = transformers.AutoTokenizer
        tokenizer = reads.from_pretrained(folder, **options) if processor is None else processor.tokenizer
        if tokenizer.pad_token_id is None:  # padding is never attended to, so any token does
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
        if processor is not None and processor.chat_template is None:
            processor.chat_template = tokenizer.chat_template
        kind: Any = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
        model, loading_info = kind.from_pretrained(
            folder,
            output_loading_info=True,
            dtype=dtype,
            use_safetensors=True,
            # To one device, or layer by layer over these and no others.
            device_map={"": used[0]} if len(used) == 1 else "balanced",
            max_memory={gpu.index: torch.cuda.mem_get_info(gpu)[0] for gpu in used} if len(used) > 1 else None,
            # sdpa where the class has a use for it, which Gemma 2's has not, whatever the configuration asks for.
            attn_implementation=None,
            **_rounding(folder, config, quantize, dtype),
            **options,
        )
        _check_found(folder, model, loading_info["missing_keys"], speaks)
        placed = set(map(str, (getattr(model, "hf_device_map", None) or {}).values()))
        if len(used) > 1 and placed & {"cpu", "disk"}:  # the GPUs do not hold all layers
            raise _too_large(folder, f"{len(used)} GPUs")
        model = _merged(model, adapter) if adapter != folder else model.eval()
        use_own_attention(model)
        # What a publisher set for chatting (temperature, penalties) must not shape a verdict unnoticed.
        own = model.generation_config
        ends = own.eos_token_id if own is not None else None
        model.generation_config = transformers.GenerationConfig(eos_token_id=ends, pad_token_id=tokenizer.pad_token_id)
    except torch.OutOfMemoryError as error:
        raise _too_large(folder, str(used[0])) from error
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())
        said = f"{adapter}: cannot be loaded as a judge ({reason[:300]})."
        if "torchvision" in reason.casefold():  # as the processors of Pixtral, Mistral 3 and Llama 4 do
            said = f"{folder}: its images need torchvision; run `pip install torchvision`, of your torch's version."
        elif "bitsandbytes" in reason and find_spec("bitsandbytes") is None:
            said = (
                f"{folder}: rounded weights need bitsandbytes; install it with pip install 'mrb-workbench[quantized]'."
            )
        raise InputError(said) from error
    return Weights(model, tokenizer, processor, used, marks_pattern(special_tokens(tokenizer)))


def devices_needed(
    folder: Path,
    devices: Sequence[torch.device],
    dtype: torch.dtype = torch.bfloat16,
    quantize: Quantization | None = None,
) -> tuple[torch.device, ...]:
    """The first device, or as many GPUs as hold a folder's weights with `ROOM` for what is read."""
    needed = ROOM * loaded_bytes(folder, str(dtype).removeprefix("torch."), quantize)
    used = list(devices[:1])
    while len(used) < len(devices) and sum(torch.cuda.mem_get_info(device)[1] for device in used) < needed:
        used.append(devices[len(used)])
    return tuple(used)


def _too_large(folder: Path, memory: str) -> RunError:
    return RunError(f"{folder.name}: does not fit into the memory of {memory}; `mrb doctor` shows what does.")


def _rounding(
    folder: Path, config: PreTrainedConfig, quantize: Quantization | None, dtype: torch.dtype
) -> dict[str, object]:
    """Return the arguments for quantised weights.

    Raises
    ------
    InputError
        They are to be rounded twice.
    """
    method = (getattr(config, "quantization_config", None) or {}).get("quant_method")
    if quantize is not None and method is not None:
        raise InputError(f"{folder}: its weights are quantised already ({method}); leave --quantize out.")
    if quantize is None:
        return {}
    rounded = {"load_in_8bit": True} if quantize == "8bit" else {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    return {"quantization_config": transformers.BitsAndBytesConfig(**rounded, bnb_4bit_compute_dtype=dtype)}


def _merged(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    if getattr(model.config, "quantization_config", None) is not None:
        raise InputError(f"{folder}: is an adapter over quantised weights; judge over the base as it is published.")
    try:
        import peft
    except ImportError as error:
        raise InputError(f"{folder}: is an adapter; install peft with pip install 'mrb-workbench[train]'.") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft 0.21 asks transformers by a name that is going
        adapted = peft.PeftModel.from_pretrained(model, str(folder))
    return cast("PreTrainedModel", cast("Any", adapted).merge_and_unload().eval())


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """The tokens that a tokenizer treats as marks, and never as text.

    Among those added to a vocabulary, marks such as `<tool_call>` need not be declared special.
    """
    added = tokenizer.added_tokens_decoder.values()
    marks = {token.content for token in added if token.special or _BRACKETED.fullmatch(token.content)}
    return marks | set(tokenizer.all_special_tokens)


def still_processor(kind: type[ProcessorMixin]) -> type[ProcessorMixin]:
    """Return a processor class that reads still images and text, and asks for no video or audio processor.

    Video processors need torchvision, of which judging images has no use.
    """
    parts = kind.get_attributes()
    wanted = [name for name in parts if name in ("image_processor", "tokenizer")]

    class Still(kind, _WithoutAbsentParts):  # type: ignore[misc, valid-type]  # a class known at run time alone
        @classmethod
        def get_attributes(cls) -> list[str]:
            return list(wanted)

        @classmethod
        def from_args_and_dict(cls, args: Sequence[object], *more: Any, **options: Any) -> Any:
            held = dict(zip(wanted, args, strict=True))
            return super().from_args_and_dict([held.get(name) for name in parts], *more, **options)

    Still.__name__ = kind.__name__  # which a saved processor states
    return Still


class _WithoutAbsentParts(ProcessorMixin):
    """Comes before `ProcessorMixin`, which takes no part that is not there."""

    def __init__(self, *args: object, **parts: object) -> None:
        held = {name: part for name, part in parts.items() if part is not None}
        super().__init__(*args, **held)  # type: ignore[no-untyped-call]


def _check_code(folder: Path) -> None:
    """Raise `InputError` where trusted code lies in another repository: it would be fetched unasked."""
    for path in sorted(folder.glob("*config.json")):
        if _CODE_ELSEWHERE.search(path.read_bytes()):
            raise InputError(
                f"{path}: names code in another repository (auto_map), which is neither fetched nor recorded; "
                "put that code into the folder and name it there, or leave --trust-remote-code out."
            )


def _check_found(folder: Path, model: PreTrainedModel, missing: Iterable[str], speaks: bool) -> None:
    """Raise `InputError` where weights were not in the folder: transformers draws them at random and goes on."""
    parameters = {name for name, _ in model.named_parameters()}
    absent = sorted(name for name in missing if name in parameters)
    if not speaks:
        absent = [name for name in absent if not name.startswith(_WORDS)]
    if absent:
        raise InputError(
            f"{folder}: {len(absent)} of the weights that its config.json calls for are missing ({absent[0]}); "
            "fetch the model again, or name a folder that holds a whole model."
        )


def _processor(folder: Path, config: PreTrainedConfig, options: Mapping[str, bool]) -> ProcessorMixin:
    kind: object = PROCESSOR_MAPPING.get(type(config), None)
    for name in ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"):
        file = folder / name
        declared = json.loads(file.read_text(encoding="utf-8")).get("processor_class") if file.is_file() else None
        if declared is not None:
            if declared != getattr(kind, "__name__", None):  # as Pixtral's, whose architecture is LLaVA's
                kind = getattr(transformers, declared, None)
            break
    is_known = isinstance(kind, type) and issubclass(kind, ProcessorMixin)
    reads: Any = still_processor(cast("Any", kind)) if is_known else transformers.AutoProcessor
    loaded: object = reads.from_pretrained(folder, **options)
    if not isinstance(loaded, ProcessorMixin):
        raise InputError(f"{folder}: holds no processor for images ({type(loaded).__name__} was found).")
    return loaded
