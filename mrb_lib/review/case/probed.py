"""A case as it is stored beside the case as a probe changes it, and the verdicts on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.probes import PROBES, Case, ProbedImages, ProbeId, Probing, parse_probes, target
from mrb_lib.probes.expectation import known
from mrb_lib.probes.from_file import FileProbe, is_file_probe
from mrb_lib.probes.marking import spans
from mrb_lib.review.bundle import style as style_of
from mrb_lib.review.case.formulas import Part
from mrb_lib.review.case.images import SIDE, image_html
from mrb_lib.review.case.markdown import with_tag
from mrb_lib.review.case.replies import replies_html
from mrb_lib.review.case.verdicts import Cell, VerdictRow, cell, gold_of, judged_dimensions, presented
from mrb_lib.review.case.view import STYLES, rows_of
from mrb_lib.review.failures.kinds import Scale, scale_of
from mrb_lib.review.pages import macro, template
from mrb_lib.review.text import kind_note, visible
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.manifest import Manifest

_EXPECTED: Final = {
    "same": "A sound judge gives the same verdicts.",
    "worse": "A sound judge judges worse: what tells the responses apart is harder to see, or gone.",
    "flips": "A sound judge goes against the response that got worse.",
}
_NO_SEED: Final = "No run says with which seed it was drawn: what follows is drawn with 0."


def probed_html(
    benchmark: Benchmark,
    case_id: str,
    probe: str,
    *,
    seed: int | None,
    verdicts: pd.DataFrame | None = None,
    gold: pd.DataFrame | None = None,
    manifests: Mapping[str, Manifest] | None = None,
    files: Mapping[str, FileProbe] | None = None,
    level: int = 3,
    style: bool = True,
    side: int = SIDE,
) -> str:
    """Show what a probe changes of a case, plain and probed side by side, and the verdicts on both.

    Parameters
    ----------
    probe : as in the verdicts, such as `image/blur:3`; where this library has none of that name, or it does not apply
        to the case, the page says so in the place of the change
    seed : that of the run, see `probe_seed`; None where nobody knows it, which is shown as 0 draws it and said
    verdicts : the verdicts table, of any cases and probes; None for none. Those with `reply` show it on demand
    gold : the gold labels; None leaves open which verdicts agree with them
    files : the probes of files that are at hand, see `mrb_lib.probes.from_file.file_probes`. Where a judge's run had
        another file of the probe's name, the page says so
    manifests, level, style, side : see `mrb_lib.review.case.view.case_html`

    Returns
    -------
    str
        A `<section>` that needs nothing else; every text is escaped. Validated by tests/review/case/test_probed.py.

    Raises
    ------
    InputError
        The benchmark has no such case.
    """
    files = files or {}
    probing, about = Probing(benchmark.cases, seed or 0, files), _named(probe, files)
    before, scale = probing.case(case_id), scale_of(benchmark.meta)
    does, reasons, change = "", [], None
    if isinstance(about, str):
        reasons = [f"What it changes cannot be shown: {about}"]
    else:
        does = _does(about, files, before, seed, rated=scale is not None)
        reasons = _judged_otherwise(files[about.probe], manifests or {}) if about.probe in files else []
        after = probing.probed(case_id, about)
        if isinstance(after, str):
            reasons.append(f"{probe} does not apply to this case: {after}.")
        else:
            change = _texts(before, after, rated=scale is not None) | _pictures(benchmark, before, after, probe, side)
    beside = replies = ""
    if verdicts is not None:
        labels = pd.DataFrame(columns=["dimension", "choice"]) if gold is None else rows_of(gold, case_id)
        own, cases = rows_of(verdicts, case_id), rows_of(benchmark.cases, case_id)
        beside = beside_html(own, labels, probe, scale)
        replies = replies_html(cases.iloc[0], own[own["probe"].eq(probe)], f"h{level + 1}", manifests, scale)
    return template("case_probed").render(
        case_id=case_id, probe=probe, level=level, style=style_of(*STYLES) if style else "",
        note=kind_note(benchmark.meta.kind), does=does, reasons=reasons, change=change, verdicts=beside,
        replies=replies,
    )  # fmt: skip


def probe_seed(manifest: Manifest | None) -> int | None:
    """The seed that the probes of a run were drawn with; None where it does not say."""
    if manifest is None:
        return None
    seeds = [options.get("seed", 0) for options in manifest.sessions if options.get("probes")]
    one = seeds[0] if seeds and all(seed == seeds[0] for seed in seeds) else None
    return one if isinstance(one, int) else None


def beside_html(verdicts: pd.DataFrame, labels: pd.DataFrame, probe: str, scale: Scale | None = None) -> str:
    """A row a judge, order and repeat, and for each dimension its plain verdict and that under the probe.

    A verdict under the probe that is not the plain choice is marked; where one of the two has no choice, nothing is.

    Parameters
    ----------
    verdicts : of one case, under any probes
    labels : the gold labels of the case
    scale : of ratings; None of preferences
    """
    under = verdicts["probe"].fillna(NO_PROBE).astype("str")
    probed = verdicts[(under == probe).to_numpy(dtype=bool) & (probe != NO_PROBE)]
    plain = {_key(row): row for row in verdicts[(under == NO_PROBE).to_numpy(dtype=bool)].to_dict("records")}
    gold = gold_of(labels)
    dimensions, rows = judged_dimensions(probed, gold), []
    for row, own in presented(probed.assign(probe=NO_PROBE), by_order=scale is None):
        by_dimension = {str(one["dimension"]): one for one in own}
        cells: list[Cell | None] = []
        changed = []
        for name in dimensions:
            label = None if row["seen"] else gold.get(name)
            was = cell(plain.get(_key({**own[0], "dimension": name})), label, scale)
            now = cell(by_dimension.get(name), label, scale)
            if was and now and was.choice is not None and now.choice is not None:
                changed.append(was.choice != now.choice)
                now = now._replace(changed=changed[-1])
            cells += [was, now]
        rows.append(row | {"cells": cells, "sum": f"{sum(changed)} of {len(changed)}" if changed else ""})
    return macro("case_tables", "beside")(rows, dimensions, scale is not None)


def _key(row: VerdictRow) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("judge", "order", "repeat", "dimension"))


def _named(text: str, files: Mapping[str, FileProbe]) -> ProbeId | str:
    """The probe of a name, or why it is not one."""
    if text in files:
        return ProbeId(text)
    if is_file_probe(text):
        return "its texts are in a file, which `mrb review --probe-file FILE` is to be told."
    try:
        ids = parse_probes(text)
    except InputError as error:
        return str(error)
    return ids[0] if len(ids) == 1 else f"{text} names {len(ids)} probes; name one, with its severity."


def _judged_otherwise(file: FileProbe, manifests: Mapping[str, Manifest]) -> list[str]:
    """Which judges were shown the texts of another file than this one, a sentence each."""
    return [
        f"{judge} was shown another file of this name (SHA-256 {digest[:12]}...): what it read is not what stands here."
        for judge, manifest in manifests.items()
        for digest in sorted(manifest.probe_files(file.probe.name) - {file.sha256})
    ]


def _does(about: ProbeId, files: Mapping[str, FileProbe], case: Case, seed: int | None, *, rated: bool) -> str:
    """What the probe does, what should follow, and how it was drawn."""
    is_file = about.probe in files
    probe, stated = files[about.probe].probe if is_file else PROBES[about.probe], known(str(about))
    words = [f"{probe.does}."]
    words += [f"Severity {about.severity} of {probe.severities}."] if probe.severities > 1 else []
    if probe.response is not None and not rated:
        side = target(case.drawn_by)
        words.append("It changes both responses." if about.both else f"Of the responses it changes {side}.")
    words.append(_EXPECTED.get(stated.expected or "", f"{stated.reason}."))
    if not is_file:
        words += [_NO_SEED] if seed is None else [f"Drawn with seed {seed}."]
    words += [f"Source: {probe.source}."] if probe.source else []
    return " ".join(words)


def _pictures(benchmark: Benchmark, before: Case, after: Case, probe: str, side: int) -> dict[str, Any]:
    """The pictures before and after, in pairs where they differ; one that the probe made is made anew."""
    if before.images == after.images:
        return {"pictures": [], "has_images": bool(before.images)}
    images = ProbedImages(benchmark.images, benchmark.cases)

    def picture(names: Sequence[str], place: int) -> str | None:
        if place >= len(names):
            return None
        name = names[place]
        called = name if names is before.images or name in benchmark.images else f"{before.images[place]} under {probe}"
        try:
            return image_html(called, {called: images[name]}, side, None)
        except KeyError:
            return image_html(called, {}, side, None)

    places = range(max(len(before.images), len(after.images)))
    return {"pictures": [(picture(before.images, i), picture(after.images, i)) for i in places], "has_images": True}


def _texts(before: Case, after: Case, *, rated: bool) -> dict[str, Any]:
    """What the prompt says otherwise; question and responses that changed as they were and as they are; the others."""
    changed, same = [], []
    only = "Response" if rated else "Response A"
    for name, words in (("question", "Question"), ("response_a", only), ("response_b", "Response B")):
        old, new = str(getattr(before, name)), str(getattr(after, name))
        if old != new:
            changed.append((words, *_marked(visible(old), visible(new))))
        elif old:
            same.append((words, old))
    return {"texts": changed, "same": same, "prompt": after.of_the_prompt}


def _marked(old: str, new: str) -> tuple[list[Part], list[Part]]:
    """Two visible texts: what was taken out marked in the one, and what was put in in the other."""
    blocks = spans(old, new)
    was = with_tag(old, [(i, j) for i, j, _, _ in blocks], "del", {})
    now = with_tag(new, [(k, m) for _, _, k, m in blocks], "ins", {})
    only_space: list[Part] = [("span", {"class": "mrb-none"}), " (only white space differs)", ("/span", {})]
    return [*was], [*now, *([] if blocks else only_space)]
