"""A case as it is stored beside the case as a probe changes it, and the verdicts on both."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.probes import PROBES, Case, ProbedImages, ProbeId, Probing, parse_probes, target
from mrb_lib.probes.expectation import known
from mrb_lib.probes.from_file import FileProbe, is_file_probe
from mrb_lib.probes.marking import spans
from mrb_lib.review.bundle import style as style_of
from mrb_lib.review.case.images import SIDE, image_html
from mrb_lib.review.case.replies import VerdictRow, presented, replies_html
from mrb_lib.review.case.verdicts import SEEN_MARK, cell_html, gold_of, is_text
from mrb_lib.review.case.view import STYLES, rows_of
from mrb_lib.review.failures.kinds import Scale, scale_of
from mrb_lib.review.text import OWN_KEYS, escaped, isolated, kind_note, visible
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.manifest import Manifest

_EXPECTED: Final = {
    "same": "A sound judge gives the same verdicts.",
    "worse": "A sound judge judges worse: what tells the responses apart is harder to see, or gone.",
    "flips": "A sound judge goes against the response that got worse.",
}
_NO_SEED: Final = "No run says with which seed it was drawn: what follows is drawn with 0."
_CHANGED: Final = (
    ' <b class="mrb-flip" role="img" aria-label="not the plain choice" title="not the plain choice">&ne;</b>'
)


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
    before, heading = probing.case(case_id), f"h{level + 1}"
    note, scale = kind_note(benchmark.meta.kind), scale_of(benchmark.meta)
    body = [
        f"<style>{style_of(*STYLES)}</style>" if style else "",
        f'<p class="mrb-simulated mrb-note">{escaped(note)}</p>' if note else "",
        f'<header><h{level} class="mrb-title">Case {isolated(case_id)} under {isolated(probe)}</h{level}></header>',
    ]
    if isinstance(about, str):
        body.append(_why_not(f"What it changes cannot be shown: {about}"))
    else:
        body.append(_about(about, files, before, seed, rated=scale is not None))
        if about.probe in files:
            body += [_why_not(words) for words in _judged_otherwise(files[about.probe], manifests or {})]
        after = probing.probed(case_id, about)
        if isinstance(after, str):
            body.append(_why_not(f"{probe} does not apply to this case: {after}."))
        else:
            body += [
                _pictures(benchmark, before, after, probe, heading, side),
                _texts(before, after, probe, heading, rated=scale is not None),
            ]
    if verdicts is not None:
        labels = pd.DataFrame(columns=["dimension", "choice"]) if gold is None else rows_of(gold, case_id)
        own, cases = rows_of(verdicts, case_id), rows_of(benchmark.cases, case_id)
        replies = replies_html(cases.iloc[0], own[own["probe"].eq(probe)], heading, manifests, scale)
        body.append(f"<{heading}>Judges</{heading}>{beside_html(own, labels, probe, scale)}{replies}")
    name = escaped(f"case {case_id} under {probe}")
    frame = f'class="mrb mrb-case mrb-probed" aria-label="{name}" tabindex="-1" {OWN_KEYS}'
    return f"<section {frame}>{''.join(body)}</section>"


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
    probed = verdicts[(under == probe).to_numpy(dtype=bool)]
    if probed.empty or probe == NO_PROBE:
        return "<p>No verdict is on this case under the probe.</p>"
    plain = {_key(row): row for row in verdicts[(under == NO_PROBE).to_numpy(dtype=bool)].to_dict("records")}
    gold = gold_of(labels)
    judged = set(probed["dimension"].astype("str"))
    dimensions = [name for name in dict.fromkeys([*gold, *probed["dimension"].astype("str")]) if name in judged]
    rows = []
    keys = ["judge", *(["order"] if scale is None else []), "repeat", "probe"]
    for judge, how, own in presented(probed.assign(probe=NO_PROBE), keys):
        by_dimension = {str(row["dimension"]): row for row in own}
        pairs = [(by_dimension.get(name), plain.get(_key({**own[0], "dimension": name}))) for name in dimensions]
        is_seen = any(row.get("seen") is True for row in own)
        known_gold = {} if is_seen else gold
        cells = "".join(
            f"{cell_html(was, known_gold.get(name), scale)}{_probed_cell(now, was, known_gold.get(name), scale)}"
            for name, (now, was) in zip(dimensions, pairs, strict=True)
        )
        head = f'{isolated(judge)} <span class="mrb-how">{escaped(how)}</span>{SEEN_MARK if is_seen else ""}'
        rows.append(f'<tr><th scope="row">{head}</th><td class="mrb-sum">{_counted(pairs)}</td>{cells}</tr>')
    return _legend(rated=scale is not None) + _table(dimensions, rows)


def _key(row: VerdictRow) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("judge", "order", "repeat", "dimension"))


def _differ(now: VerdictRow | None, was: VerdictRow | None) -> bool | None:
    """Whether the choice is another one; None where there are not two."""
    if now is None or was is None or not is_text(now["choice"]) or not is_text(was["choice"]):
        return None
    return bool(now["choice"] != was["choice"])


def _probed_cell(now: VerdictRow | None, was: VerdictRow | None, gold: object, scale: Scale | None) -> str:
    cell = cell_html(now, gold, scale)
    return cell.removesuffix("</td>") + f"{_CHANGED}</td>" if _differ(now, was) else cell


def _counted(pairs: Sequence[tuple[VerdictRow | None, VerdictRow | None]]) -> str:
    both = [found for now, was in pairs if (found := _differ(now, was)) is not None]
    return f"{sum(both)} of {len(both)}" if both else "&ndash;"


def _legend(*, rated: bool) -> str:
    alike = "repeat" if rated else "order and repeat"
    return (
        '<p class="mrb-legend">Each pair: the verdict on the plain case, and that under the probe in the same '
        f"{alike};{_CHANGED} is another choice, and repeats on the plain case may differ as well. Both are beside "
        "the gold label of the plain case.</p>"
    )


def _table(dimensions: Sequence[str], rows: Sequence[str]) -> str:
    above = "".join(f'<th scope="colgroup" colspan="2">{isolated(name)}</th>' for name in dimensions)
    below = '<th scope="col">plain</th><th scope="col">probed</th>'
    return (
        f'<div class="mrb-wide" tabindex="0" {OWN_KEYS}><table class="mrb-verdicts"><thead><tr>'
        f'<th scope="col" rowspan="2">judge</th><th scope="col" rowspan="2">changed</th>{above}</tr>'
        f"<tr>{below * len(dimensions)}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


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


def _why_not(words: str) -> str:
    return f'<p class="mrb-missing">{isolated(words)}</p>'


def _judged_otherwise(file: FileProbe, manifests: Mapping[str, Manifest]) -> list[str]:
    """Which judges were shown the texts of another file than this one, a sentence each."""
    return [
        f"{judge} was shown another file of this name (SHA-256 {digest[:12]}...): what it read is not what stands here."
        for judge, manifest in manifests.items()
        for digest in sorted(manifest.probe_files(file.probe.name) - {file.sha256})
    ]


def _about(about: ProbeId, files: Mapping[str, FileProbe], case: Case, seed: int | None, *, rated: bool) -> str:
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
    return f'<p class="mrb-does">{isolated(" ".join(words))}</p>'


def _beside(plain: str, probed: str, probe: str) -> str:
    sides = "".join(
        f'<div class="mrb-side"><p class="mrb-legend">{words}</p>{part}</div>'
        for words, part in (("plain", plain), (f"under {isolated(probe)}", probed))
    )
    return f'<div class="mrb-beside">{sides}</div>'


def _pictures(benchmark: Benchmark, before: Case, after: Case, probe: str, heading: str, side: int) -> str:
    """The pictures before and after; one that the probe made is made anew."""
    if before.images == after.images:
        return '<p class="mrb-legend">The images are unchanged.</p>' if before.images else ""
    images = ProbedImages(benchmark.images, benchmark.cases)

    def picture(name: str, called: str) -> str:
        try:
            return image_html(called, {called: images[name]}, side, None)
        except KeyError:
            return image_html(called, {}, side, None)

    shown = {name: name for name in (*before.images, *after.images) if name in benchmark.images}
    none = '<p class="mrb-no-image">no image is shown</p>'
    pairs = []
    for i in range(max(len(before.images), len(after.images))):
        first = picture(before.images[i], before.images[i]) if i < len(before.images) else none
        second = none
        if i < len(after.images):
            name = after.images[i]
            second = picture(name, shown.get(name) or f"{before.images[i]} under {probe}")
        pairs.append(_beside(first, second, probe))
    return f"<{heading}>Images</{heading}>{''.join(pairs)}"


def _texts(before: Case, after: Case, probe: str, heading: str, *, rated: bool) -> str:
    """What the prompt says otherwise; question and responses that changed as they were and as they are; the others."""
    changed, same = [], []
    only = "Response" if rated else "Response A"
    for name, words in (("question", "Question"), ("response_a", only), ("response_b", "Response B")):
        old, new = str(getattr(before, name)), str(getattr(after, name))
        if old != new:
            was, now = _marked(visible(old), visible(new))
            changed.append(f"<{heading}>{words}</{heading}>{_beside(_box(was), _box(now), probe)}")
        elif old:
            summary = f"<summary {OWN_KEYS}>{words}: unchanged</summary>"
            same.append(f"<details>{summary}{_box(escaped(old))}</details>")
    prompt = "".join(f"<p>{isolated(sentence)}</p>" for sentence in after.of_the_prompt)
    return "".join([prompt and f"<{heading}>Prompt</{heading}>{prompt}", *changed, *same])


def _box(marked: str) -> str:
    return f'<div class="mrb-text mrb-answer-text" dir="auto" tabindex="0" {OWN_KEYS}>{marked}</div>'


def _marked(old: str, new: str) -> tuple[str, str]:
    """Two visible texts as HTML: what was taken out marked in the one, and what was put in in the other."""
    blocks = spans(old, new)
    was = _with_tag(old, [(i, j) for i, j, _, _ in blocks], "del")
    now = _with_tag(new, [(k, m) for _, _, k, m in blocks], "ins")
    return was, now if blocks else f'{now}<span class="mrb-none"> (only white space differs)</span>'


def _with_tag(text: str, stretches: Sequence[tuple[int, int]], tag: str) -> str:
    pieces, end = [], 0
    for first, last in stretches:
        if last > first:
            pieces += [html.escape(text[end:first]), f"<{tag}>{html.escape(text[first:last])}</{tag}>"]
            end = last
    return "".join([*pieces, html.escape(text[end:])])
