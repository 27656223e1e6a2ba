"""A case as it is stored beside the case as a probe changes it, and the verdicts on both."""

from collections.abc import Mapping
from itertools import zip_longest

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.probes import PROBES, Case, ProbedImages, ProbeId, Probing, parse_probes, target
from mrb_lib.probes.expectation import known
from mrb_lib.probes.from_file import FileProbe, is_file_probe
from mrb_lib.probes.marking import spans
from mrb_lib.review.case.markdown import Part, tagged
from mrb_lib.review.case.verdicts import beside_html, replies_html
from mrb_lib.review.case.view import SIDE, image_html, rows_of
from mrb_lib.review.failures.kinds import scale_of
from mrb_lib.review.pages import kind_note, template, visible
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest


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
    after = about if isinstance(about, str) else probing.probed(case_id, about)
    own, beside, replies = {}, "", ""
    if not isinstance(about, str):
        file = files.get(about.probe)
        own = {"probe": PROBES[about.probe] if file is None else file.probe, "known": known(str(about)), "file": file}
        own |= {"target": target(before.drawn_by), "runs": manifests or {}}
    if not isinstance(after, str):
        own |= {"texts": _texts(before, after), "pictures": _pictures(benchmark, before, after, probe, side)}
    if verdicts is not None:
        labels = pd.DataFrame(columns=["dimension", "choice"]) if gold is None else rows_of(gold, case_id)
        given = rows_of(verdicts, case_id)
        beside = beside_html(given, labels, probe, scale)
        replies = replies_html(given[given["probe"].eq(probe)], f"h{level + 1}", manifests, scale)
    return template("case_probed").render(
        case_id=case_id, name=probe, about=about, before=before, after=after, seed=seed, rated=scale is not None,
        level=level, style=style, note=kind_note(benchmark.meta.kind), verdicts=beside,
        replies=replies, **own,
    )  # fmt: skip


def probe_seed(manifest: Manifest | None) -> int | None:
    """The seed that the probes of a run were drawn with; None where it does not say."""
    if manifest is None:
        return None
    seeds = [options.get("seed", 0) for options in manifest.sessions if options.get("probes")]
    one = seeds[0] if seeds and all(seed == seeds[0] for seed in seeds) else None
    return one if isinstance(one, int) else None


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


def _pictures(
    benchmark: Benchmark, before: Case, after: Case, probe: str, side: int
) -> list[tuple[str | None, str | None]]:
    """The pictures before and after, in pairs; none where they are the same. One that the probe made is made anew."""
    images = ProbedImages(benchmark.images, benchmark.cases)

    def picture(name: str | None, plain: str | None) -> str | None:
        called = "" if name == plain or name in benchmark.images else f"{plain} under {probe}"
        return None if name is None else image_html(name, images, side, None, called)

    pairs = [] if before.images == after.images else zip_longest(before.images, after.images)
    return [(picture(was, was), picture(now, was)) for was, now in pairs]


def _texts(before: Case, after: Case) -> list[tuple[str, str, list[Part], list[Part]]]:
    """Question and responses by their names: as they were, and where they changed marked as they were and are now."""
    texts: list[tuple[str, str, list[Part], list[Part]]] = []
    for name in ("question", "response_a", "response_b"):
        old, new = visible(getattr(before, name)), visible(getattr(after, name))
        blocks = spans(old, new)
        was = tagged(old, 0, len(old), [[(i, j, "del", {}) for i, j, _, _ in blocks]])
        now = tagged(new, 0, len(new), [[(k, m, "ins", {}) for _, _, k, m in blocks]])
        texts += [(name, old, [*was], [*now] if old != new else [])] if old or new else []
    return texts
