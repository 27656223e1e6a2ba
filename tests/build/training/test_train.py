"""A training ends in a folder that judges, can be killed at any time, and never learns from what it is tested on."""

import json
import multiprocessing
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.case_digests import case_digests
from mrb_lib.benchmarks.votes import gold
from mrb_lib.build.training.letters import LetterLoss
from mrb_lib.build.training.loop import read_trained, trained_state
from mrb_lib.build.training.plan import Plan
from mrb_lib.build.training.recipe import Recipe, recipe_from
from mrb_lib.build.training.record import cases_digest
from mrb_lib.build.training.train import Trained, train, word_baseline
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import load_verdicts
from tests import tiny_models

pytestmark = pytest.mark.slow

Tiny, Fit = Callable[[str], Path], Callable[..., Trained]
CPU = Settings(device="cpu", dtype="float32")
BLIND = replace(CPU, without_images=True)  # for models that read text only
SHORT: dict[str, object] = {"epochs": 1, "batch": 4, "learning_rate": 1e-3, "evaluations": 1}


def _recipe(**values: object) -> Recipe:
    return recipe_from({**SHORT, **values}, "test")


def _train(bench: Benchmark, out: Path, base: Path, **values: object) -> Trained:
    return train(bench, out, f"path:{base}", _recipe(**values), settings=_settings(base))


def _settings(folder: Path) -> Settings:
    config = folder / "config.json"
    return CPU if not config.is_file() or "vision_config" in config.read_text() else BLIND


def _record(folder: Path) -> dict[str, object]:
    record: dict[str, object] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return record


@pytest.fixture
def fit(bench: Benchmark, tiny: Tiny, tmp_path: Path) -> Fit:
    """Trains a tiny model in the shortest way, into a folder of the test's own; `on` may be another benchmark."""

    def run(base: str | Path = "llama", out: str | Path = "tuned", on: Benchmark = bench, **values: object) -> Trained:
        return _train(on, tmp_path / out, tiny(base) if isinstance(base, str) else base, **values)

    return run


@pytest.fixture(scope="module")
def rewarded(bench: Benchmark, tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A reward model, trained in the shortest way and left as it is."""
    return _train(bench, tmp_path_factory.mktemp("rewarded") / "tuned", tiny("llama"), method="reward")


@pytest.fixture(scope="module")
def lettered(bench: Benchmark, tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A judge of letters, trained in the shortest way and left as it is."""
    return _train(bench, tmp_path_factory.mktemp("lettered") / "tuned", tiny("llama"), method="sft")


class TestWhatIsWritten:
    @pytest.mark.parametrize(
        ("method", "architecture", "more"),
        [
            ("sft", "llava", {}),
            ("reward", "qwen2_5_vl", {}),
            ("reward", "llava", {"lora": True}),
            ("sft", "llama", {"lora": True, "keep_adapter": True}),
        ],
    )
    def test_judges_as_it_did_at_its_best_evaluation(
        self, method: str, architecture: str, more: dict[str, object], bench: Benchmark, fit: Fit, tmp_path: Path
    ) -> None:
        trained = fit(architecture, method=method, epochs=2, evaluations=2, **more)
        best = max(trained.curve, key=lambda point: point.accuracy or 0.0)
        validation = bench.cases[bench.cases["split"] == "validation"]
        folder = tmp_path / "validation"
        kept = bench.annotations[bench.annotations["case_id"].isin(validation["case_id"])]
        save(replace(bench, cases=validation.reset_index(drop=True), annotations=kept.reset_index(drop=True)), folder)
        settings = BLIND if architecture == "llama" else CPU
        [done] = judge(load(folder), tmp_path / "runs", [f"path:{trained.folder}"], settings=settings)
        assert done.judge == "tuned"
        verdicts = load_verdicts(tmp_path / "runs", validation)
        assert verdicts["status"].eq("ok").all()
        assert set(verdicts["dimension"]) == {"accuracy", "overall"}
        overall = verdicts[verdicts["dimension"] == "overall"]
        labels = bench_labels(bench)
        mine = overall[overall["case_id"].isin(labels.index)]
        score = [
            1.0 if choice == labels[case] else 0.5 if (choice == "tie") != (labels[case] == "tie") else 0.0
            for case, choice in zip(mine["case_id"], mine["choice"], strict=True)
        ]
        assert sum(score) / len(score) == pytest.approx(best.accuracy)

    def test_says_what_it_was_made_of(self, bench: Benchmark, lettered: Trained) -> None:
        trained, out = lettered, lettered.folder
        record = _record(out)
        cases = bench.cases[bench.cases["split"] == "train"]["case_id"].tolist()
        assert set(record["cases"]) <= set(cases) and len(record["cases"]) == trained.n_cases > 4
        assert record["digests"] == case_digests(bench)[record["cases"]].tolist()
        assert record["cases_digest"] == cases_digest(record["digests"])
        assert set(record["validation"]) <= set(bench.cases[bench.cases["split"] == "validation"]["case_id"])
        assert record["base_revision"].startswith("sha256:") and record["engine"] == "packed"
        assert [point["step"] for point in record["curve"]] == [point.step for point in trained.curve]
        assert record["benchmark"]["kind"] == "simulated"
        card = (out / "README.md").read_text(encoding="utf-8")
        assert "SIMULATED" in card and f"{trained.n_cases} cases" in card
        assert str(out.parent) not in card + json.dumps(record)
        assert [path.name for path in out.parent.iterdir()] == ["tuned"], "nothing is left of the work"

    def test_learns(self, fit: Fit) -> None:
        losses = [point.loss for point in fit(method="reward", epochs=10).curve if point.loss is not None]
        assert losses[-1] < 0.5 * losses[0]

    def test_adapters_on_rounded_weights_are_written_alone_and_judge(self, bench: Benchmark, tmp_path: Path) -> None:
        base, told = tiny_models.write(tmp_path / "base", "llama", width=192), list[str]()  # in whole blocks of 64
        recipe, rounded = _recipe(lora=True, n_cases=4, gradient_checkpointing=True), replace(BLIND, quantize="8bit")
        train(bench, tmp_path / "tuned", f"path:{base}", recipe, settings=rounded, announce=told.append)
        assert {path.name for path in (tmp_path / "tuned").glob("*.safetensors")} == {"adapter_model.safetensors"}
        assert _record(tmp_path / "tuned")["recipe"]["keep_adapter"] is True
        [done] = judge(bench, tmp_path / "runs", [f"path:{tmp_path / 'tuned'}"], settings=BLIND, limit=2)
        assert load_verdicts(done.folder.parent, bench.cases)["status"].eq("ok").all()
        assert len(told) == 1 and "GB of gradients and optimizer" in told[0]


def bench_labels(bench: Benchmark) -> pd.Series:
    labels = gold(bench)
    labels = labels[(labels["dimension"] == "overall") & labels["choice"].notna()]
    return labels.set_index("case_id")["choice"]


class TestReferences:
    def test_kept_they_are_shown_to_the_trained_judge_too(self, bench: Benchmark, fit: Fit, tmp_path: Path) -> None:
        kept = fit(method="sft", reference="keep").folder
        [done] = judge(bench, tmp_path / "runs", [f"path:{kept}"], settings=CPU, limit=2)
        assert read_manifest(done.folder).prompt_id == "single-reference"


class TestKilled:
    @pytest.mark.parametrize(("method", "architecture"), [("reward", "llava"), ("sft", "llama")])
    def test_three_times_it_ends_with_the_same_curve_and_the_same_bits(
        self, method: str, architecture: str, bench: Benchmark, tiny: Tiny, tmp_path: Path
    ) -> None:
        base, out, whole = tiny(architecture), tmp_path / "tuned", tmp_path / "whole"

        def run(folder: Path) -> None:
            torch.set_num_threads(1)
            _train(bench, folder, base, method=method, epochs=6, batch=2, n_cases=4)

        work, when = tmp_path / ".tuned.training", random.Random(3)
        forked = multiprocessing.get_context("fork")
        for _ in range(3):
            before = _last_step(work)
            process = forked.Process(target=run, args=(out,))
            process.start()
            while _last_step(work) <= before and process.is_alive():
                time.sleep(0.001)
            time.sleep(when.uniform(0.0, 0.02))
            process.kill()
            process.join()
            assert process.exitcode == -signal.SIGKILL, "it ended before it was killed"
        assert not out.exists()
        run(out)
        run(whole)
        for name in ("model.safetensors", *(["reward_head.safetensors"] if method == "reward" else [])):
            assert (out / name).read_bytes() == (whole / name).read_bytes()
        curves = [[{**point, "seconds": 0} for point in _record(folder)["curve"]] for folder in (out, whole)]
        assert curves[0] == curves[1] and len(curves[0]) == 7


def _last_step(work: Path) -> int:
    steps = [int(path.parent.name.removeprefix("checkpoint-")) for path in work.glob("checkpoint-*/trainer_state.json")]
    return max(steps, default=0)


class TestLimits:
    def test_too_little_memory_halves_the_batch_and_a_step_stays_a_step(
        self, lettered: Trained, fit: Fit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forward, sizes = LetterLoss.__call__, []

        def limited(self: LetterLoss, model: object, cases: list[object]) -> torch.Tensor:
            sizes.append(len(cases))
            if len(cases) > 1:
                raise torch.OutOfMemoryError("not enough memory")
            return forward(self, model, cases)

        monkeypatch.setattr(LetterLoss, "__call__", limited)
        trained = fit(method="sft")
        assert sizes[:3] == [4, 2, 1] and set(sizes[2:]) == {1}
        assert any("going on with 1 at a time" in notice for notice in trained.notices)
        for ours, theirs in zip(trained.curve, lettered.curve, strict=True):
            assert ours.step == theirs.step
        weights = [load_file(done.folder / "model.safetensors") for done in (trained, lettered)]
        for name, value in weights[0].items():
            assert (value - weights[1][name]).abs().max() < 1e-4, name

    def test_no_memory_for_one_case_is_said(self, fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
        def never(self: LetterLoss, model: object, cases: list[object]) -> torch.Tensor:
            raise torch.OutOfMemoryError("not enough memory")

        monkeypatch.setattr(LetterLoss, "__call__", never)
        with pytest.raises(RunError, match="does not fit"):
            fit(method="sft")

    def test_patience_stops_when_nothing_gets_better(self, fit: Fit) -> None:
        trained = fit(method="reward", learning_rate=1e-9, epochs=9, patience=2)
        assert len(trained.curve) == 3, "before training, and two evaluations without a better one"

    @pytest.mark.parametrize(("when", "last"), [(1, 0), (2, 0), (3, 2)])
    def test_a_loss_that_is_no_number_stops_it_and_keeps_the_checkpoint_before(
        self, when: int, last: int, fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forward, n_steps = LetterLoss.__call__, iter(range(1, 99))

        def diverging(self: LetterLoss, model: object, cases: list[object]) -> torch.Tensor:
            return forward(self, model, cases) * (float("nan") if next(n_steps) == when else 1.0)

        monkeypatch.setattr(LetterLoss, "__call__", diverging)
        said = rf"^step {when}: (the loss is nan|weights are no longer numbers), .* lower --lr"
        with pytest.raises(RunError, match=said) as raised:
            fit(batch=1, n_cases=4, evaluations=2)
        assert not (tmp_path / "tuned").exists()
        kept = list(tmp_path.glob(".tuned.training/checkpoint-*/trained.safetensors"))
        assert [path.parent.name for path in kept] == [f"checkpoint-{last}"] * bool(last)
        assert not last or f"checkpoint-{last} is the last" in str(raised.value)
        assert all(bool(value.isfinite().all()) for path in kept for value in load_file(path).values())

    def test_weights_that_are_no_numbers_are_not_kept(self, fit: Fit, tmp_path: Path) -> None:
        with pytest.raises(RunError, match=r"^step 1: weights are no longer numbers"):
            fit(learning_rate=float("inf"), n_cases=2)
        assert not list(tmp_path.iterdir())

    def test_minutes_stop_it(self, fit: Fit) -> None:
        trained = fit(method="reward", epochs=999, max_minutes=0.002)
        assert 0 < trained.curve[-1].step < 999
        assert (trained.folder / "training.json").is_file()


class TestOnceMore:
    def test_a_finished_training_is_not_made_again_or_replaced(self, rewarded: Trained, fit: Fit) -> None:
        written = (rewarded.folder / "training.json").stat().st_mtime_ns
        again = fit(out=rewarded.folder, method="reward")
        assert list(again.curve) == list(rewarded.curve) and "was trained already" in again.notices
        with pytest.raises(InputError, match="trained in another way"):
            fit(out=rewarded.folder, method="reward", seed=1)
        assert (rewarded.folder / "training.json").stat().st_mtime_ns == written

    def test_an_unfinished_training_goes_on_with_its_own_recipe_only(
        self, fit: Fit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forward, n_steps = LetterLoss.__call__, iter(range(99))

        def interrupted(self: LetterLoss, model: object, cases: list[object]) -> torch.Tensor:
            if next(n_steps) == 1:
                raise KeyboardInterrupt
            return forward(self, model, cases)

        with monkeypatch.context() as patch:
            patch.setattr(LetterLoss, "__call__", interrupted)
            with pytest.raises(KeyboardInterrupt):
                fit(method="sft", evaluations=2)
        with pytest.raises(InputError, match="was interrupted here"):
            fit(method="sft", evaluations=2, seed=5)
        fit(method="sft", evaluations=2)

    def test_a_wish_that_was_wrong_leaves_nothing_in_the_way_of_the_next(self, fit: Fit, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="a reward model is shown"):
            fit(method="reward", reference="keep")
        assert not list(tmp_path.iterdir())
        fit(method="reward")

    def test_a_head_goes_on_from_where_it_was(self, fit: Fit) -> None:
        first = fit(out="first", method="reward", epochs=4)
        best = max(point.accuracy or 0.0 for point in first.curve)
        further = fit(first.folder, "further", method="reward", seed=4)
        assert _record(further.folder)["started_from"]["digests"] == _record(first.folder)["digests"]
        assert further.curve[0].accuracy == best
        heads = [load_file(done.folder / "reward_head.safetensors")["weight"] for done in (first, further)]
        assert torch.nn.functional.cosine_similarity(*heads).min() > 0.9

    def test_not_where_what_it_has_seen_is_now_for_testing(self, bench: Benchmark, lettered: Trained, fit: Fit) -> None:
        turned = bench.cases["split"].map({"train": "test", "validation": "validation", "test": "train"})
        with pytest.raises(InputError, match=r"was trained on \d+ test cases"):
            fit(lettered.folder, on=replace(bench, cases=bench.cases.assign(split=turned)), method="sft")


class TestBadInput:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"method": "grpo"}, "method 'grpo': must be 'sft', 'dpo' or 'reward'"),
            ({"epochs": 0}, "epochs 0: must be more than 0"),
            ({"method": "reward", "prompt": "single"}, "takes no prompt"),
            ({"keep_adapter": True}, "add --lora"),
            ({"n_cases": 900}, "there are 8 training cases"),
            ({"trainer": {"lerning_rate": 1}}, "did you mean learning_rate"),
            ({"trainer": {"report_to": "tensorboard"}}, "'report_to': training.json keeps the curve"),
            ({"trainer": {"push_to_hub": True}}, "does not use the network"),
            ({"trainer": {"hub_model_id": "a/b"}}, "does not use the network"),
            ({"trainer": {"fsdp": "full_shard"}}, "use accelerate launch"),
            ({"trainer": {"load_best_model_at_end": True}}, "see --evaluations"),
            ({"trainer": {"max_grad_norm": "high"}}, "max_grad_norm = 'high': input should be a valid number"),
            ({"trainer": {"optim": "adamant"}}, "adamant is not a valid"),
            ({"method": "dpo", "trainer": {"max_length": 99}}, "prompts are never cut"),
            ({"method": "dpo", "trainer": {"label_smoothing": "some"}}, "label_smoothing = 'some'"),
            ({"method": "dpo", "trainer": {"beta": "strong"}}, "refuses its arguments"),
            ({"trainer": {"lr_scheduler_type": "zigzag"}}, "refuses its arguments"),
            ({"lora": True, "adapter": {"rank": 2}}, "refuses its arguments"),
            ({"adapter": {"r": 4}}, "add --lora"),
            ({"lora": True, "adapter": {"lora_dropout": "little"}}, "lora_dropout = 'little'"),
            ({"lora": True, "adapter": {"r": 0}}, "r must be at least 1"),
            ({"colour": "red"}, "key 'colour': is unknown"),
            ({"method": "sft", "prompt": "reasoned"}, "asks for what no label gives"),
            ({"method": "sft", "prompt": "plain", "dimensions": ["overall"]}, "one reply holds all dimensions"),
            ({"method": "sft", "prompt": "plain", "reference": "keep"}, "take --prompt reference"),
            ({"method": "sft", "prompt": "reference"}, "add --reference keep"),
            ({"swap": "no"}, "swap 'no': must be true or false"),
        ],
    )
    def test_is_one_line_before_weights_are_read_and_nothing_is_written(
        self, values: dict[str, object], message: str, fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mrb_lib.judges.local.base.LocalJudge.load", lambda judge: pytest.fail("weights!"))
        with pytest.raises((InputError, RunError), match=message) as raised:
            fit(**values)
        assert "\n" not in str(raised.value)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("share", [0.5, 1.5])
    def test_a_full_disk_is_named_and_training_goes_on_when_there_is_room(
        self, share: float, bench: Benchmark, tiny: Tiny, tmp_path: Path
    ) -> None:
        """Weights do not fit or, written by torch, the optimizer's state."""
        base, forked = tiny("llama"), multiprocessing.get_context("fork")
        messages = forked.Queue()

        def run() -> None:
            torch.set_num_threads(1)
            most = int(share * sum(path.stat().st_size for path in base.glob("*.safetensors")))
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            try:
                _train(bench, tmp_path / "tuned", base, method="sft", n_cases=2)
            except RunError as error:
                messages.put(str(error))

        process = forked.Process(target=run)
        process.start()
        process.join()
        assert process.exitcode == 0
        message = messages.get(timeout=10)
        assert "no room" in message and "GB are free" in message
        assert not (tmp_path / "tuned").exists()
        _train(bench, tmp_path / "tuned", base, method="sft", n_cases=2)

    def test_no_split_no_training_case_or_no_label_to_learn(self, bench: Benchmark, fit: Fit) -> None:
        for on, message in (
            (replace(bench, cases=bench.cases.drop(columns="split")), "run `mrb split"),
            (replace(bench, cases=bench.cases.assign(split="test")), "no case is for training"),
            (replace(bench, annotations=bench.annotations.head(0)), "no label is left to train on"),
            (replace(bench, annotations=bench.annotations.assign(choice="tie")), "nothing to tell apart"),
        ):
            with pytest.raises(InputError, match=message):
                fit(on=on)

    def test_an_adapter_that_is_damaged_or_on_other_weights_than_it_was_trained_on(
        self, bench: Benchmark, tiny: Tiny, fit: Fit, tmp_path: Path
    ) -> None:
        base = Path(shutil.copytree(tiny("llama"), tmp_path / "base"))
        adapter = fit(base, "adapter", lora=True, keep_adapter=True).folder

        def check_refused(message: str, settings: Settings = CPU) -> None:
            with pytest.raises(InputError, match=message) as raised:
                judge(bench, tmp_path / "runs", [f"path:{adapter}"], settings=settings)
            assert "\n" not in str(raised.value)

        weights = adapter / "adapter_model.safetensors"
        content = weights.read_bytes()
        weights.write_bytes(content[: len(content) // 2])
        check_refused("cannot be loaded as a judge", BLIND)
        weights.write_bytes(content)
        shutil.rmtree(base)
        shutil.copytree(tiny("llava"), base)
        check_refused("adapter for other weights")
        shutil.rmtree(base)
        check_refused("not on this machine")


def test_the_same_seed_draws_the_same_adapters(fit: Fit) -> None:
    kept = {"method": "sft", "lora": True, "keep_adapter": True, "n_cases": 2}
    made = [fit(out=str(i), **kept, seed=seed) for i, seed in enumerate((3, 3, 4))]
    one, same, other = ((done.folder / "adapter_model.safetensors").read_bytes() for done in made)
    assert one == same != other


def test_parameters_that_fsdp_spreads_are_written_and_read_whole(tiny: Tiny, tmp_path: Path) -> None:
    """One process stands for several: what is spread is a `DTensor`, which safetensors cannot write."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = AutoModelForCausalLM.from_pretrained(tiny("llama"))
    before = {name: value.clone() for name, value in trained_state(model).items()}
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
        save_file(trained_state(model), tmp_path / "held.safetensors")
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(2.0)
        read_trained(model, tmp_path / "held.safetensors")
        after = trained_state(model)
    finally:
        torch.distributed.destroy_process_group()
    assert before.keys() == after.keys() and all(bool((after[name] == value).all()) for name, value in before.items())


def test_words_alone_are_the_baseline(bench: Benchmark, tiny: Tiny) -> None:
    telling = gold(bench).query("dimension == 'overall'").set_index("case_id")["choice"]
    side = bench.cases["case_id"].map(telling).fillna("tie")
    texts = {
        f"response_{name.lower()}": [f"{'pneumonia' if choice == name else 'nothing'} seen" for choice in side]
        for name in "AB"
    }
    plain = replace(bench, cases=bench.cases.assign(**texts))
    found = word_baseline(Plan(plain, f"path:{tiny('llama')}", _recipe(), BLIND))
    ties = [telling[case] == "tie" for case in Plan(plain, f"path:{tiny('llama')}", _recipe(), BLIND).validated]
    assert found == pytest.approx(1 - sum(ties) / len(ties) / 2)
    unvalidated = replace(plain, cases=plain.cases.assign(split=plain.cases["split"].replace("validation", "test")))
    signs = replace(bench, cases=bench.cases.assign(response_a="+", response_b="-"))
    for without in (unvalidated, signs):
        assert word_baseline(Plan(without, f"path:{tiny('llama')}", _recipe(), BLIND)) is None
