"""The scorer of the published pipeline, written again from a description of what it does.

Nothing of its source is here. What its expressions do is told by their known defects: a dimension's value is the first
letter after its name and a colon, with no word boundary after it (so that "Assistant" is A); all six dimensions must
be found; else one bracketed letter, or a single bare A or B in whatever case, answers all six; else the row is dropped.
The metric is, by organ and dimension, the correct rows over the rows of ground truth, so that a dropped row is wrong.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

DIMENSIONS = ("accuracy", "relevance", "comprehensiveness", "creativity", "responsiveness", "overall")
_BRACKETED = re.compile(r"\[\[\s*([AB])\s*\]\]", re.IGNORECASE)
_BARE = re.compile(r"\b([AB])\b", re.IGNORECASE)


def normalized(reply: str) -> dict[str, str] | None:
    """The choices that the published parser reads in a reply; None where it drops the row."""
    stated = {name: re.search(rf'"?{name}"?\s*:\s*"?\s*([AB])', reply, re.IGNORECASE) for name in DIMENSIONS}
    if all(stated.values()):
        return {name: match[1].upper() for name, match in stated.items() if match is not None}
    bracketed = _BRACKETED.search(reply)
    if bracketed is not None:
        return dict.fromkeys(DIMENSIONS, bracketed[1].upper())
    bare = _BARE.findall(reply)
    return dict.fromkeys(DIMENSIONS, bare[0].upper()) if len(bare) == 1 else None


def scores(root: Path, judge: str) -> dict[tuple[str, str], float]:
    """The published accuracy by organ and dimension, from the raw rows of a judge under a data root."""
    found = {}
    for path in sorted((root / "pair_gt_all").glob("*.jsonl")):
        truth: Mapping[object, Mapping[str, str]] = {row["question_id"]: row["human_answer"] for row in _rows(path)}
        raw = _rows(root / "data" / "benchmark_result_parquet1" / path.stem / f"pair_{judge}.jsonl")
        read = {row["question_id"]: normalized(str(row["chosen_answer"] or "")) for row in raw}
        for name in DIMENSIONS:
            right = sum((read.get(question) or {}).get(name) == labels[name] for question, labels in truth.items())
            found[path.stem, name] = right / len(truth)
    return found


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
