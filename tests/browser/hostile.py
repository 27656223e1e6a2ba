"""A benchmark, its runs and its reviews with hostile text wherever text may be, and what a page made of it shows.

An attack that succeeds sets `window.__pwned`, opens a dialog, asks for a file, or leaves an element that `harm` finds.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Frame, Page

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.records.marks import Adjudication, AnnotatorAnswer
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.store import save_imported
from tests.pictures import png

ATTACKS = (
    "<script>window.__pwned=1</script>",
    '<img src=x class=hostile onerror="window.__pwned=2">',
    "<svg class=hostile onload=window.__pwned=3><script>window.__pwned=3</script></svg>",
    "\"'><iframe class=hostile srcdoc='<script>parent.__pwned=4</script>'></iframe>",
    "</script></style></textarea></title></template></bdi></div></section><hostile-element>",
    "]]>--><!--<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;&#60;script&#62;&lt;b&gt;&amp;",
    "<style class=hostile>*{display:none!important}</style>",
    '" style="position:fixed;inset:0;z-index:9999;background:red" autofocus onfocus="window.__pwned=5',
    "' onmouseover='window.__pwned=6' x='",
    "{{ 7*191 }}{% raise %}${7*191}#{7*191}<%= 7*191 %>{{constructor.constructor('window.__pwned=7')()}}",
    "[x](javascript:window.__pwned=8) $$\\href{javascript:window.__pwned=8}{x}$$ `</code>` <javascript:alert(8)>",
    "';window.__pwned=9;//\\';window.__pwned=9;//\u2028window.__pwned=9\u2029${window.__pwned=9}",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1-1\t=1+1\r\n-2+3",
    "\u202eevil\u2066\u2067\u202d never closed",
    "مرحبا بالعالم שלום עולם",
    "👩‍⚕️🩻🏴‍☠️👨‍👩‍👧‍👦 e\u0301 ﷽",
    "Z" + "\u0335\u0336\u034f\u0489\u0310\u031a\u0322" * 30 + "algo" + "\u0e47" * 40,
    "W" * 300,
    "nul\0 bell\a escape\x1b[31m back\b delete\x7f \ufeff\u200b\u00ad end",
    "../../../../etc/passwd",
    "__proto__",
    "' OR 1=1; DROP TABLE adjudications; --",
    "# <b class=hostile>h</b>\n\n| <img src=x class=hostile onerror=window.__pwned=2> | [l](http://evil.example/l) |\n"
    "|-|-:|\n| ![i](http://evil.example/i.png) | <http://evil.example> **`</code></pre></td>`** |\n\n9. *nine*\n\n"
    "~~~ x\n</pre>\n~~~",
    "$\\href{javascript:window.__pwned=8}{x}$ \\(\\style{position:fixed;inset:0}{x}\\) $\\newcommand{\\a}{\\a\\a}\\a$ "
    "$$\\includegraphics{http://evil.example/i.png}$$ \\[\\text{<img src=x class=hostile onerror=window.__pwned=2>}\\] "
    f"${'{' * 300}x{'}' * 300}$ $\\hspace{{-90em}}\\color{{white}}x_{{{'a+' * 200}}}$",
)
LONG = 1_000_000
LONG_CASE = 0
DIMENSIONS = ("overall", '<img src=x onerror="window.__pwned=2">', "\u202e</script>{{ 7*191 }}=1+1")
ANNOTATORS = (
    "<svg class=hostile onload=window.__pwned=3>",
    "مرحبا\u202e{{ 7*191 }}",
    "=cmd|' /C calc'!A0" + "W" * 120,
)
JUDGES = (
    "<script>window.__pwned=1</script>{{ 7*191 }}",
    "\"' onmouseover='window.__pwned=6' x=' " + "W" * 120,
    "\u202e=1+1 \u2066مرحبا 👩‍⚕️ </style></script>",  # noqa: RUF001 - a letter that looks like another belongs to the attack
)
REVIEWERS = ("<b class=hostile onclick=window.__pwned=1>Dr Ünal</b>", "\u202eevil' OR 1=1; --" + "W" * 100)
REASONS = ("wrong laterality", "<script>window.__pwned=1</script>", "\u202e=1+1, {{ 7*191 }}" + "W" * 80)
IMAGES = (
    "<img src=x onerror=window.__pwned=2>\"'>\u202e{{ 7*191 }}.png",
    "</figcaption><script>window.__pwned=1</script>.png",
    "مرحبا 👩‍⚕️ " + "W" * 150 + ".png",
)
NAME = "hostile </title><script>window.__pwned=1</script>\"'><img src=x onerror=window.__pwned=2>{{ 7*191 }}\u202e"
PLACE_COLUMNS = (
    "organ", "department", "modality", "question_type", "dataset", "model_a", "model_b", "reference", "cluster",
    "split", "extra <script>window.__pwned=1</script>",
)  # fmt: skip

_STRAY = """() => {
  const problems = [];
  if (window.__pwned !== undefined) problems.push(`executed ${window.__pwned}`);
  const stray = 'hostile-element, .hostile, img[src="x"], [onerror], [onload], [onmouseover], [onfocus], [autofocus]';
  for (const found of document.querySelectorAll(stray)) problems.push(`stray <${found.localName}>`);
  for (const found of document.querySelectorAll("a[href^='javascript:' i], iframe[srcdoc]")) {
    problems.push(`stray ${found.outerHTML.slice(0, 80)}`);
  }
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) {
    const clips = (e) => e && (getComputedStyle(e).overflowX !== "visible" || clips(e.parentElement));
    const beyond = (e) => e.getBoundingClientRect().right > page.clientWidth && !clips(e.parentElement);
    const wide = [...document.querySelectorAll("body *")].filter(beyond);
    const last = wide.filter((e) => ![...e.children].some((child) => wide.includes(child))).slice(0, 3);
    const named = last.map((e) => `<${e.localName} ${e.className}> ${e.textContent.slice(0, 40)}`);
    problems.push(`${page.scrollWidth} wide in ${page.clientWidth}: ${named}`);
  }
  if (getComputedStyle(document.body).display === "none") problems.push("the page is hidden");
  if (/\\b1337\\b/.test(document.body.innerText)) problems.push("a template was evaluated");
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const ours = node.parentElement.closest("bdi, [dir=auto], svg, script, style, textarea") === null;
    const word = ours && node.data.match(/[a-z]{3,}/i);
    if (!word) continue;
    const [first, last] = [word.index, word.index + word[0].length - 1].map((at) => {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      return range.getBoundingClientRect();
    });
    const seen = first.width && last.width && first.top === last.top;
    if (seen && first.left > last.left) problems.push(`turned: ${node.data.slice(0, 60)}`);
  }
  return problems;
}"""


def harm(page: Page | Frame) -> list[str]:
    """What hostile text did to a page: nothing is right. A page's errors and dialogs are the fixture's to see.

    Words that are not isolated as text of the data (`bdi`, `dir="auto"`) must run from left to right.
    """
    found: list[str] = page.evaluate(_STRAY)
    return found


def attack(number: int) -> str:
    """An attack; by counting through them every field gets each of them."""
    return ATTACKS[number % len(ATTACKS)]


def write_hostile(folder: Path, *, long: int = LONG) -> Path:
    """Write the benchmark, its runs into `runs` and its reviews into `reviews.sqlite`, and return its folder.

    Parameters
    ----------
    long : characters of an answer, and of the replies, of the case numbered `LONG_CASE`
    """
    benchmark = folder / "hostile"
    save(hostile_benchmark(long=long), benchmark)
    verdicts = hostile_verdicts(load(benchmark), long=long)
    save_imported(verdicts, benchmark / "runs", benchmark=NAME, kind="simulated", source=attack(0))
    write_reviews(load(benchmark), benchmark / "reviews.sqlite")
    return benchmark


def hostile_benchmark(*, long: int = LONG) -> Benchmark:
    """As many cases as attacks; over the cases every text field has each attack once."""
    n = len(ATTACKS)
    texts = ("case_id", "question", "response_a", "response_b", *PLACE_COLUMNS)
    cases = pd.DataFrame(
        {column: [attack(i + 5 * place) for i in range(n)] for place, column in enumerate(texts)}, dtype="str"
    )
    cases.loc[LONG_CASE, "response_a"] = flood(long)
    cases["images"] = [[IMAGES[i % 3]] if i % 4 else list(IMAGES) for i in range(n)]
    rows = [
        (case, who, dimension, ("A", "B", "tie", "A")[(i + 2 * j + k) % 4])
        for i, case in enumerate(cases["case_id"])
        for j, who in enumerate(ANNOTATORS)
        for k, dimension in enumerate(DIMENSIONS)
    ]
    votes = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"]).astype("str")
    meta = BenchmarkMeta(
        NAME, "simulated", DIMENSIONS, description=attack(0), source=attack(1), licence=attack(2), citation=attack(10),
        revision=attack(4), extra={"note": attack(3)},
    )  # fmt: skip
    return Benchmark(meta, cases, votes, {name: picture(i) for i, name in enumerate(IMAGES)})


def hostile_verdicts(benchmark: Benchmark, *, long: int = LONG) -> pd.DataFrame:
    """Verdicts of three judges in both orders, each with a hostile reply; some failed, with a hostile error."""
    rows: list[dict[str, object]] = []
    for i, case in enumerate(benchmark.cases["case_id"]):
        for j, judge in enumerate(JUDGES):
            for k, dimension in enumerate(DIMENSIONS):
                for o, order in enumerate(ORDERS):
                    choice = ("A", "B", "A", "tie", None)[(i + 2 * j + k + 3 * o) % 5]
                    row: dict[str, object] = {"judge": judge, "case_id": case, "dimension": dimension, "order": order}
                    row |= {"choice": choice, "p_a": {"A": 0.97, "B": 0.04}.get(str(choice), 0.5)}
                    row |= {"status": "ok" if choice else "unparsed", "reply": attack(i + j + k + o)}
                    row |= {"error": None if choice else attack(i + j), "prompt_id": attack(i)}
                    rows.append(row)
    frame = pd.DataFrame(rows).assign(repeat=0, probe="none")
    about = frame["case_id"] == benchmark.cases["case_id"].iloc[LONG_CASE]
    frame.loc[about.idxmax(), "reply"] = flood(long)
    probed = frame.iloc[-6:].assign(probe=attack(0))
    return pd.concat([frame, probed], ignore_index=True)


def write_reviews(benchmark: Benchmark, path: Path) -> None:
    """Adjudications and answers with hostile reviewers, reasons and notes; no store holds an id with a NUL."""
    cases = [case for case in benchmark.cases["case_id"] if "\0" not in case]
    with open_store(path) as store:
        for i, case in enumerate(cases[:8]):
            verdict = ("gold_right", "gold_wrong", "ambiguous", "image_unusable")[i % 4]
            choice = "B" if verdict == "gold_wrong" else None
            about = {"judge": JUDGES[i % 3], "dimension": DIMENSIONS[i % 3], "answers": {"reasons": (REASONS[i % 3],)}}
            store.add(Adjudication(NAME, case, REVIEWERS[i % 2], verdict, choice, note=attack(i), **about))
        for i, case in enumerate(cases[:6]):
            choice, skipped = (None, attack(i)) if i % 3 == 0 else ("A", "")
            store.add(AnnotatorAnswer(NAME, case, ANNOTATORS[i % 3], DIMENSIONS[i % 3], choice, "BA", skipped))


def flood(long: int) -> str:
    """All attacks, again and again, up to a length."""
    return ("\n".join(ATTACKS) * (long // sum(map(len, ATTACKS)) + 1))[:long]


def picture(seed: int) -> bytes:
    """A small grey PNG."""
    values: Any = np.random.default_rng(seed).integers(0, 255, (48, 64)).astype("uint8")
    return png(values)
