"""A model is read whole or not at all, without running code that lies beside it, and its inputs are its publisher's."""

import json
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file

from mrb_lib.judges.local import checkpoint
from mrb_lib.judges.local.checkpoint import devices_needed, load_checkpoint, special_tokens
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.reader import TreeReader
from mrb_lib.judges.local.weights import Weights, choose_devices
from mrb_lib.tables.errors import InputError
from tests import tiny_models
from tests.judges.local.by_hand import Tiny, made

CPU = torch.device("cpu")
PICTURE = Image.new("RGB", (80, 60), (200, 30, 90))


def _load(folder: Path, **more: bool) -> Weights:
    return load_checkpoint(folder, devices=[CPU], dtype=torch.float32, **more)


def _change(file: Path, **values: object) -> None:
    stated = {**json.loads(file.read_text()), **values}
    file.write_text(json.dumps({key: value for key, value in stated.items() if value is not None}))


def _shorten(file: Path, size: int) -> None:
    file.write_bytes(file.read_bytes()[:size])


def _without_one_tensor(folder: Path) -> None:
    held = load_file(folder / "model.safetensors")
    del held[next(name for name in held if "layers.1.self_attn.q_proj" in name)]
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})


def _pickle(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


@pytest.fixture
def copy(tiny: Tiny, tmp_path: Path) -> Callable[[str], Path]:
    def make(architecture: str) -> Path:
        return Path(shutil.copytree(tiny(architecture), tmp_path / f"copy-{architecture}"))

    return make


class TestLoading:
    def test_needs_no_torchvision(self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "torchvision", None)
        weights = _load(tiny("llava"))
        assert "pixel_values" in weights.encode(weights.chat("hello", 1, {}), [PICTURE])

    def test_needs_the_head_that_makes_words_only_where_words_are_read(self, tiny: Tiny, tmp_path: Path) -> None:
        config = transformers.AutoConfig.from_pretrained(tiny("llama"), tie_word_embeddings=False, num_labels=1)
        transformers.LlamaForSequenceClassification(config).save_pretrained(tmp_path)
        transformers.AutoTokenizer.from_pretrained(tiny("llama")).save_pretrained(tmp_path)
        with pytest.raises(InputError, match="lm_head"):
            _load(tmp_path)
        assert _load(tmp_path, speaks=False).model is not None

    @pytest.mark.parametrize(
        ("architecture", "damage", "said"),
        [
            ("llama", _without_one_tensor, r"1 of the weights .* missing \(.*q_proj.weight\)"),
            ("llava", lambda folder: (folder / "processor_config.json").unlink(), "copy-llava"),
            *(
                ("llama", damage, "copy-llama: cannot be loaded")
                for damage in (
                    lambda folder: (folder / "config.json").write_text("{"),
                    lambda folder: _change(folder / "config.json", model_type="no-such-model"),
                    lambda folder: _change(folder / "config.json", hidden_size="many"),
                    lambda folder: _change(folder / "config.json", hidden_size=192),
                    lambda folder: _shorten(folder / "model.safetensors", 5000),
                    lambda folder: _shorten(folder / "model.safetensors", 0),
                    lambda folder: (folder / "tokenizer.json").write_text("[]"),
                    lambda folder: [(folder / f"tokenizer{name}.json").unlink() for name in ("", "_config")],
                    _pickle,
                )
            ),
        ],
        ids=[
            "a tensor is missing", "no processor", "half a config", "unknown type", "wrong type", "other shapes",
            "cut off", "empty", "no tokenizer", "none", "pickled",
        ],
    )  # fmt: skip
    def test_of_a_damaged_folder_is_an_error_that_names_it(
        self, architecture: str, damage: Callable[[Path], object], said: str, copy: Callable[[str], Path]
    ) -> None:
        folder = copy(architecture)
        damage(folder)
        with pytest.raises(InputError, match=said):
            _load(folder)

    def test_of_another_processor_than_the_architectures_usual_one_takes_that_one(
        self, copy: Callable[[str], Path]
    ) -> None:
        folder = copy("llava")
        _change(folder / "processor_config.json", processor_class="LlavaNextProcessor")
        assert type(_load(folder).processor).__name__ == "LlavaNextProcessor"
        _change(folder / "processor_config.json", processor_class="NoSuchProcessor")
        try:
            found = type(_load(folder).processor).__name__
        except InputError:
            found = "refused"
        assert found != "LlavaProcessor", "a prompt made by the wrong processor is a wrong prompt"


class TestRemoteCode:
    """A folder may hold Python files and ask to have them run."""

    @staticmethod
    def _plant(folder: Path) -> Path:
        proof = folder.parent / "was-run"
        (folder / "evil.py").write_text(f"open({str(proof)!r}, 'w').close()\n")
        return proof

    @pytest.mark.parametrize(
        ("architecture", "file", "values"),
        [
            ("llama", "config.json", {"model_type": "evil", "auto_map": {"AutoConfig": "evil.C"}}),
            ("llama", "tokenizer_config.json",
             {"tokenizer_class": "EvilTokenizer", "auto_map": {"AutoTokenizer": ["evil.T", "evil.T"]}}),
            ("llava", "processor_config.json",
             {"processor_class": "EvilProcessor", "auto_map": {"AutoProcessor": "evil.P"}}),
            ("llava", "processor_config.json",
             {"image_processor": {"image_processor_type": "Evil", "auto_map": {"AutoImageProcessor": "evil.I"}}}),
        ],
    )  # fmt: skip
    def test_is_refused_and_not_run(
        self, architecture: str, file: str, values: dict[str, object], copy: Callable[[str], Path]
    ) -> None:
        folder = copy(architecture)
        proof = self._plant(folder)
        _change(folder / file, **values)
        with pytest.raises(InputError):
            _load(folder)
        assert not proof.exists()

    def test_is_not_run_where_the_library_has_code_of_its_own(self, copy: Callable[[str], Path]) -> None:
        folder = copy("llama")
        proof = self._plant(folder)
        _change(folder / "config.json", auto_map={"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"})
        assert type(_load(folder).model) is transformers.LlamaForCausalLM
        assert not proof.exists()

    def test_that_lies_in_another_repository_is_never_fetched(
        self, copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def call(*_: object) -> None:
            raise AssertionError("the network was asked")

        monkeypatch.setattr(socket.socket, "connect", call)
        folder = copy("llama")
        _change(folder / "config.json", auto_map={"AutoConfig": "someone/else--code.X"})
        with pytest.raises(InputError, match="another repository"):
            _load(folder, trust_remote_code=True)
        assert type(_load(folder).model) is transformers.LlamaForCausalLM

    def test_is_part_of_what_a_run_is_recognised_by(self, copy: Callable[[str], Path]) -> None:
        folder = copy("llama")
        for names_code in (False, True):
            if names_code:
                _change(folder / "config.json", auto_map={"AutoConfig": "evil.C"})
            specs = [made(PackedJudge, folder, trust_remote_code=trusted).spec for trusted in (True, False)]
            assert (specs[0] != specs[1]) == names_code


class TestInputs:
    def test_a_tokenizer_without_a_padding_token_can_be_filled_up(self, copy: Callable[[str], Path]) -> None:
        folder = copy("llama")
        _change(folder / "tokenizer_config.json", pad_token=None)
        weights = _load(folder)
        inputs = weights.collate([weights.encode(text) for text in ("a", "a longer text")])
        assert inputs["attention_mask"][0].tolist() == sorted(inputs["attention_mask"][0].tolist()), "on the left"
        assert inputs["attention_mask"].sum(1).tolist() == [
            len(weights.tokens(text)) for text in ("a", "a longer text")
        ]

    @pytest.mark.parametrize(("written", "architecture"), [(True, "llama"), (False, "llava")])
    def test_the_first_mark_stands_once_whoever_writes_it(
        self, written: bool, architecture: str, copy: Callable[[str], Path]
    ) -> None:
        folder = copy(architecture)
        file = folder / "tokenizer.json"
        stated = json.loads(file.read_text())
        mark = {"SpecialToken": {"id": "<|system|>", "type_id": 0}}
        stated["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [mark, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [mark, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<|system|>": {"id": "<|system|>", "ids": [2], "tokens": ["<|system|>"]}},
        }
        file.write_text(json.dumps(stated))
        first_mark = {"bos_token": "<|system|>"}
        _change(folder / "tokenizer_config.json", **first_mark)
        if written:
            template = folder / "chat_template.jinja"
            template.write_text("<|system|>" + template.read_text())
        weights = _load(folder)
        text = weights.chat("hello", 0, {})
        first = weights.tokenizer.convert_tokens_to_ids("<|system|>")
        assert weights.tokens(text).count(first) == 1
        assert weights.tokens(text)[0] == first
        assert weights.encode(text)["input_ids"][0].tolist() == weights.tokens(text)

    def test_a_chat_template_kept_with_the_tokenizer_is_found(self, copy: Callable[[str], Path], tiny: Tiny) -> None:
        folder = copy("llava")
        template = (folder / "chat_template.jinja").read_text()
        (folder / "chat_template.jinja").unlink()
        _change(folder / "tokenizer_config.json", chat_template=template)
        assert _load(folder).chat("hi", 1, {}) == _load(tiny("llava")).chat("hi", 1, {})

    def test_no_chat_template_is_an_error(self, copy: Callable[[str], Path]) -> None:
        for architecture in ("llama", "llava"):
            folder = copy(architecture)
            (folder / "chat_template.jinja").unlink()
            with pytest.raises(InputError, match="chat template") as caught:
                _load(folder).chat("hi", 0, {})
            assert str(folder) not in str(caught.value), "it stands in the verdicts, which others may be given"

    def test_a_chat_template_may_refuse_and_takes_options(self, copy: Callable[[str], Path]) -> None:
        folder = copy("llama")
        template = "{% if not polite %}{{ raise_exception('say please') }}{% endif %}{{ messages[0]['content'] }}"
        (folder / "chat_template.jinja").write_text(template)
        weights = _load(folder)
        with pytest.raises(InputError, match="say please"):
            weights.chat("hi", 0, {})
        assert weights.chat("hi", 0, {"polite": True}) == "hi"

    def test_replies_end_at_the_models_and_the_tokenizers_marks(self, copy: Callable[[str], Path]) -> None:
        folder = copy("llama")
        _change(folder / "generation_config.json", eos_token_id=[3, 4])
        weights = _load(folder)
        assert weights.ends == sorted({3, 4, weights.tokenizer.eos_token_id})

    def test_marks_need_not_be_declared_special(self, tiny: Tiny) -> None:
        tokenizer = _load(tiny("llama")).tokenizer
        tokenizer.add_tokens(["<tool_call>", "   "])
        assert "<tool_call>" in special_tokens(tokenizer)
        assert "   " not in special_tokens(tokenizer)


@pytest.mark.parametrize("name", ["gpu", "cuda:9999", "", "cpu cpu", "meta"])
def test_a_device_of_an_unknown_name_is_bad_input(name: str) -> None:
    with pytest.raises(InputError, match="mrb doctor"):
        choose_devices(name)


class TestWhereWeightsGo:
    """The GPUs that hold them; the placing itself is transformers'."""

    @staticmethod
    def _gpus(patch: pytest.MonkeyPatch, *sizes: int) -> list[torch.device]:
        patch.setattr(torch.cuda, "mem_get_info", lambda device: (0, sizes[device.index]))
        return [torch.device("cuda", i) for i in range(len(sizes))]

    def test_on_the_first_where_it_holds_them_and_else_on_as_many_as_do(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("model-1.safetensors", "model-2.safetensors"):
            (tmp_path / name).write_bytes(bytes(500))
        gpus = self._gpus(monkeypatch, 700, 700, 700)
        assert devices_needed(tmp_path, gpus) == tuple(gpus[:2]), "1,000 bytes and a fifth for what is read"
        assert devices_needed(tmp_path, gpus, quantize="4bit") == tuple(gpus[:1])
        assert devices_needed(tmp_path, gpus, torch.float32) == tuple(gpus), "twice the bytes that are stored"
        (tmp_path / "config.json").write_text('{"dtype": "float32"}')
        assert devices_needed(tmp_path, gpus) == tuple(gpus[:1]), "half of them"
        (tmp_path / "config.json").unlink()
        assert devices_needed(tmp_path, self._gpus(monkeypatch, 1200, 1200)) == tuple(gpus[:1])
        assert devices_needed(tmp_path, self._gpus(monkeypatch, 100, 100)) == tuple(gpus[:2]), "all there are"
        assert devices_needed(tmp_path, [CPU]) == (CPU,)

    def test_a_processor_does_not_share_them_with_a_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch, "zeros", lambda size, device: torch.ones(size))  # every device is there
        with pytest.raises(InputError, match="spread over GPUs only"):
            choose_devices("cpu,cuda:0")
        assert choose_devices("cuda:0,cuda:2") == (torch.device("cuda:0"), torch.device("cuda:2"))


class TestQuantisedWeights:
    def test_rounding_names_the_extra_that_brings_its_package(
        self, copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise ImportError("Using `bitsandbytes` 8-bit quantization requires bitsandbytes")

        monkeypatch.setattr(checkpoint, "find_spec", lambda _: None)
        monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", refuse)
        with pytest.raises(InputError, match=r"pip install 'mrb-workbench\[quantized\]'"):
            load_checkpoint(copy("llama"), devices=[CPU], dtype=torch.bfloat16, quantize="8bit")

    @pytest.mark.parametrize(
        ("published", "asked", "message"),
        [
            ({"quant_method": "awq", "bits": 4}, None, "pip install gptqmodel"),
            ({"quant_method": "gptq", "bits": 4}, "8bit", r"quantised already \(gptq\); leave --quantize out"),
        ],
    )
    def test_need_their_package_and_are_not_rounded_twice(
        self, published: object, asked: str | None, message: str, copy: Callable[[str], Path]
    ) -> None:
        folder = copy("llama")
        _change(folder / "config.json", quantization_config=published)
        with pytest.raises(InputError, match=message) as raised:
            load_checkpoint(folder, devices=[CPU], dtype=torch.bfloat16, quantize=asked)
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize("bits", ["8bit", "4bit"])
    def test_are_read_by_packed_as_one_prompt_at_a_time_and_take_less(self, bits: str, tmp_path: Path) -> None:
        folder = tiny_models.write(tmp_path, "llama", width=192)  # in whole blocks of 64 numbers
        whole, rounded = (
            load_checkpoint(folder, devices=[CPU], dtype=torch.bfloat16, quantize=some) for some in (None, bits)
        )
        sizes = [
            sum(value.nbytes for name, value in held.model.named_parameters() if ".mlp." in name)
            for held in (whole, rounded)
        ]
        assert sizes[1] < 0.6 * sizes[0]
        reader = TreeReader(rounded, [["A", " A"], ["B", " B"]])
        assert not reader.why_alone
