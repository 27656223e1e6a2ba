"""The first step: what a source holds becomes items, each kept or left out for a reason."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import pandas as pd
from pydantic import Field

from mrb_lib.benchmarks.images.copies import ALTERED, SAME, Pictures
from mrb_lib.benchmarks.near_duplicates import components
from mrb_lib.build.construct.intake.duplicates import clusters, duplicate_reasons, original_items
from mrb_lib.build.construct.intake.pictures import MODALITIES, Picture, PictureIntake
from mrb_lib.build.construct.intake.stated import read_meanings, stated_organ, with_meanings
from mrb_lib.build.construct.layouts import SourceImage, SourceItem
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.build.construct.work import Step
from mrb_lib.stats.where import case_lookup, matching, syntax_tree
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name, slug
from mrb_lib.tables.options import Option, checked_dataclass

SUSPECTED: Final = "text may be burnt into an image"
CLUTTER: Final = "passed over, left by an operating system"
SEVERAL: Final = "several pictures in one file, of which only the first is used"
PLACE: Final = "the answer is read as the place of an option, counted from {}"
PLACE_UNCLEAR: Final = "the answer is a number and no option, perhaps a place; write the text of the option"
_LONGEST_ID = 120
Progress = Callable[[str, int, int], None]


@checked_dataclass
class StartOptions:
    """The choices of a start besides its source."""

    dataset: Annotated[str | None, Option("Name the dataset of items that name none.", "NAME")] = None
    licence: Annotated[str | None, Option("State the licence of items that state none.", "NAME")] = None
    meanings: Annotated[
        Path | None,
        Option(
            "Read from this CSV what values mean, as `body_part,HEAD,brain` under `column,value,organ`; organ and "
            "department are never guessed.",
            "FILE",
        ),
    ] = None
    where: Annotated[str | None, Option("Take only items like these, as in language == 'en'.", "EXPRESSION")] = None
    min_side: Annotated[int, Field(ge=1), Option("Leave out images whose shorter side has fewer pixels.", "PIXELS")] = (
        64
    )


@dataclass
class StartReport:
    """Observations that are no reason to leave an item out.

    Attributes
    ----------
    left_behind : items by element of their DICOM files that identified the patient; none of them was taken along
    suspected : kept items of which an image may have text burnt in
    altered : kept items that show an altered copy of the image of another, see `mrb_lib.benchmarks.images.copies`
    without : kept items that lack something, by column
    body_parts : kept items without an organ by the body part that their source names, which is no organ of ours
    notes : names of files and ids of items, kept or not, by what was noticed; `items.notes` has them by item
    """

    left_behind: Counter[str] = field(default_factory=Counter)
    suspected: int = 0
    altered: int = 0
    without: Counter[str] = field(default_factory=Counter)
    body_parts: Counter[str] = field(default_factory=Counter)
    notes: dict[str, list[str]] = field(default_factory=dict)


def start(
    step: Step, sources: Mapping[str, Iterable[SourceItem]], options: StartOptions, progress: Progress | None = None
) -> StartReport:
    """Make the items of a work folder, and decide which of them go on.

    Parameters
    ----------
    step : as `mrb_lib.build.construct.work.begin` yields it
    sources : the items of each source, by the name that `items.source` begins with, and with several sources each id,
        too; each is gone through once, and images are read one at a time
    progress : called with what is done, how much so far, and of how much (0 where nobody knows yet)

    Returns
    -------
    StartReport

    Raises
    ------
    InputError
        Two items have one id, there are none, or `where` or a table of the options cannot be read.

    Notes
    -----
    Organ, department and modality come from columns, DICOM elements or the table of meanings; where none of them says
    so they are null. Items left out stay in the table with their reason. `copy_of` is the first item that shows the
    same picture, altered or not, null where none before it does; altered copies are kept, in their original's cluster.
    Validated by tests/build/construct/test_start.py.
    """
    work, meanings = step.work, read_meanings(options.meanings)
    if options.where is not None:
        syntax_tree(options.where)
    pictures = Pictures()
    intake = _Intake(options, PictureIntake(work.images, options.min_side, pictures.add), progress)
    rows = list(intake.rows(sources))
    if not rows:
        raise InputError(f"{', '.join(sources)}: holds no items; check that it is the source you mean.")
    items = with_meanings(pd.DataFrame(rows).astype({"_problem": object}), meanings)
    _read_places(items)
    items["notes"] = ["; ".join(f"{name}: {what}" for what, name in notes) or None for notes in items["_notes"]]
    # Simulated pictures are drawn after few views, and would all be altered copies of each other.
    pairs = pictures.pairs(altered=work.meta.kind != "simulated", progress=progress)
    shown, alike = (_groups(pictures.names, pairs[pairs["kind"].isin(kinds)]) for kinds in ((SAME,), (SAME, ALTERED)))
    if options.where is not None:
        stored = items[[column for column in items.columns if not column.startswith("_")]]
        left_out = items["_problem"].isna() & ~matching(options.where, case_lookup(stored))
        items["_problem"] = items["_problem"].mask(left_out, f"not {options.where}")
    repeats = duplicate_reasons(items[items["_problem"].isna()], shown)
    items.loc[repeats.index, "_problem"] = repeats
    kept = items["_problem"].isna()
    items["copy_of"] = original_items(items, alike, among=kept)
    fine = items[kept]
    items["cluster"] = items["item_id"]
    items.loc[kept, "cluster"] = clusters(fine, alike, fine[["_patient", "_cluster"]])
    step.decide(pd.DataFrame({"item_id": items["item_id"], "kept": kept, "reason": items["_problem"]}))
    step.write("items", items[[column for column in items.columns if not column.startswith("_")]])
    named = {name for names in items["images"] for name in names}
    for path in work.images.iterdir():
        if path.name not in named:  # an earlier start left it there
            path.unlink()
    report = _report(items[kept])
    for what, name in dict.fromkeys(items["_notes"].explode().dropna()):
        report.notes.setdefault(what, []).append(name)
    return report


class _Intake:
    """Makes rows of the items of sources."""

    def __init__(self, options: StartOptions, pictures: PictureIntake, progress: Progress | None) -> None:
        self.options, self.pictures, self.progress = options, pictures, progress
        self._locations: dict[str, str] = {}

    def rows(self, sources: Mapping[str, Iterable[SourceItem]]) -> Iterator[dict[str, object]]:
        """Yield a row per item; what begins with an underscore is not stored."""
        named = ((name, item) for name, source in sources.items() for item in source)
        for number, (name, item) in enumerate(named, start=1):
            yield self._row(item, number, name, slug(name) if len(sources) > 1 else "")
            if self.progress is not None:
                self.progress("items", number, 0)

    def _row(self, item: SourceItem, number: int, source: str, prefix: str) -> dict[str, object]:
        clutter = [(CLUTTER, image.name) for image in item.images if _is_clutter(image)]
        pairs = [(image.name, self.pictures.take(image)) for image in item.images if not _is_clutter(image)]
        several = [(SEVERAL, f"{name} ({picture.frames:,})") for name, picture in pairs if picture.frames > 1]
        bad = [(picture.problem, name) for name, picture in pairs if picture.problem is not None]
        taken = _in_series_order([picture for _, picture in pairs])
        about = {**dict.fromkeys((*ABOUT, "body_part")), **item.about}
        dicoms = [picture.dicom for picture in taken if picture.dicom is not None]
        modality = about["modality"] or _one({MODALITIES.get(one.modality or "", one.modality) for one in dicoms})
        body_part = about["body_part"] or about["organ"] or _one({one.body_part for one in dicoms})
        return {
            "item_id": self._id(item, number, prefix),
            "images": [picture.name for picture in taken if picture.problem is None],
            "question": item.question,
            "reference": item.reference,
            "choices": None if item.choices is None else list(item.choices),
            **about,
            "organ": stated_organ(about["organ"]) or stated_organ(body_part),
            "body_part": body_part,
            "modality": modality,
            "dataset": about["dataset"] or self.options.dataset,
            "licence": about["licence"] or self.options.licence,
            "source": f"{source}: {item.location}",
            "suspicion": SUSPECTED if any(picture.lettered for picture in taken) else None,
            "left_behind": ", ".join(sorted({tag for one in dicoms for tag in one.identifying})) or None,
            "_patient": _one({one.patient for one in dicoms}),
            "_cluster": about["cluster"],
            "_notes": clutter + several + bad,
            "_source": source,
            "_problem": _problem(item, taken),
        }

    def _id(self, item: SourceItem, number: int, prefix: str) -> str:
        given = item.item_id if item.item_id is None or not prefix else f"{prefix}-{item.item_id}"
        if given is None:
            name = f"item-{number:06d}"
        else:
            is_plain = is_safe_name(given) and "/" not in given and len(given) <= _LONGEST_ID and given.isprintable()
            name = given if is_plain else slug(given)
        first = self._locations.setdefault(name, item.location)
        if first is not item.location:
            raise InputError(f"{item.location}: the id {given!r} occurs again (first in {first}); give one another id.")
        return name


def _is_clutter(image: SourceImage) -> bool:
    """Return true for what an operating system leaves in folders: .DS_Store, ._1.png, Thumbs.db."""
    name = Path(image.name).name.lower()
    return name.startswith(".") or name in ("thumbs.db", "desktop.ini")


def _problem(item: SourceItem, taken: list[Picture]) -> str | None:
    """Why an item cannot be used, whatever the others are."""
    if not (item.question or "").strip():
        return "no question"
    if not taken:
        return "no image"
    return next((picture.problem for picture in taken if picture.problem is not None), None)


def _read_places(items: pd.DataFrame) -> None:
    """Replace references that are places among the options by the options, where all of a source count alike.

    No place is read where it could be counted from 0 or from 1, where an answer of the source is no number, or where
    an option mentions the number.
    """
    for _, closed in items[items["choices"].map(bool) & items["reference"].notna()].groupby("_source"):
        pairs = zip(closed["reference"], closed["choices"], strict=True)
        # Of an option such as "2 nodules" the answer 2 is a part and no place.
        is_place = [
            re.fullmatch(r"\d\d?", text) is not None and not re.search(rf"\b{text}\b", "\n".join(among))
            for text, among in pairs
        ]
        rows = closed[is_place]
        places, ends = rows["reference"].astype(int), rows["choices"].map(len)
        firsts = [first for first in (0, 1) if places.ge(first).all() and places.lt(ends + first).all()]
        is_clear = len(rows) == len(closed) and len(firsts) == 1
        for notes, item_id in zip(rows["_notes"], rows["item_id"], strict=True):
            notes.append((PLACE.format(*firsts) if is_clear else PLACE_UNCLEAR, item_id))
        if is_clear:
            meant = [among[place - firsts[0]] for place, among in zip(places, rows["choices"], strict=True)]
            items.loc[rows.index, "reference"] = meant


def _in_series_order(pictures: list[Picture]) -> list[Picture]:
    """The pictures of a DICOM series by their numbers; others as they came."""
    numbers = [None if one.dicom is None else one.dicom.number for one in pictures]
    if None in numbers:
        return pictures
    return [pictures[i] for i in sorted(range(len(pictures)), key=lambda i: numbers[i] or 0)]


def _one(values: set[str | None]) -> str | None:
    """The one thing that all say; None where they differ."""
    return next(iter(values)) if len(values) == 1 else None


def _groups(names: Sequence[str], pairs: pd.DataFrame) -> dict[str, int]:
    """Return the number of the picture that each image shows, where pairs show one."""
    codes = components(len(names), pairs["one"].to_numpy(), pairs["other"].to_numpy())
    return dict(zip(names, codes.tolist(), strict=True))


def _report(kept: pd.DataFrame) -> StartReport:
    tags = kept["left_behind"].dropna().str.split(", ").explode()
    nowhere = kept.loc[kept["organ"].isna(), "body_part"].dropna()
    return StartReport(
        Counter(map(str, tags)),
        int(kept["suspicion"].notna().sum()),
        int(kept["copy_of"].notna().sum()),
        Counter({name: n for name in ("reference", "organ", "modality", "licence") if (n := kept[name].isna().sum())}),
        Counter(map(str, nowhere)),
    )
