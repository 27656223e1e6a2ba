"""Each known trap of the published layout is one clear error, or is counted."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.benchmarks.formats import Imported
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


def result(*pairs: tuple[object, object], group: str = "brain", normalized: bool = False) -> Change:
    return lambda tree: tree.results("J", answers(*pairs), group, normalized=normalized)


def change_truth(line: int, answer: object) -> Change:
    return lambda tree: tree.truths["brain"][line].update(human_answer=answer)


def change_pairs(**values: object) -> Change:
    return lambda tree: [row.update(values) for row in tree.pairs["brain"]]


def without(column: str) -> Change:
    return lambda tree: [row.pop(column) for row in tree.pairs["brain"]]


def damage(file: Callable[[Tree], Path], change: Callable[[bytes], bytes | None]) -> Change:
    """Write the tree, and change one of its files, or remove it."""

    def done(tree: Tree) -> None:
        tree.write()
        content = change(file(tree).read_bytes())
        file(tree).unlink() if content is None else file(tree).write_bytes(content)

    return done


def append(line: bytes) -> Change:
    return damage(Tree.labels_path, lambda content: content + line + b"\n")


def both(*changes: Change) -> Change:
    return lambda tree: [change(tree) for change in changes]


def rewrite_pairs(change: Callable[..., object]) -> Change:
    def done(tree: Tree) -> None:
        tree.write()
        pq.write_table(change(pq.read_table(tree.pairs_path())), tree.pairs_path())

    return done


def read_changed(tree: Tree, change: Change) -> Imported:
    change(tree)
    return read(tree.root if tree.pairs_path().exists() else tree.write())


def eye(tree: Tree) -> None:
    tree.organ("eye", [2, 3])


REFUSED: list[tuple[Change, str]] = [
    (lambda tree: tree.truths.update(brain=[truth("001"), truth("002")]),  # ids written in two ways
     r"brain\.parquet, column question_id: no id occurs in brain\.jsonl"),
    (lambda tree: tree.truths["brain"].append(truth("1", overall="B")),
     r"brain\.jsonl, line 3, column question_id: '1' occurs again \(first in line 1\)"),
    (lambda tree: tree.pairs["brain"].append(pair(2, "brain")),
     r"brain\.parquet, row 3, column question_id: case_id 2 occurs again \(first in row 2\)"),
    (both(eye, result((2, all_of("A")), group="all")), "column modality_type: question 2 occurs in brain, eye"),
    (result(("x1", all_of("A")), normalized=True), "no verdict of judge J is about a case"),
    (lambda tree: tree.results("J", [*answers((1, "{}")), {"question_id": 2}]),  # KeyError in the published script
     r"pair_J\.jsonl, line 2, column chosen_answer: the field is missing"),
    *((result((1, answer)), "line 1, column chosen_answer: is") for answer in (3, True, ["A"])),
    (both(result((1, "one")), result((1, "two"), group="all")), "chosen_answer: differs from the verdict on the same"),
    (change_truth(1, "both"), r"brain\.jsonl, line 2, column human_answer: "),
    (change_truth(1, None), r"brain\.jsonl, line 2, column human_answer: "),
    (change_truth(1, all_of("A", overall="C")), r"line 2, column human_answer\.overall: "),
    (append(b'{"question_id": 3, "human_ans'), r"brain\.jsonl, line 3: is not valid JSON"),
    (append(b'{"question_id": "\xff"}'), r"brain\.jsonl, line 3: is not UTF-8"),
    (append(b"[1]"), r"brain\.jsonl, line 3: list where an object belongs"),
    (append(b'{"question_id": "\\ud800"}'), r"brain\.jsonl, line 3: is not valid JSON"),
    (append(b'{"question_id": NaN}'), r"brain\.jsonl, line 3: is not valid JSON"),
    (append(b"[" * 100_000), r"brain\.jsonl, line 3: is not valid JSON"),
    (append(b'{"question_id": true, "human_answer": {}}'), "line 3, column question_id: true is not an identifier"),
    (damage(Tree.labels_path, lambda content: b""), r"brain\.jsonl: is empty"),
    (damage(Tree.pairs_path, lambda content: b""), r"brain\.parquet: is empty"),
    (damage(Tree.pairs_path, lambda content: content[:-50]), r"brain\.parquet: is damaged"),
    (damage(Tree.pairs_path, lambda content: content[:4] + bytes(36) + content[40:]), r"brain\.parquet"),
    (both(eye, damage(lambda tree: tree.pairs_path("eye"), lambda content: None)), r"eye\.parquet: the file is"),
    (rewrite_pairs(lambda table: table.slice(0, 0)), "has no rows"),
    *((rewrite_pairs(lambda table, name=name: table.append_column(name, table[name])), f"column {name}: .*occurs twice")
      for name in ("question", "image")),
    *((without(name), rf"brain\.parquet, column {name}: the column is missing")
      for name in ("question_id", "question", "answer1_text", "answer2_text")),
    (lambda tree: tree.pairs["brain"][1].update(question=None), r"brain\.parquet, row 2, column question[: ]"),
    (change_pairs(answer1_text=[1.5]), r"brain\.parquet.*column answer1_text[: ]"),
    (change_pairs(image="x.png"), r"brain\.parquet, column image: holds no image bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_a_trap_is_one_clear_error(tree, change: Change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dict(read_changed(tree, change).benchmark.images)


# What is planted; what is said of it; how many cases have an image; how many labels and verdicts there are.
COUNTED: list[tuple[Change, str, int, int, int]] = [
    (result((1, all_of("A")), (9, all_of("A")), normalized=True),
     "1 rows of judge J are about no case of this data; they are left out", 2, 12, 6),
    (result((1, all_of("A")), normalized=True), "1 cases have no row of judge J", 2, 12, 6),
    (result((1, None)), "6 verdicts of judge J are unparsed", 2, 12, 6),  # the published script drops the row
    (result(), "pair_J.jsonl: is empty", 2, 12, 0),
    (result((1, "x"), group="heart"), "heart is not an organ of this data", 2, 12, 0),
    (change_truth(0, {"overall": "A", "creativity": None}),  # KeyError in the published script
     "brain.jsonl, column human_answer: 5 labels are absent", 2, 7, 0),
    (lambda tree: tree.truths["brain"].pop(), "column question_id: 1 pairs have no ground truth", 2, 6, 0),
    (lambda tree: tree.truths["brain"].append(truth(9)),
     "brain.jsonl, column question_id: 1 labelled questions have no pair; they are left out", 2, 12, 0),
    (both(eye, damage(lambda tree: tree.labels_path("eye"), lambda content: None)),
     "eye.jsonl: there is no ground truth", 4, 12, 0),
    (lambda tree: tree.pairs["brain"][0].update(image=None), "column image: 1 images are null", 1, 12, 0),
    (lambda tree: tree.pairs["brain"][0].update(image={"bytes": None, "path": "x.png"}),
     "column image: 1 images are null", 1, 12, 0),
    (without("image"), "column image: the column is missing", 0, 12, 0),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message", "n_images", "n_labels", "n_verdicts"), COUNTED)
def test_a_trap_is_counted_and_the_rest_is_read(
    tree, change: Change, message: str, n_images: int, n_labels: int, n_verdicts: int
) -> None:
    imported = read_changed(tree, change)
    assert message in said(imported)
    assert sum(imported.benchmark.cases["images"].map(len)) == n_images
    assert (len(imported.benchmark.annotations), len(imported.verdicts)) == (n_labels, n_verdicts)


@pytest.mark.parametrize(("pairs", "labels"), [([1, 2], ["1", "2"]), (["1", "2"], [1, 2]), ([1.0, 2.0], [1, 2])])
def test_ids_join_whatever_their_type(tree, pairs: list[object], labels: list[object]) -> None:
    """Defect 11: the published script scores 0.0 everywhere, silently."""
    tree.organ("brain", pairs)
    tree.truths["brain"] = [truth(i) for i in labels]
    imported = read_changed(tree, result(*((i, all_of("A")) for i in labels), normalized=True))
    assert imported.benchmark.cases["case_id"].tolist() == ["1", "2"]
    assert len(imported.benchmark.annotations) == len(imported.verdicts) == 12


def test_a_question_id_in_two_organs_prefixes_every_case(tree) -> None:
    eye(tree)
    rows = [
        {"question_id": i, "chosen_answer": all_of(choice), "modality_type": organ}
        for organ, i, choice in (("brain", 1, "A"), ("brain", 2, "A"), ("eye", 2, "B"), ("eye", 3, "B"))
    ]
    tree.results("J", rows, "all", normalized=True)
    imported = read(tree.write())
    choice = imported.verdicts.groupby("case_id")["choice"].first()
    assert choice.to_dict() == {"brain/1": "A", "brain/2": "A", "eye/2": "B", "eye/3": "B"}
    assert imported.benchmark.cases["case_id"].tolist() == list(choice.index)
    assert "1 question ids occur in several organs" in said(imported)


def test_a_human_tie_is_a_label(tree) -> None:
    """Defect 13: it can never match."""
    imported = read_changed(tree, change_truth(0, all_of("A", overall="Tie")))
    assert imported.benchmark.meta.categories == ("A", "tie", "B")
    assert "1 labels are ties" in said(imported)


def test_the_file_name_decides_the_organ(tree) -> None:
    """Defect 14: FileNotFoundError after all inference."""
    imported = read_changed(tree, lambda tree: tree.pairs["brain"][0].update(modality_type="CT"))
    assert imported.benchmark.cases["organ"].tolist() == ["brain", "brain"]
    assert imported.benchmark.cases["source_modality_type"].tolist() == ["CT", "brain"]
    assert "column modality_type: 1 rows do not say brain" in said(imported)


def test_blank_lines_a_byte_order_mark_and_hidden_files_are_passed_over(tree) -> None:
    blanks = damage(Tree.labels_path, lambda content: b"\xef\xbb\xbf" + content.replace(b"\n", b"\n\n") + b"  \n")
    blanks(tree)
    for path in (tree.pairs_path(), tree.labels_path()):
        path.with_name(f"._{path.name}").write_bytes(b"\0left by a Mac")
    imported = read(tree.root)
    assert len(imported.benchmark.annotations) == 12
    assert imported.findings == []


def test_images_as_plain_bytes(tree) -> None:
    for i, row in enumerate(tree.pairs["brain"]):
        row["image"] = row["image"]["bytes"] + bytes([i])
    assert read(tree.write()).benchmark.cases["images"].tolist() == [["brain/1.png"], ["brain/2.png"]]


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


def test_other_columns_are_kept_and_taken_names_get_another(tree) -> None:
    tree.organ("eye", [5])
    imported = read_changed(tree, change_pairs(model_a="m", case_id=5, weight=0.5, thumb=b"x", dataset=3))
    cases = imported.benchmark.cases
    assert cases[["model_a", "source_case_id", "weight", "dataset"]][:2].to_numpy().tolist() == [["m", 5, 0.5, "3"]] * 2
    assert cases["weight"].isna().tolist() == [False, False, True], "organs may differ in their columns"
    assert "thumb" not in cases.columns
    assert "column thumb: holds bytes and is left out" in said(imported)


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
    assert "12 verdicts of judge org/J differ from the normalized file;" in said(imported)
    assert "10 verdicts of judge org/J are unparsed" in said(imported)


def test_normalized_choices_without_a_raw_reply_are_kept_in_any_case(tree) -> None:
    tree.results("J", answers((1, None)))
    odd = all_of("a ", overall="TIE", accuracy="C", relevance=1)
    verdicts = read_changed(tree, result((1, odd), (2, {"overall": "B"}), normalized=True)).verdicts
    choice = verdicts.fillna({"choice": "-"}).set_index(["case_id", "dimension"])["choice"]
    assert choice["1"].to_dict() == all_of("A", overall="tie", accuracy="-", relevance="-")
    assert choice["2"].to_dict() == all_of("-", overall="B")
    assert set(verdicts["status"]) == {"ok", "unparsed"}


def test_a_folder_without_pairs_is_named(tmp_path: Path) -> None:
    (tmp_path / "pair_gt_all" / "parquet").mkdir(parents=True)
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        read(tmp_path)
