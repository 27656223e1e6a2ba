"""One prompt ranks all responses to an item, and its reply is the verdicts of all their pairs."""

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from mrb_lib.judges.local.generative import BatchJudge
from mrb_lib.verdicts.orders import to_case_frame
from tests.judges.item_cases import better_of, by_worth, item_cases, ranking_by, responses_in, shown_to_batch
from tests.judges.local.by_hand import made
from tests.judges.local.test_generative import Script, Tiny

DIMENSIONS = ("accuracy", "overall")


def _judge(folder: Path, images: object = None, **wishes: object) -> BatchJudge:
    return made(BatchJudge, folder, images, **{"max_new_tokens": 200, "dimensions": DIMENSIONS, **wishes})


def _scripted(monkeypatch: pytest.MonkeyPatch, reply: object, prompts: list[str] | None = None) -> None:
    def remembering(prompt: str) -> str:
        if prompts is not None:
            prompts.append(prompt.replace("<|pad|>", ""))
        return str(reply(prompt)) if callable(reply) else str(reply)

    Script(monkeypatch, remembering)


class TestPrompts:
    def test_two_an_item_and_repeat_show_every_pair_once_in_each_order(
        self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prompts: list[str] = []
        _scripted(monkeypatch, ranking_by(by_worth, DIMENSIONS), prompts)
        cases, repeats = item_cases(2, 4), 4
        _judge(tiny("llama")).judge(shown_to_batch(cases, DIMENSIONS, repeats=repeats))
        assert len(prompts) == 2 * 2 * repeats
        orders = [tuple(responses_in(prompt).values()) for prompt in prompts]
        for item in (0, 1):
            own = [order for order in orders if order[0].startswith(f"finding {item} ")]
            assert {order[::-1] for order in own} == set(own)
            pairs = Counter(pair for order in own for pair in itertools.combinations(order, 2))
            assert set(pairs.values()) == {repeats}
            # Each response stands in each place as often: k repeats go once round.
            places = Counter((place, text) for order in own for place, text in enumerate(order))
            assert set(places.values()) == {2}


class TestVerdicts:
    def test_equal_places_are_ties_only_where_the_benchmark_has_ties(
        self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cases = item_cases(1, 3)
        _scripted(monkeypatch, json.dumps({name: ["A", ["B", "C"]] for name in DIMENSIONS}))
        for choices, expected in ((("A", "B", "tie"), {"tie": "ok"}), (("A", "B"), {"none": "unparsed"})):
            rows = _judge(tiny("llama"), choices=choices).judge(shown_to_batch(cases, DIMENSIONS))
            equal = rows.fillna({"pick": "none"})[~rows["pick"].isin(["first", "second"])]
            assert len(equal) == 2 * 2  # one pair a prompt, in two dimensions
            assert dict(zip(equal["pick"], equal["status"], strict=True)) == expected

    def test_one_dimension_at_a_time(self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
        prompts: list[str] = []

        def reply(prompt: str) -> str:
            shown = responses_in(prompt)
            sign = -1 if "by their overall" in prompt else 1
            return " > ".join(sorted(shown, key=lambda letter: sign * by_worth(shown[letter], 0)))

        _scripted(monkeypatch, reply, prompts)
        cases = item_cases(2, 3)
        rows = _judge(tiny("llama"), prompt="single-batch").judge(shown_to_batch(cases, DIMENSIONS))
        assert len(prompts) == 2 * 2 * 2
        chosen = to_case_frame(rows)
        right = chosen["choice"] == chosen["case_id"].map(dict(zip(cases["case_id"], better_of(cases), strict=True)))
        assert (right == (rows["dimension"] == "overall")).all()
        assert set(rows["status"]) == {"ok"}
        assert rows["prompt_tokens"].notna().sum() == 8

    def test_too_many_responses_and_equal_texts_are_errors_that_say_so(
        self, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _scripted(monkeypatch, ranking_by(by_worth, DIMENSIONS))
        cases = item_cases(1, 27)
        rows = _judge(tiny("llama")).judge(shown_to_batch(cases.head(3), ("overall",), every=cases))
        assert rows["error"].str.contains("27 different responses.*26 at most").all()
        same = item_cases(1, 3).assign(
            response_b=lambda rows: rows["response_b"].where(rows.index > 0, rows["response_a"])
        )
        rows = _judge(tiny("llama")).judge(shown_to_batch(same, ("overall",))).set_index("case_id")
        assert rows.loc["i0-01", "error"].str.contains("same text").all()
        assert rows.loc[["i0-02", "i0-12"], "pick"].notna().all()
        twins = same.head(1)
        assert _judge(tiny("llama")).judge(shown_to_batch(twins, ("overall",)))["error"].str.contains("same text").all()
