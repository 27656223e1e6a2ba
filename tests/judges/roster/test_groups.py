"""Tests of which group a judge belongs to: names against a list that was written before the function."""

import re
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.judges.roster.groups import chosen_judges, group_notes, judge_groups, read_group_file
from mrb_lib.judges.roster.roster import entries
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest


def published(name: str) -> Manifest:
    """The run of an imported result file."""
    return Manifest("r", name, source="results of the pipeline")


def folder(name: str, **provenance: object) -> Manifest:
    """The run of a folder of weights, which says this of itself."""
    spec = {"engine": "packed", "model": name, "revision": "sha256:" + "0" * 64}
    return Manifest("r", name, spec, provenance=provenance)


# (manifest, group, roster entry, how it was told): written down first, from what each name says.
CASES: tuple[tuple[Manifest, str, str | None, str], ...] = (
    # the roster's own names
    (Manifest("r", "medgemma-4b"), "medical", "medgemma-4b", "exact"),
    (Manifest("r", "longer"), "heuristic", "longer", "exact"),
    # with another engine
    (Manifest("r", "medgemma-27b+generative"), "medical", "medgemma-27b", "exact"),
    (Manifest("r", "qwen2.5-vl-7b+generative"), "open", "qwen2.5-vl-7b", "exact"),
    # of a server, by the name it knows the model by
    (Manifest("r", "endpoint:gpt-4o-2024-08-06"), "proprietary", "gpt-4o", "other name"),
    (Manifest("r", "endpoint:qwen2.5vl:7b"), "open", "qwen2.5-vl-7b", "other name"),
    (Manifest("r", "endpoint:in-house-model"), "other", None, "unmatched"),
    # folders of weights
    (folder("mine", training={"base": "Qwen/Qwen2-VL-7B-Instruct", "method": "dpo"}), "critic", None, "path"),
    (folder("medgemma-4b-it", base="google/gemma-3-4b-pt"), "medical", "medgemma-4b", "path"),
    (folder("tuned", base="lingshu-medical-mllm/Lingshu-7B"), "medical", None, "path"),
    (folder("scorer", architectures=["Qwen2ForSequenceClassification"]), "critic", None, "path"),
    (folder("plain", architectures=["Qwen2VLForConditionalGeneration"]), "open", None, "path"),
    # published result files
    (published("InternVL2_5-8B"), "open", "internvl3-8b", "other name"),  # what the pipeline loads by that name
    (published("OpenGVLab/InternVL2_5-8B"), "open", "internvl2.5-8b", "other name"),
    (published("Qwen2-VL-7B-sft"), "open", None, "tuned from"),
    (published("Qwen2-VL-7B-dpo"), "open", None, "tuned from"),
    # no guesses from spellings
    (published("Lingshu-13B"), "other", None, "unmatched"),
    (published("MedMO-8B-sft"), "other", None, "unmatched"),
    (published("somebody/medgemma-4b-it"), "other", None, "unmatched"),
    (published("Qwen2-VL-7B-Med"), "other", None, "unmatched"),
    (published("gpt-oss-120b"), "other", None, "unmatched"),
    (published("gpt2"), "other", None, "unmatched"),
    (published("InternVL25-8B"), "other", None, "unmatched"),
    (published("somebody's judge"), "other", None, "unmatched"),
    # what is no single model
    (Manifest("r", "consensus-of:medgemma-4b,gpt-4o"), "jury", None, "exact"),
    (Manifest("r", "simulated-careful", kind="simulated", source="SIMULATED"), "SIMULATED", None, "exact"),
)  # fmt: skip


@pytest.mark.parametrize(("manifest", "group", "entry", "how"), CASES, ids=[case[0].judge for case in CASES])
def test_names_of_every_kind_are_grouped_as_written_down(
    manifest: Manifest, group: str, entry: str | None, how: str
) -> None:
    (row,) = judge_groups([manifest.judge], [manifest]).to_dict("records")
    assert (row["judge"], row["group"], row["how"]) == (manifest.judge, group, how)
    assert (row["entry"] if isinstance(row["entry"], str) else None) == entry


def test_every_roster_entry_is_in_the_group_of_its_domain_and_access() -> None:
    models = [entry for entry in entries() if entry.access in ("open", "proprietary")]
    grouped = judge_groups([entry.name for entry in models]).set_index("judge")["group"]
    for entry in models:
        expected = {"medical": "medical", "critic": "critic", "reward": "critic"}.get(str(entry.domain), entry.access)
        assert grouped[entry.name] == expected


def test_every_roster_model_is_found_by_its_other_names_and_by_its_name_on_the_hub_and_at_a_server() -> None:
    # Of models in folders of one repository, the first stands for it.
    models = {entry.model: entry.name for entry in reversed(entries()) if entry.model}
    aliases = {alias: entry.name for entry in entries() for alias in entry.aliases}
    expected = {**models, **{f"endpoint:{model}": name for model, name in models.items()}, **aliases}
    found = judge_groups(expected).set_index("judge")["entry"]
    assert {judge: found[judge] for judge in expected} == expected


def test_what_a_tuned_judge_was_tuned_from_is_named() -> None:
    trained = folder("mine", training={"base": "Qwen/Qwen2-VL-7B-Instruct"})
    grouped = judge_groups(["mine", "Qwen2-VL-7B-sft", "huatuogpt-vision-7b-qwen2.5vl", "gpt-4o"], [trained])
    base = grouped.set_index("judge")["base"]
    assert base["mine"] == base["Qwen2-VL-7B-sft"] == "qwen2-vl-7b"
    assert base["huatuogpt-vision-7b-qwen2.5vl"] == "qwen2.5-vl-7b"
    assert pd.isna(base["gpt-4o"])


def test_the_cutoff_is_that_of_the_entry_or_of_its_base_and_says_which() -> None:
    trained = folder("mine", training={"base": "meta-llama/Llama-3.2-11B-Vision-Instruct"})
    names = ["gpt-4o", "mine", "gpt-4o@run", "first", "nobody-knows-it"]
    grouped = judge_groups(names, [trained, Manifest("run", "gpt-4o")]).set_index("judge")
    stated = {entry.name: entry.cutoff for entry in entries()}
    for judge, of in (("gpt-4o", "gpt-4o"), ("gpt-4o@run", "gpt-4o"), ("mine", "llama-3.2-11b-vision")):
        assert grouped.loc[judge, "cutoff_of"] == of
        assert grouped.loc[judge, "cutoff"] == stated[of]
    assert grouped.loc[["first", "nobody-knows-it"], ["cutoff", "cutoff_of"]].isna().all(axis=None)


def test_a_file_goes_before_everything_and_may_name_groups_of_its_own(tmp_path: Path) -> None:
    judges = ["medgemma-4b@a1", "medgemma-4b@b2", "gpt-4o", "longer"]
    manifests = [Manifest("a1", "medgemma-4b"), Manifest("b2", "medgemma-4b")]
    (tmp_path / "groups.csv").write_text('judge,group\nmedgemma-4b,ours\ngpt-4o,"big, closed"\n', encoding="utf-8")
    stated = read_group_file(tmp_path / "groups.csv")
    grouped = judge_groups(judges, manifests, override=stated).set_index("judge")
    assert grouped["group"].to_dict() == {
        "gpt-4o": "big, closed", "longer": "heuristic", "medgemma-4b@a1": "ours", "medgemma-4b@b2": "ours",
    }  # fmt: skip
    assert grouped["how"].to_dict() == {
        "gpt-4o": "file", "longer": "exact", "medgemma-4b@a1": "file", "medgemma-4b@b2": "file",
    }  # fmt: skip
    assert grouped["entry"]["gpt-4o"] == "gpt-4o"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("judge,group\nnobody,ours\n", "names no judge"),
        ("judge,group\n", "names no judge"),
        ("", "cannot be read"),
        ("name,kind\ngpt-4o,ours\n", "column 'judge'"),
        ("judge,group\ngpt-4o,ours\ngpt-4o,theirs\n", "'gpt-4o' twice"),
        ("judge,group\ngpt-4o,\n", "judge 'gpt-4o'"),
        ("judge,group\ngpt-4o," + "x" * 41 + "\n", "at most 40"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "groups.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        judge_groups(["gpt-4o"], override=read_group_file(tmp_path / "groups.csv"))
    assert "\n" not in str(caught.value)
    assert "groups.csv" in str(caught.value)
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        read_group_file(tmp_path / "none.csv")


def test_what_was_matched_by_more_than_the_exact_name_is_said() -> None:
    judges = ["medgemma-4b", "InternVL2_5-8B", "Qwen2-VL-7B-sft", "somebody's", "longer"]
    notes = " ".join(group_notes(judge_groups(judges)))
    assert "Group open: InternVL2_5-8B as internvl3-8b, Qwen2-VL-7B-sft as tuned from qwen2-vl-7b." in notes
    assert "In no group: somebody's; " in notes
    assert "medgemma-4b" not in notes
    assert "longer" not in notes
    assert group_notes(judge_groups(["medgemma-4b", "longer", "gpt-4o"])) == []


def test_judges_are_chosen_by_name_and_by_group() -> None:
    groups = judge_groups(["medgemma-4b", "Lingshu-7B", "gpt-4o", "longer"])
    assert chosen_judges("", groups) == ["Lingshu-7B", "gpt-4o", "longer", "medgemma-4b"]
    assert chosen_judges("group:medical, gpt-4o", groups) == ["Lingshu-7B", "gpt-4o", "medgemma-4b"]
    for text, said in (
        ("nobody", "judge 'nobody'"),
        ("group:critic", "judge 'group:critic': .*use some of group:heuristic, group:medical, group:proprietary"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            chosen_judges(text, groups)
        assert "\n" not in str(caught.value)


def test_engines_and_runs_of_one_model_are_told_to_be_one() -> None:
    runs = [Manifest("a1", "medgemma-4b"), Manifest("b2", "medgemma-4b"), Manifest("c3", "mine+generative")]
    judges = ["medgemma-4b@a1", "medgemma-4b@b2", "medgemma-4b+generative", "MedGemma-4B", "mine+generative", "mine"]
    jury = "consensus-of:medgemma-4b,medgemma-4b+generative"
    model = judge_groups([*judges, jury], runs).set_index("judge")["model"]
    assert set(model[judges[:4]]) == {"medgemma-4b"}
    assert set(model[judges[4:]]) == {"mine"}
    assert model[jury] == jury, "its last member's engine is not its own"
