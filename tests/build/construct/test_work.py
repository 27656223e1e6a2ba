"""A work folder remembers every choice, counts every item, and knows what a changed choice makes stale."""

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.build.construct.work import Work, begin, create_work, open_work
from mrb_lib.tables.errors import InputError, RunError

ITEMS = pd.DataFrame({"item_id": ["a", "b", "c", "d"], "images": [["1.png"], [], ["2.png", "3.png"], []],
                      "question": list("abcd"), "choices": [None, ["x", "y"], None, None]})  # fmt: skip


def run(
    work: Work, step: str, dropped: dict[str, str] | None = None, *, again: bool = False, seed: int = 0, **choices: str
) -> bool:
    """Run a step that leaves out some items; whether there was something to do."""
    with begin(work, step, choices, seed=seed, again=again) as under_way:
        if under_way.is_done:
            return False
        if step == "start":
            under_way.write("items", ITEMS)
        if step == "respond":
            under_way.write("responses", pd.DataFrame({"item_id": ["a"], "model": ["m"], "answer": [str(choices)]}))
        left_out = dropped or {}
        decisions = {"item_id": list(left_out), "kept": False, "reason": list(left_out.values())}
        under_way.decide(pd.DataFrame(decisions))
    return True


@pytest.fixture
def work(tmp_path: Path) -> Work:
    work = create_work(tmp_path / "work", "mine", "clinical")
    run(work, "start", {"d": "too small"})
    return work


def test_every_item_is_kept_or_left_out_for_a_reason(work: Work) -> None:
    run(work, "filter", {"b": "too easy"}, keep="correct<=2")
    assert list(work.entering("screen")["item_id"]) == ["a", "c"]
    assert work.items()["images"].tolist() == ITEMS["images"].tolist()
    assert work.items()["choices"].tolist() == ITEMS["choices"].tolist()
    rows = [tuple(row) for row in work.funnel().itertuples(index=False)]
    assert rows == [
        ("start", 4, 3, "kept", 3), ("start", 4, 3, "too small", 1),
        ("filter", 3, 2, "kept", 2), ("filter", 3, 2, "too easy", 1),
    ]  # fmt: skip
    assert work.choices("filter") == {"keep": "correct<=2"}
    assert work.responses().empty and "flag" in work.responses()


def test_a_changed_earlier_choice_makes_later_steps_stale(work: Work) -> None:
    run(work, "respond", model="m")
    assert work.stale() == {}
    run(work, "filter", {"b": "too easy"})
    assert work.stale() == {"respond": "filter was run since"}
    with pytest.raises(InputError, match=r"respond is stale.*mrb construct respond"):
        run(work, "pair")
    assert run(work, "respond", model="m")  # the same command brings it up to date
    run(work, "pair")
    run(work, "filter", {"b": "too easy"}, keep="other", again=True)
    assert work.stale() == {}, "the same items pass, so nothing after it is stale"
    run(work, "filter", {"c": "too easy"}, again=True)
    assert work.stale() == {"respond": "filter was run again since", "pair": "filter was run again since"}


def test_a_table_changed_by_hand_is_noticed(work: Work) -> None:
    run(work, "respond")
    run(work, "pair")
    (work.path / "responses.parquet").write_bytes((work.path / "items.parquet").read_bytes())
    assert work.stale() == {"respond": "responses.parquet is not what respond wrote", "pair": "respond is stale"}


def test_an_interrupted_step_is_taken_up_by_the_same_command(work: Work) -> None:
    with pytest.raises(KeyboardInterrupt), begin(work, "respond", {"model": "m"}, seed=0) as step:
        step.write("responses", pd.DataFrame({"item_id": ["a"]}))
        raise KeyboardInterrupt
    assert work.state("respond") == "begun"
    assert not (work.path / "responses.parquet").exists() and not list(work.path.glob(".respond*"))
    with pytest.raises(InputError, match="respond is not finished"):
        run(work, "pair")
    with pytest.raises(InputError, match="other choices"):
        run(work, "respond", model="n")
    with begin(work, "respond", {"model": "m"}, seed=0) as step:
        assert not step.is_done
    assert work.state("respond") == "finished"


def test_one_process_at_a_time(work: Work) -> None:
    with begin(work, "filter", {}, seed=0), pytest.raises(RunError, match="work folder"):
        run(work, "filter")


def test_what_is_no_work_folder_is_refused_with_the_cure(work: Work, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mrb construct start"):
        open_work(tmp_path)
    with pytest.raises(InputError, match="already exists"):
        create_work(tmp_path, "x", "clinical")
    with pytest.raises(InputError, match="run `mrb construct respond"):
        run(work, "pair")
    (work.path / "construction.toml").write_text("name = ")
    with pytest.raises(InputError, match="cannot be read"):
        open_work(work.path)


def test_a_table_with_a_flipped_bit_is_named_with_what_to_do(work: Work) -> None:
    run(work, "respond")
    path = work.path / "responses.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"responses\.parquet: is truncated or damaged .*run the step"):
        work.responses()
