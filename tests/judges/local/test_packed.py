"""Every question read together has the probability it has when it is read alone, whatever lies beside it."""

import json
import math
import shutil
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.local import reader
from mrb_lib.judges.local.attention import TreeLayout
from mrb_lib.judges.local.base import LocalJudge
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.pointwise import RubricJudge
from mrb_lib.judges.local.reward import RewardJudge
from mrb_lib.judges.local.tree import Texts, Tree, grow, pack
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.beside import beside_of
from mrb_lib.runs.execute import settings_for
from mrb_lib.runs.plan import make_plan
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.orders import KEYS, to_shown_frame
from mrb_lib.verdicts.protocol import VerdictRows
from tests.judges.conftest import ASKED as KNOWN
from tests.judges.local.by_hand import IMAGES, AskFor, ByHand, Made, Tiny, made, paths_of, png
from tests.judges.local.by_hand import PICTURED as CASES
from tests.judges.shown_benchmark import DIMENSIONS, shown_benchmark

ARCHITECTURES = ("llava", "qwen2_5_vl", "llama")
ASKED = ("accuracy", "creativity", "overall")


def _claiming(side: int) -> bytes:
    """A small file that says it is a picture of so many pixels a side."""
    real = png(64, 64, 6)
    header = b"IHDR" + struct.pack(">II", side, side) + real[24:29]
    return real[:12] + header + struct.pack(">I", zlib.crc32(header)) + real[33:]


def _judge(folder: Path, **wishes: object) -> PackedJudge:
    return made(PackedJudge, folder, IMAGES, **{"dimensions": ASKED, **wishes})  # a prompt explains all of them


def alone(folder: Path, shown: pd.DataFrame, dtype: torch.dtype = torch.float32) -> np.ndarray:
    """The probability of each question in an ordinary pass of its own."""
    hand = ByHand(folder, dtype)
    return np.array([hand.p_first(row, IMAGES, ASKED) for row in shown.to_dict("records")])


@pytest.fixture(scope="module")
def asked(ask_for: AskFor) -> pd.DataFrame:
    return ask_for(CASES, ASKED)


@pytest.fixture(scope="module")
def truth(tiny: Tiny, asked: pd.DataFrame) -> Callable[[str], pd.DataFrame]:
    return cache(lambda architecture: asked[list(KEYS)].assign(p=alone(tiny(architecture), asked)))


@pytest.fixture(scope="module")
def plain(tiny: Tiny, asked: pd.DataFrame) -> pd.DataFrame:
    """Return what the tiny LLaVA says, as it is asked by default."""
    return _judge(tiny("llava")).judge(asked)


def _gap(rows: pd.DataFrame, truth: pd.DataFrame) -> float:
    both = rows.merge(truth, on=list(KEYS), validate="one_to_one")
    assert len(both) == len(rows)
    return float((both["p_first"] - both["p"]).abs().max())


@pytest.mark.slow
def test_verdicts_of_a_real_model_are_those_of_asking_each_question_alone(
    smollm: Path, smollm_packed: PackedJudge, pictured: Benchmark, ask_for: AskFor
) -> None:
    """SmolLM2-135M-Instruct, on texts that are cut to a length that a CPU reads in a moment."""
    lengths = {"question": 60, "response_a": 60, "response_b": 40}
    cases = pictured.cases.head(1).assign(**{name: pictured.cases[name].str[:n] for name, n in lengths.items()})
    asked = ask_for(cases, KNOWN)
    verdicts, some = smollm_packed.judge(asked), [0, 3]  # both orders, and both dimensions
    assert not [notice for notice in smollm_packed.notices if "share" in notice]
    hand = ByHand(smollm)
    truth = [hand.p_first({**row, "images": []}, {}, KNOWN) for row in asked.iloc[some].to_dict("records")]
    assert np.abs(verdicts["p_first"][some] - truth).max() < 1e-4
    assert verdicts["status"].eq("ok").all()
    assert verdicts["p_first"].nunique() > len(verdicts) / 2


@pytest.mark.parametrize("architecture", ARCHITECTURES)
class TestEqualToAskingAlone:
    def test_in_single_precision_whatever_the_batch_and_when_only_some_rows_are_asked_as_after_a_resume(
        self, architecture: str, tiny: Tiny, asked: pd.DataFrame, truth: Callable[[str], pd.DataFrame]
    ) -> None:
        judge = _judge(tiny(architecture))
        judge.load()
        assert not [notice for notice in judge.notices if "share" in notice]
        assert truth(architecture)["p"].std() > 0.005, "the probabilities must differ, or the test shows nothing"
        place = {case: i for i, case in enumerate(CASES["case_id"])}
        backwards = asked.sort_values("case_id", key=lambda column: -column.map(place))
        parts = [
            asked,
            backwards[backwards["case_id"].map(place) > 3],
            backwards[backwards["case_id"].map(place) <= 3],
            *(asked[asked["case_id"] == case] for case in ("none", "two", "marks")),
            asked[asked["order"] == "BA"],
            asked[asked["dimension"] == "creativity"],
            asked[asked["case_id"] == "two"].iloc[[4]],
            asked.iloc[np.random.default_rng(4).permutation(len(asked))[:17]],
        ]
        for part in parts if architecture == "qwen2_5_vl" else parts[:3]:
            rows = judge.judge(part)
            assert rows["status"].eq("ok").all()
            assert rows[list(KEYS)].equals(part[list(KEYS)].reset_index(drop=True))
            assert _gap(rows, truth(architecture)) < 1e-4

    def test_in_half_precision(
        self, architecture: str, tiny: Tiny, asked: pd.DataFrame, truth: Callable[[str], pd.DataFrame]
    ) -> None:
        judge = _judge(tiny(architecture), dtype="bfloat16")
        rows = judge.judge(asked)
        assert not [notice for notice in judge.notices if "share" in notice]
        some = asked[asked["dimension"] == "overall"]  # the last questions of each order
        truth_of_some = some[list(KEYS)].assign(p=alone(tiny(architecture), some, torch.bfloat16))
        assert _gap(rows[rows["dimension"] == "overall"], truth_of_some) < 0.02


def test_a_pick_follows_its_probability_and_equal_responses_have_no_preference_but_that_for_a_place(
    plain: pd.DataFrame,
) -> None:
    rows = plain
    expected = np.where(rows["p_first"] > 0.5, "first", np.where(rows["p_first"] < 0.5, "second", "tie"))
    assert (rows["pick"] == expected).all()
    assert rows["answer_mass"].between(0, 1).all()
    same = rows[rows["case_id"] == "same"].pivot_table(index="dimension", columns="order", values="p_first")
    assert (same["AB"] - same["BA"]).abs().max() < 1e-6


def test_in_half_precision_the_answers_logits_have_no_steps(tiny: Tiny, asked: pd.DataFrame) -> None:
    """In bfloat16 logits from 8 to 16 lie on multiples of 1/16, so that different cases would have equal odds."""
    judge = _judge(tiny("llama"), dtype="bfloat16")
    judge.load()
    model = judge.weights.model
    states, logits = [], []
    model.lm_head.register_forward_hook(lambda _, inputs, __: states.append(inputs[0]))
    plain = reader.logits_at

    def noted(*args: object, **options: object) -> torch.Tensor:
        logits.append(plain(*args, **options))
        return logits[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "logits_at", noted)
        judge.judge(asked.head(6))
    assert logits[0].dtype is torch.float32
    assert torch.allclose(logits[0], states[0].float() @ model.lm_head.weight.float().T, atol=1e-5)
    assert not torch.equal(logits[0], logits[0].bfloat16().float())


class TestSight:
    def test_a_case_with_images_is_an_error_for_a_judge_that_reads_text_only(
        self, tiny: Tiny, asked: pd.DataFrame
    ) -> None:
        rows = _judge(tiny("llama"), without_images=False).judge(asked)
        has_images = rows["case_id"].map(CASES.set_index("case_id")["images"].map(len)) > 0
        assert rows["status"].eq("error").equals(has_images)
        assert rows.loc[has_images, "error"].str.contains("reads text only; --without-images").all()
        assert has_images.any() and not has_images.all()

    def test_without_images_none_is_shown_and_it_is_written_down(
        self, tiny: Tiny, asked: pd.DataFrame, plain: pd.DataFrame
    ) -> None:
        judge = _judge(tiny("llava"), without_images=True)
        assert judge.spec["without_images"] is True
        assert "without_images" not in _judge(tiny("llava")).spec
        blind = judge.judge(asked)
        assert blind["status"].eq("ok").all()
        none = _judge(tiny("llava")).judge(asked.assign(images=[[]] * len(asked)))
        assert (blind["p_first"] - none["p_first"]).abs().max() < 1e-6
        assert (blind["p_first"] - plain["p_first"]).abs().max() > 1e-3

    def test_weights_of_text_are_refused_where_they_are_said_to_see(self, tiny: Tiny, tmp_path: Path) -> None:
        folder = tiny("llama")
        with pytest.raises(InputError, match="the roster says that it sees images") as raised:
            made(PackedJudge, folder, IMAGES, Entry("tiny", "packed", path=folder, vision=True)).load()
        assert "\n" not in str(raised.value)
        stated = tmp_path / "stated"
        shutil.copytree(folder, stated)
        config = json.loads((stated / "config.json").read_text())
        (stated / "config.json").write_text(json.dumps({**config, "mm_vision_tower": "openai/clip"}))
        with pytest.raises(InputError, match=r"configuration of its weights \(mm_vision_tower\) says that it sees"):
            _judge(stated, without_images=False).load()


class TestAContextThatIsTooShort:
    def test_counts_images_and_the_longest_prompt(self, tiny: Tiny, asked: pd.DataFrame) -> None:
        some = asked[asked["case_id"].isin(["short", "two"]) & (asked["dimension"] == "overall")]
        judge = _judge(tiny("qwen2_5_vl"))
        judge.load()
        lengths = {}
        for case in ("short", "two"):
            own = some[some["case_id"] == case]
            [one] = judge.cases(VerdictRows(own), own)
            lengths[case] = max(len(path) for row in paths_of(one.prompts) for path in row)
        assert lengths["short"] < lengths["two"]
        judge.weights.model.config.get_text_config().max_position_embeddings = lengths["two"] - 1
        rows = judge.judge(some).set_index("case_id")
        assert rows.loc["short", "status"].eq("ok").all()
        assert (
            rows.loc["two", "error"]
            .str.contains(
                f"a prompt of {lengths['two']} tokens is longer than the model's context of {lengths['two'] - 1}"
            )
            .all()
        )


class TestAModelThatCannotShare:
    @pytest.mark.parametrize(
        ("fault", "architecture"),
        [
            ("does not heed positions", "llava"), ("does not heed positions", "qwen2_5_vl"),
            ("questions see each other", "qwen2_5_vl"), ("its code fails", "llama"),
        ],
    )  # fmt: skip
    def test_is_found_out_and_reads_alone(
        self, fault: str, architecture: str, tiny: Tiny, asked: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        masks = TreeLayout.masks

        def counted(trees: Sequence[Tree], move: Callable[..., dict[str, torch.Tensor]]) -> tuple[object, ...]:
            inputs, ends = pack(trees, move)
            columns = torch.arange(inputs["input_ids"].shape[1])
            return {**inputs, "position_ids": columns.expand(inputs["position_ids"].shape)}, ends

        def causal(self: TreeLayout, window: int | None, device: torch.device) -> list[torch.Tensor]:
            if fault == "its code fails":
                raise NotImplementedError("masks of its own")
            return [torch.ones_like(mask).tril() for mask in masks(self, window, device)]

        if fault == "does not heed positions":
            monkeypatch.setattr(reader, "pack", counted)
        else:
            monkeypatch.setattr(TreeLayout, "masks", causal)
        some = asked[asked["case_id"].isin(["two", "none"]) & (asked["dimension"] == "overall")]
        judge = _judge(tiny(architecture))
        rows = judge.judge(some)
        assert any("cannot share" in notice for notice in judge.notices)
        assert _gap(rows, some[list(KEYS)].assign(p=alone(tiny(architecture), some))) < 1e-4

    @pytest.mark.parametrize(
        ("noise", "largest", "everywhere", "shares"),
        [(0.126, 0.405, False, True), (0.126, 0.6, False, False), (0.3, 0.8, False, True), (0.3, 0.8, True, False)],
    )
    def test_is_told_from_one_whose_arithmetic_rounds(
        self, noise: float, largest: float, everywhere: bool, shares: bool, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judge = _judge(tiny("llama"))
        judge.load()
        one_by_one = [judge.reader.read_apart(judge.reader._apart(*case)) for case in judge.reader._samples()]

        def off(by: float, whole: bool) -> list[list[list[list[float]]]]:
            odds = torch.tensor(one_by_one, dtype=torch.float64)
            moved = odds if whole else odds[:1, :1, :1]
            moved[..., 0] *= math.exp(by)
            return odds.tolist()

        reads = iter([*one_by_one, *off(noise, False)])
        monkeypatch.setattr(reader.TreeReader, "read_apart", lambda *_: next(reads))
        monkeypatch.setattr(reader.TreeReader, "read_trees", lambda *_: off(largest, everywhere))
        judge.reader._check()
        assert (not judge.reader.why_alone) == shares

    def test_a_single_case_that_cannot_be_a_tree_is_read_alone_and_said(
        self, tiny: Tiny, asked: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        some = asked[asked["case_id"].isin(["two", "long"]) & (asked["dimension"] == "overall")]
        judge = _judge(tiny("llava"))
        judge.load()

        def reluctant(held: Weights, texts: Texts, pictures: Sequence[Image.Image]) -> Tree:
            if len(pictures) == 2:
                raise ValueError("the processor changes the text after the images")
            return grow(held, texts, pictures)

        monkeypatch.setattr(reader, "grow", reluctant)
        rows = judge.judge(some)
        assert any("read one question at a time (the processor changes" in notice for notice in judge.notices)
        assert _gap(rows, some[list(KEYS)].assign(p=alone(tiny("llava"), some))) < 1e-4


class TestOutOfMemory:
    @staticmethod
    def _limited(judge: PackedJudge, fits: Callable[[TreeLayout], bool]) -> None:
        """Let the memory suffice for what fits."""
        judge.load()
        forward = judge.weights.model.forward

        @wraps(forward)
        def limited(*args: object, **inputs: torch.Tensor) -> object:
            if not fits(inputs["tree"]):
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return forward(*args, **inputs)

        judge.weights.model.forward = limited

    def test_halves_the_batch_and_says_so(self, tiny: Tiny, asked: pd.DataFrame) -> None:
        some, seen = asked[asked["dimension"] == "overall"], list[int]()
        free, judge = _judge(tiny("llama")).judge(some), _judge(tiny("llama"))

        def fits(tree: TreeLayout) -> bool:
            seen.append(len(tree.cases))
            return seen[-1] <= 2

        self._limited(judge, fits)
        rows = judge.judge(some)
        pd.testing.assert_frame_equal(rows, free, atol=1e-6)
        assert any("memory" in notice for notice in judge.notices)
        fitting = max(size for size in seen if size <= 2)
        seen.clear()
        judge.judge(some)
        assert max(seen) == fitting, "later batches start at the size that fitted"

    def test_a_case_that_never_fits_is_an_error_with_a_reason_and_the_others_are_judged(
        self, tiny: Tiny, asked: pd.DataFrame
    ) -> None:
        some = asked[asked["dimension"] == "overall"]
        judge = _judge(tiny("llama"))
        free = judge.judge(some)
        widest = max(judge.cases(VerdictRows(some), some), key=lambda case: case.n_tokens)
        self._limited(judge, lambda tree: all(end - start < widest.n_tokens for start, end in tree.cases))
        rows = judge.judge(some)
        lost = rows["status"] == "error"
        assert set(rows.loc[lost, "case_id"]) == {widest.records[0]["case_id"]}
        assert rows.loc[lost, "error"].str.contains("does not fit").all()
        assert rows.loc[lost, ["pick", "p_first"]].isna().all(axis=None)
        assert rows.loc[~lost, "status"].eq("ok").all()
        pd.testing.assert_series_equal(rows.loc[~lost, "p_first"], free.loc[~lost, "p_first"], atol=1e-6)

    def test_while_it_is_tried_whether_work_can_be_shared_is_told_plainly(
        self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(self: TreeLayout, window: int | None, device: torch.device) -> list[torch.Tensor]:
            raise torch.OutOfMemoryError("CUDA out of memory.")

        monkeypatch.setattr(TreeLayout, "masks", full)
        with pytest.raises(RunError, match="leave no memory"):
            _judge(tiny("llama")).load()


class TestABadImage:
    def test_makes_its_own_case_an_error_and_no_other(
        self, tiny: Tiny, ask_for: AskFor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(IMAGES, "broken.png", b"\x89PNG\r\n\x1a\nnot an image")
        monkeypatch.setitem(IMAGES, "sliver.png", png(900, 2, 5))
        monkeypatch.setitem(IMAGES, "huge.png", _claiming(60_000))
        bad = ["absent.png", "broken.png", "sliver.png", "huge.png"]
        cases = pd.DataFrame(
            [(f"bad {name}", "What?", "one", "two", ["square.png", name]) for name in bad]
            + [("good", "What?", "one", "two", ["square.png"])],
            columns=CASES.columns,
        )
        rows = _judge(tiny("qwen2_5_vl")).judge(ask_for(cases))
        failed = rows[rows["status"] == "error"]
        assert set(failed["case_id"]) == {f"bad {name}" for name in bad}
        reasons = failed.groupby("case_id")["error"].first()
        assert "image absent.png: is not among" in reasons["bad absent.png"]
        assert "broken.png" in reasons["bad broken.png"]
        assert "aspect ratio" in reasons["bad sliver.png"]
        assert "too large" in reasons["bad huge.png"]
        assert rows.loc[rows["case_id"] == "good", "status"].eq("ok").all()


def test_under_other_labels_and_in_another_wording_too_the_probability_is_that_of_asking_alone(
    tiny: Tiny, asked: pd.DataFrame
) -> None:
    """All in one batch, so that plain cases, labels and wordings lie beside each other."""
    named = {
        "none": ("", 0, ""), "prompt/labels:1": ("1/2", 0, ""), "prompt/labels:4": ("B/A", 0, ""),
        "prompt/wording:2": ("", 2, ""), "prompt/persona:2": ("", 0, "Judge as a student would."),
    }  # fmt: skip
    some = asked[asked["case_id"].isin(["short", "none"]) & (asked["dimension"] != "creativity")].copy()
    some.loc[some["case_id"] == "short", "question"] = "Which? A. hilum B. apex C. neither"
    rows = pd.concat(
        [
            some.assign(probe=name, probe_labels=one, probe_wording=two, probe_instruction=three)
            for name, (one, two, three) in named.items()
        ],
        ignore_index=True,
    )
    judged = _judge(tiny("llava")).judge(rows)
    assert _gap(judged, rows[list(KEYS)].assign(p=alone(tiny("llava"), rows))) < 1e-4
    wide = judged.pivot_table(index=["case_id", "dimension", "order"], columns="probe", values="p_first")
    assert all((wide[name] - wide["none"]).abs().max() > 1e-5 for name in named if name != "none")


def test_a_label_that_is_not_one_token_is_an_error_of_its_rows_alone(tiny: Tiny, asked: pd.DataFrame) -> None:
    some = asked[asked["case_id"] == "none"]
    rows = pd.concat([some.assign(probe_labels=""), some.assign(probe="prompt/labels:3", probe_labels="Alex/Sam")])
    judged = _judge(tiny("llama")).judge(rows.reset_index(drop=True)).set_index("probe")
    assert (judged.loc["none", "status"] == "ok").all()
    assert (judged.loc["prompt/labels:3", "status"] == "error").all()
    assert judged.loc["prompt/labels:3", "error"].str.contains("'Alex'").all()


def test_a_judge_that_always_reasons_is_warned_about(tiny: Tiny) -> None:
    folder = tiny("llama")
    entry = Entry("tiny", "packed", path=folder, thinking="always")
    judge = made(PackedJudge, folder, entry=entry)
    assert any("reasons before it replies" in notice for notice in judge.notices)


def test_probabilities_too_small_to_tell_apart_stay_defined(tiny: Tiny, asked: pd.DataFrame) -> None:
    judge = _judge(tiny("llama"))
    judge.load()
    forward = judge.weights.model.forward

    @wraps(forward)
    def certain(*args: object, **inputs: torch.Tensor) -> object:
        result = forward(*args, **inputs)
        result.logits = result.logits.clone()
        result.logits[..., 7] += 1e4
        return result

    judge.weights.model.forward = certain
    rows = judge.judge(asked.head(2))
    assert all(math.isfinite(p) and 0 <= p <= 1 for p in rows["p_first"])
    assert rows["answer_mass"].max() < 1e-40


@pytest.mark.parametrize("kind", [PackedJudge, RubricJudge])
def test_what_is_not_a_number_is_an_error_and_never_a_tie(
    kind: type[LocalJudge], tiny: Tiny, asked: pd.DataFrame
) -> None:
    judge = made(kind, tiny("llama"), dimensions=ASKED)
    judge.load()
    judge.weights.model.get_output_embeddings().weight.data.fill_(math.nan)
    rows = judge.judge(asked.head(2).assign(rubric='[{"criterion": "names the side", "weight": 1}]'))
    assert rows["status"].eq("error").all()
    assert rows["pick"].isna().all()
    assert rows["error"].str.contains("not a number").all()


def test_a_model_of_the_hub_states_what_it_was_trained_on(tiny: Tiny, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny("llama"), tmp_path / "snapshot"))
    judge = made(PackedJudge, folder, entry=Entry("mine", "packed", model="some-lab/judge"))
    assert judge.provenance == {}
    (folder / "training.json").write_text('{"method": "sft", "cases": ["c1"]}', encoding="utf-8")
    assert judge.provenance == {"training": {"method": "sft", "cases": ["c1"]}}


@pytest.mark.slow
def test_a_case_of_twelve_thousand_tokens(tiny: Tiny, ask_for: AskFor) -> None:
    words = "The lungs are clear and the heart is of normal size. "
    case = ("huge", "Describe it.", words * 240, "A nodule is seen on the left. " * 330, ["square.png"])
    asked = ask_for(pd.DataFrame([case], columns=CASES.columns), ("overall",))
    judge = _judge(tiny("qwen2_5_vl"))
    rows = judge.judge(asked)
    assert not [notice for notice in judge.notices if "share" in notice]
    assert rows["prompt_tokens"].sum() > 12_000
    last = asked.tail(1)  # the second branch of the tree, behind all of the first
    assert np.abs(rows["p_first"].tail(1).to_numpy() - alone(tiny("qwen2_5_vl"), last)).max() < 1e-4


SHOWN = Settings(reference="strong", examples=2, max_new_tokens=4)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return shown_benchmark(tmp_path_factory.mktemp("shown") / "bench", n=17)


def rows_of(bench: Benchmark) -> pd.DataFrame:
    """The rows that a judge is shown, with what stands beside them."""
    plan = make_plan(bench.cases, DIMENSIONS, rules=bench.meta.rules, beside=beside_of(bench, SHOWN))
    return to_shown_frame(plan.rows(plan.all_numbers))


def judge_of(kind: type[Made], folder: Path, bench: Benchmark, settings: Settings = SHOWN) -> Made:
    return made(kind, folder, settings=settings_for(bench, settings, 1))


def test_with_references_and_examples_too_it_reads_what_it_reads_alone(tiny: Tiny, bench: Benchmark) -> None:
    shown = rows_of(bench)
    assert set(shown["case_id"]) == {"c14", "c15", "c16"}
    rows = judge_of(PackedJudge, tiny("llama"), bench).judge(shown)
    assert rows["status"].eq("ok").all()
    hand, truth = ByHand(tiny("llama")), shown[list(KEYS)].copy()
    truth["p"] = [hand.p_first(row, {}, DIMENSIONS, SHOWN) for row in shown.to_dict("records")]
    assert truth["p"].std() > 0.005, "the probabilities must differ, or the test shows nothing"
    assert _gap(rows, truth) < 1e-4
    usual = judge_of(PackedJudge, tiny("llama"), bench, replace(SHOWN, reference="none", examples=0))
    assert (usual.judge(shown)["p_first"].to_numpy() - rows["p_first"].to_numpy()).std() > 0.005


def test_a_judge_without_a_prompt_shows_nothing(tiny: Tiny, bench: Benchmark) -> None:
    with pytest.raises(InputError, match="takes no prompt; leave out --reference and --examples"):
        judge_of(RewardJudge, tiny("llama"), bench)


def test_a_case_that_lacks_what_is_shown_fails_alone(tiny: Tiny, bench: Benchmark) -> None:
    cases = bench.cases.copy()
    cases.loc[15, "reference"] = None
    changed = replace(bench, cases=cases)
    for kind in (PackedJudge, GenerativeJudge):
        rows = judge_of(kind, tiny("llama"), changed).judge(rows_of(changed))
        assert set(rows[rows["status"] == "error"]["case_id"]) == {"c15"}
