"""Each known trap of the published layout is one clear error, or is counted."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.benchmarks.formats.official import read
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS

from .conftest import Tree, pair, said, truth

Change = Callable[[Tree], object]


def all_of(choice: str, **changes: object) -> dict[str, object]:
    return dict.fromkeys(DIMENSIONS, choice) | changes


def answers(*pairs: tuple[object, object]) -> list[dict[str, object]]:
    """Lines of a result file."""
    return [{"question_id": question, "chosen_answer": answer} for question, answer in pairs]


def change_truth(line: int, answer: object) -> Change:
    return lambda tree: tree.truths["brain"][line].update(human_answer=answer)


def change_pair(**values: object) -> Change:
    return lambda tree: tree.pairs["brain"][0].update(values)


def two_organs(tree: Tree) -> None:
    tree.organ("eye", [2, 3])
    tree.results("J", answers((2, all_of("A"))), "all")


def two_runs(tree: Tree) -> None:
    tree.results("J", answers((1, "one")))
    tree.results("J", answers((1, "two")), "all")


REFUSED: dict[str, tuple[Change, str]] = {
    "ids written in two ways": (
        lambda tree: tree.truths.update(brain=[truth("001"), truth("002")]),
        r"brain\.parquet, column question_id: no id occurs in brain\.jsonl",
    ),
    "a question id twice in the ground truth": (
        lambda tree: tree.truths["brain"].append(truth("1", overall="B")),
        r"brain\.jsonl, line 3, column question_id: '1' occurs again \(first in line 1\)",
    ),
    "a question id twice in the pairs": (
        lambda tree: tree.pairs["brain"].append(pair(2, "brain")),
        r"brain\.parquet, row 3, column question_id: case_id 2 occurs again \(first in row 2\)",
    ),
    "an ambiguous result row": (two_organs, "column modality_type: question 2 occurs in brain, eye"),
    "results of no case at all": (
        lambda tree: tree.results("J", answers(("x1", all_of("A"))), normalized=True),
        "no verdict of judge J is about a case",
    ),
    "a result without chosen_answer": (  # KeyError in the published script
        lambda tree: tree.results("J", [*answers((1, "{}")), {"question_id": 2}]),
        r"pair_J\.jsonl, line 2, column chosen_answer: the field is missing",
    ),
    **{
        f"chosen_answer {answer}": (
            lambda tree, answer=answer: tree.results("J", answers((1, answer))),
            "line 1, column chosen_answer: is",
        )
        for answer in (3, True, ["A"])
    },
    "two runs that disagree": (two_runs, "column chosen_answer: differs from the verdict on the same case"),
    "a label in place of labels": (change_truth(1, "both"), r"brain\.jsonl, line 2, column human_answer: "),
    "no labels": (change_truth(1, None), r"brain\.jsonl, line 2, column human_answer: "),
    "an unknown label": (change_truth(1, all_of("A", overall="C")), r"line 2, column human_answer\.overall: "),
}


@pytest.mark.parametrize("trap", REFUSED)
def test_a_trap_is_one_clear_error(tree, trap: str) -> None:
    change, message = REFUSED[trap]
    change(tree)
    with pytest.raises(InputError, match=message):
        read(tree.write())


# What is planted; what is said of it; how many cases have an image; how many labels and verdicts there are.
COUNTED: dict[str, tuple[Change, str, int, int, int]] = {
    "a result of no case": (
        lambda tree: tree.results("J", answers((1, all_of("A")), (9, all_of("A"))), normalized=True),
        "1 rows of judge J are about no case of this data; they are left out", 2, 12, 6,
    ),
    "a case without a result": (
        lambda tree: tree.results("J", answers((1, all_of("A"))), normalized=True),
        "1 cases have no row of judge J", 2, 12, 6,
    ),
    "chosen_answer null": (  # the published script drops the row
        lambda tree: tree.results("J", answers((1, None))), "6 verdicts of judge J are unparsed", 2, 12, 6,
    ),
    "an empty result file": (lambda tree: tree.results("J", []), "pair_J.jsonl: is empty", 2, 12, 0),
    "a result of an organ that is not here": (
        lambda tree: tree.results("J", answers((1, "x")), "heart"), "heart is not an organ of this data", 2, 12, 0,
    ),
    "ground truth without a dimension": (  # KeyError in the published script
        change_truth(0, {"overall": "A", "creativity": None}),
        "brain.jsonl, column human_answer: 5 labels are absent", 2, 7, 0,
    ),
    "a pair without ground truth": (
        lambda tree: tree.truths["brain"].pop(), "column question_id: 1 pairs have no ground truth", 2, 6, 0,
    ),
    "ground truth without a pair": (
        lambda tree: tree.truths["brain"].append(truth(9)),
        "brain.jsonl, column question_id: 1 labelled questions have no pair; they are left out", 2, 12, 0,
    ),
    "an organ that is none of the 13": (
        lambda tree: tree.organ("spleen", [7]), "spleen is not one of the 13 organs", 3, 18, 0,
    ),
    "a null image": (change_pair(image=None), "column image: 1 images are null", 1, 12, 0),
    "an image without bytes": (
        change_pair(image={"bytes": None, "path": "x.png"}), "column image: 1 images are null", 1, 12, 0,
    ),
    "no image column": (
        lambda tree: [row.pop("image") for row in tree.pairs["brain"]],
        "column image: the column is missing", 0, 12, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("trap", COUNTED)
def test_a_trap_is_counted_and_the_rest_is_read(tree, trap: str) -> None:
    change, message, n_images, n_labels, n_verdicts = COUNTED[trap]
    change(tree)
    imported = read(tree.write())
    assert message in said(imported)
    assert sum(imported.benchmark.cases["images"].map(len)) == n_images
    assert (len(imported.benchmark.annotations), len(imported.verdicts)) == (n_labels, n_verdicts)
    assert imported.verdicts["choice"].isna().all() == (trap in ("chosen_answer null",) or n_verdicts == 0)
    assert imported.benchmark.cases["department"].isna().sum() == (trap == "an organ that is none of the 13")


@pytest.mark.parametrize(("pairs", "labels"), [([1, 2], ["1", "2"]), (["1", "2"], [1, 2]), ([1.0, 2.0], [1, 2])])
def test_ids_join_whatever_their_type(tree, pairs: list[object], labels: list[object]) -> None:
    """Defect 11: the published script scores 0.0 everywhere, silently."""
    tree.organ("brain", pairs)
    tree.truths["brain"] = [truth(i) for i in labels]
    tree.results("J", answers(*((i, all_of("A")) for i in labels)), normalized=True)
    imported = read(tree.write())
    assert imported.benchmark.cases["case_id"].tolist() == ["1", "2"]
    assert len(imported.benchmark.annotations) == 12
    assert len(imported.verdicts) == 12


def test_a_question_id_in_two_organs_prefixes_every_case(tree) -> None:
    tree.organ("eye", [2, 3])
    rows = [
        {"question_id": i, "chosen_answer": all_of(choice), "modality_type": organ}
        for organ, i, choice in (("brain", 1, "A"), ("brain", 2, "A"), ("eye", 2, "B"), ("eye", 3, "B"))
    ]
    tree.results("J", rows, "all", normalized=True)
    imported = read(tree.write())
    assert imported.benchmark.cases["case_id"].tolist() == ["brain/1", "brain/2", "eye/2", "eye/3"]
    choice = imported.verdicts.groupby("case_id")["choice"].first()
    assert choice.to_dict() == {"brain/1": "A", "brain/2": "A", "eye/2": "B", "eye/3": "B"}
    assert "1 question ids occur in several organs" in said(imported)


def test_a_human_tie_is_a_label(tree) -> None:
    """Defect 13: it can never match."""
    tree.truths["brain"][0]["human_answer"]["overall"] = "Tie"
    imported = read(tree.write())
    assert imported.benchmark.meta.categories == ("A", "tie", "B")
    assert "1 labels are ties" in said(imported)
    tree.truths["brain"][0]["human_answer"]["overall"] = "A"
    assert read(tree.write()).benchmark.meta.categories == ("A", "B")


def test_the_file_name_decides_the_organ(tree) -> None:
    """Defect 14: FileNotFoundError after all inference."""
    tree.pairs["brain"] = [pair(1, "brain", modality_type="CT"), pair(2, "brain")]
    imported = read(tree.write())
    assert imported.benchmark.cases["organ"].tolist() == ["brain", "brain"]
    assert imported.benchmark.cases["source_modality_type"].tolist() == ["CT", "brain"]
    assert "column modality_type: 1 rows do not say brain" in said(imported)


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tree) -> None:
    root = tree.write()
    path = tree.labels_path()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\n\n") + b"  \n")
    imported = read(root)
    assert len(imported.benchmark.annotations) == 12
    assert imported.findings == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"question_id": 3, "human_ans', "line 3: is not valid JSON"),
        (b'{"question_id": "\xff"}', "line 3: is not UTF-8"),
        (b"[1]", "line 3: list where an object belongs"),
        (b'{"question_id": "\\ud800"}', "line 3: is not valid JSON"),
        (b'{"question_id": NaN}', "line 3: is not valid JSON"),
        (b"[" * 100_000, "line 3: is not valid JSON"),
        (b'{"question_id": true, "human_answer": {}}', "line 3, column question_id: true is not an identifier"),
    ],
)
def test_a_damaged_line_is_named(tree, line: bytes, message: str) -> None:
    root = tree.write()
    with tree.labels_path().open("ab") as stream:
        stream.write(line + b"\n")
    with pytest.raises(InputError, match=rf"brain\.jsonl, {message}"):
        read(root)


def test_a_missing_ground_truth_file_is_a_finding_and_missing_pairs_an_error(tree) -> None:
    tree.organ("eye", [5])
    root = tree.write()
    tree.labels_path("eye").unlink()
    imported = read(root)
    assert len(imported.benchmark.cases) == 3
    assert "eye.jsonl: there is no ground truth" in said(imported)
    tree.write()
    tree.pairs_path("eye").unlink()
    with pytest.raises(InputError, match=r"eye\.parquet: the file is missing"):
        read(root)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pairs: b"", "is empty"),
        (lambda pairs: pairs[:-50], "is damaged"),
        (lambda pairs: pairs[: len(pairs) // 2], "is damaged"),
    ],
)
def test_empty_and_truncated_files(tree, change: Callable[[bytes], bytes], message: str) -> None:
    root = tree.write()
    tree.pairs_path().write_bytes(change(tree.pairs_path().read_bytes()))
    with pytest.raises(InputError, match=rf"brain\.parquet: {message}"):
        read(root)


def test_files_without_rows(tree) -> None:
    root = tree.write()
    tree.labels_path().write_text("")
    with pytest.raises(InputError, match=r"brain\.jsonl: is empty"):
        read(root)
    pq.write_table(pq.read_table(tree.pairs_path()).slice(0, 0), tree.pairs_path())
    with pytest.raises(InputError, match="has no rows"):
        read(root)


def test_damage_inside_the_image_column_is_named(tree) -> None:
    root = tree.write()
    content = bytearray(tree.pairs_path().read_bytes())
    content[4:40] = bytes(36)
    tree.pairs_path().write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"brain\.parquet"):
        dict(read(root).benchmark.images)


def test_images_as_plain_bytes_and_as_something_else(tree) -> None:
    for i, row in enumerate(tree.pairs["brain"]):
        row["image"] = row["image"]["bytes"] + bytes([i])
    imported = read(tree.write())
    assert imported.benchmark.cases["images"].tolist() == [["brain/1.png"], ["brain/2.png"]]
    for row in tree.pairs["brain"]:
        row["image"] = "x.png"
    with pytest.raises(InputError, match=r"brain\.parquet, column image: holds no image bytes"):
        read(tree.write())


@pytest.mark.parametrize("path", ["../../evil.png", "/etc/passwd", "a/../../b", "C:\\x.png", ".hidden", "a\nb.png", ""])
def test_an_image_path_that_climbs_out_is_replaced(tree, tmp_path: Path, path: str) -> None:
    content = tree.pairs["brain"][0]["image"]["bytes"]
    tree.pairs["brain"][0]["image"] = {"bytes": content, "path": path}
    imported = read(tree.write())
    assert imported.benchmark.cases["images"].tolist()[0] == ["brain/1.png"]
    assert "1 image paths lead out of the folder or repeat" in said(imported)
    save(imported.benchmark, tmp_path / "saved")
    assert load(tmp_path / "saved").images["brain/1.png"] == content


def test_image_names_that_clash(tree) -> None:
    """Two images of one name, names that could be a folder's, and one image shared by two cases."""
    given = [(b"1", "a.x"), (b"2", "a.x"), (b"3", "a.x/b.png"), (b"4", "c/d"), (b"1", "a.x"), (b"5", "brain/2.img")]
    tree.pairs["brain"] = [pair(i, "brain", image={"bytes": b, "path": p}) for i, (b, p) in enumerate(given)]
    benchmark = read(tree.write()).benchmark
    names = [name for (name,) in benchmark.cases["images"]]
    assert names == ["a.x", "brain/1.img", "brain/2.img", "brain/3.img", "a.x", names[5]]
    assert len(set(names)) == 5
    assert [benchmark.images[name] for name in names] == [content for content, _ in given]


@pytest.mark.parametrize("column", ["question_id", "question", "answer1_text", "answer2_text"])
def test_a_missing_column_or_value_or_wrong_type(tree, column: str) -> None:
    rows = tree.pairs["brain"]
    tree.pairs["brain"] = [{k: v for k, v in row.items() if k != column} for row in rows]
    with pytest.raises(InputError, match=rf"brain\.parquet, column {column}: the column is missing"):
        read(tree.write())
    tree.pairs["brain"] = [rows[0], rows[1] | {column: None}]
    with pytest.raises(InputError, match=rf"brain\.parquet, row 2, column {column}[: ]"):
        read(tree.write())
    tree.pairs["brain"] = [row | {column: [1.5]} for row in rows]
    with pytest.raises(InputError, match=rf"brain\.parquet.*column {column}[: ]"):
        read(tree.write())


def test_other_columns_are_kept_and_taken_names_get_another(tree) -> None:
    tree.pairs["brain"] = [
        pair(i, "brain", model_a="m", case_id=5, weight=0.5, thumb=b"x", question_type=None, dataset=3) for i in (1, 2)
    ]
    imported = read(tree.write())
    cases = imported.benchmark.cases
    assert cases["model_a"].tolist() == ["m", "m"]
    assert cases["source_case_id"].tolist() == [5, 5]
    assert cases["weight"].tolist() == [0.5, 0.5]
    assert cases["dataset"].tolist() == ["3", "3"]
    assert cases["question_type"].isna().all()
    assert "thumb" not in cases.columns
    assert "column thumb: holds bytes and is left out" in said(imported)
    assert "column case_id: is kept as source_case_id" in said(imported)


def test_organs_with_different_columns_and_types(tree) -> None:
    tree.organ("eye", [5])
    tree.pairs["eye"] = [pair(5, "eye", grade=2)]
    assert read(tree.write()).benchmark.cases["grade"].isna().tolist() == [True, True, False]


def test_a_raw_reply_is_read_anew_and_every_change_is_counted(tree) -> None:
    """The published parser turned "a better answer" into A, dropped a tie, and read nothing wrongly in the third."""
    tree.organ("brain", [1, 2, 3, 4])
    raw = {
        1: "The second assistant gives a better answer.",
        2: json.dumps(all_of("B", overall="tie")),
        3: json.dumps(all_of("B")),
        4: "Accuracy: Assistant B. Overall: Assistant B.",
    }
    tree.results("org/J", answers(*raw.items()))
    tree.results("org/J", answers(*raw.items()), "all")
    tree.results("org/J", answers((1, all_of("A")), (3, all_of("B")), (4, all_of("A"))), normalized=True)
    imported = read(tree.write())
    verdicts = imported.verdicts
    assert set(verdicts["judge"]) == {"org/J"}
    choices = verdicts.fillna({"choice": "."}).groupby("case_id")["choice"].agg("".join)
    assert choices.to_dict() == {"1": "......", "2": "BBBBBtie", "3": "BBBBBB", "4": "B....B"}
    statuses = verdicts.groupby("case_id")["status"].agg(lambda s: " ".join(sorted(set(s))))
    assert statuses.to_dict() == {"1": "unparsed", "2": "ok", "3": "ok", "4": "repaired unparsed"}
    assert verdicts.groupby("case_id")["reply"].first().to_dict() == {str(i): reply for i, reply in raw.items()}
    for expected in (
        "12 verdicts of judge org/J differ from the normalized file; the choice in the reply counts",
        "10 verdicts of judge org/J are unparsed",
    ):
        assert expected in said(imported)


def test_a_normalized_choice_without_a_raw_reply_is_kept(tree) -> None:
    tree.results("J", answers((1, None)))
    tree.results("J", answers((1, all_of("A")), (2, {"overall": "B"})), normalized=True)
    verdicts = read(tree.write()).verdicts
    assert verdicts.fillna({"choice": "."}).groupby("case_id")["choice"].agg("".join).tolist() == ["AAAAAA", ".....B"]
    assert set(verdicts["status"]) == {"ok", "unparsed"}


def test_no_data(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no pair_gt_all folder"):
        read(tmp_path)
    (tmp_path / "pair_gt_all" / "parquet").mkdir(parents=True)
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        read(tmp_path)


@pytest.mark.parametrize("column", ["question", "image"])
def test_a_column_twice(tree, column: str) -> None:
    root = tree.write()
    table = pq.read_table(tree.pairs_path())
    pq.write_table(table.append_column(column, table[column]), tree.pairs_path())
    with pytest.raises(InputError, match=f"column {column}: .*occurs twice"):
        read(root)


def test_choices_of_a_normalized_object_in_any_case_and_those_that_are_none(tree) -> None:
    tree.results("J", answers((1, all_of("a ", overall="TIE", accuracy="C", relevance=1))))
    choice = read(tree.write()).verdicts.set_index("dimension")["choice"]
    assert choice.fillna("-").to_dict() == all_of("A", overall="tie", accuracy="-", relevance="-")
