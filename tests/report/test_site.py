"""The site opens from disk with no network, every link leads somewhere, and hostile text stays text."""

import re
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from mrb_lib.review.pages import csp_hash
from tests.report.conftest import Lab

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">"\'{{ 7*7 }}'
CELLS = (
    "# Reading\n\n## A part\n\nSee [the next](02_next.ipynb), [a paper](https://doi.org/10.1), "
    "[bad](javascript:alert(1)), [gone](../data/x.csv) and ![picture](http://example.org/x.png) "
    "<script>alert(3)</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "print(HOSTILE)",
    "from IPython.display import HTML, Javascript, display\n"
    "display(HTML('<b id=injected>html</b>')); display(Javascript('alert(4)'))",
    "{'a': 1}",
)


class Page:
    """What a page links to, loads, names and says."""

    def __init__(self, text: str) -> None:
        self.soup = BeautifulSoup(text, "html.parser")
        self.tags = [(tag.name, tag.attrs) for tag in self.soup.find_all()]
        self.links, self.ids = self._stated("href"), self._stated("id")
        self.loads = self._stated("src", "srcset", "data", "poster")
        self.scripts = [script.decode_contents() for script in self.soup.find_all("script")]
        self.text = "".join(text for text in self.soup.strings if text.parent.name not in ("script", "style"))

    def _stated(self, *names: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags for name in names if name in attributes]

    def with_tag(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, publish: str) -> Any:
    """A report of simulated data, with hostile text wherever text can come from, a failure, and absent figures."""
    lab = Lab(tmp_path_factory.mktemp("site"))
    lab.benchmark(kind="simulated", name=f"bench {HOSTILE}", judge=f"judge {HOSTILE}")
    hostile = f"HOSTILE = {HOSTILE!r}\n"
    figures = 'publish_figure("plain-id", title=HOSTILE, caption=HOSTILE, reading=HOSTILE, simulated=True)'
    rows = "f'judge,accuracy\\n{HOSTILE},0.51234567\\n' + 'x,0.5\\n' * 249"
    absent = "import mrb_lib\nraise mrb_lib.NotApplicable(HOSTILE)"
    lab.notebook(
        "01_first", publish + hostile, figures, f'publish_table("scores", {rows}, best=[[0, 1]])', absent, *CELLS
    )
    lab.notebook("02_next", f"raise ValueError({HOSTILE!r})")
    assert [failure.notebook for failure in lab.report().failed] == ["02_next"]
    return lab


@pytest.fixture(scope="module")
def pages(made: Any) -> dict[str, Page]:
    found = [made.out / "index.html", *sorted((made.out / "pages").glob("*.html"))]
    return {path.relative_to(made.out).as_posix(): Page(path.read_text(encoding="utf-8")) for path in found}


def test_every_link_leads_to_a_file_and_its_part(made: Any, pages: dict[str, Page]) -> None:
    n_local = 0
    for name, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme in ("https", "http") and link not in page.loads:
                continue
            assert parts.scheme == parts.netloc == "", link
            assert not parts.path.startswith("/"), link
            target = (made.out / name).parent / unquote(parts.path) if parts.path else made.out / name
            assert target.resolve().is_relative_to(made.out.resolve())
            assert target.is_file(), link
            if parts.fragment:
                assert unquote(parts.fragment) in pages[target.resolve().relative_to(made.out.resolve()).as_posix()].ids
            n_local += 1
    assert n_local > 20


def test_nothing_is_loaded_from_the_network_and_only_the_sites_own_script_can_run(pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert [load for load in page.loads if ":" in load] == []
        policy = next(meta["content"] for meta in page.with_tag("meta") if "http-equiv" in meta)
        assert "default-src 'none'" in policy
        assert re.findall(r"script-src ([^;]*)", policy) == [f"'{csp_hash(script)}'" for script in page.scripts]
        assert len(page.scripts) == 1, "the site's own, and no other"
        assert page.with_tag("script") == [{}]
        tags = {tag for tag, _ in page.tags}
        assert tags.isdisjoint({"iframe", "object", "embed", "form", "link", "base", "svg"})
        assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
        assert not [link for link in page.links if link.lower().startswith(("javascript", "data"))]
        assert "injected" not in page.ids


def test_hostile_text_is_shown_as_text(pages: dict[str, Page]) -> None:
    assert pages["pages/01_first.html"].text.count(HOSTILE) >= 5, "title, caption, reading, cell, output"
    assert pages["pages/02_next.html"].text.count(HOSTILE) >= 2, "the error, and its traceback"
    assert pages["index.html"].text.count(HOSTILE) >= 4, "benchmark, judge, failure, reason"


def test_what_no_page_can_hold_is_shown_by_a_sign_and_stops_nothing(lab: Any, publish: str, quickly: None) -> None:
    odd, half = "a\\0b\\x1bc\\u2066e", "half a letter \\ud800."
    lab.notebook(
        "one", publish + f'publish_figure("one", title="{odd}", caption="{half}")',
        "# T\n\nNUL \0, escape \x1b. Half \ud800.",
    )  # fmt: skip
    assert lab.report().failed == ()
    index, one = ((lab.out / name).read_text(encoding="utf-8") for name in ("index.html", "pages/one.html"))
    for text in (index, one):
        assert "a\ufffdb\u241bc\u2066e\u2069" in text
        assert not set(text) & set("\0\x1b")
    assert all("half a letter \ufffd." in text for text in (index, one))
    assert "Half \ufffd." in one


def test_simulated_data_say_so_on_every_page(pages: dict[str, Page], lab: Any, publish: str, quickly: None) -> None:
    for page in pages.values():
        assert "SIMULATED" in page.text.split("Skip to the content")[1][:40]
    lab.notebook("one", publish + 'publish_figure("one")')
    lab.report()
    assert "SIMULATED" not in (lab.out / "index.html").read_text()
    assert "SIMULATED" not in (lab.out / "pages" / "one.html").read_text()


def test_a_page_reads_in_the_order_of_the_notebook(pages: dict[str, Page]) -> None:
    text = pages["pages/01_first.html"].text
    marks = ["What 01_first asks.", "How to read it.", "What it lists.", "Not applicable: ", "See the next", "{'a': 1}"]
    places = [text.rindex(mark) for mark in marks]  # the code, which has some of them too, comes first
    assert places == sorted(places)
    assert 'benchmark = "demo"' not in text, "the defaults are not what was used"


def test_a_table_is_rounded_and_says_what_it_leaves_out(pages: dict[str, Page]) -> None:
    page = pages["pages/01_first.html"]
    assert "The first 200 of 250 rows; tables/scores.csv has all of them." in page.text
    assert len(page.with_tag("strong")) >= 2


def test_markdown_links_lead_to_pages_and_pictures_are_not_loaded(pages: dict[str, Page]) -> None:
    page = pages["pages/01_first.html"]
    assert "02_next.html" in page.links
    assert "https://doi.org/10.1" in page.links
    assert not [link for link in page.links if "x.csv" in link]
    assert page.loads == ["../figures/plain-id.png"]


def test_the_index_lists_figures_tables_absences_failures_and_provenance(made: Any, pages: dict[str, Page]) -> None:
    index, first = pages["index.html"], pages["pages/01_first.html"]
    assert {"pages/01_first.html#plain-id", "pages/01_first.html#table-scores"} <= set(index.links)
    assert "figures/index.json" in index.links
    assert {f"../figures/plain-id.{suffix}" for suffix in ("png", "svg", "csv")} <= set(first.links)
    assert {"../tables/scores.csv", "../tables/scores.tex"} <= set(first.links)
    said = ("Not applicable to these data: ", "02_next, cell 3 failed", "ValueError", "balanced", "clarity, overall")
    assert all(text in index.text for text in said)
    manifest = next((made.bench / "runs").glob("*/manifest.json"))
    assert manifest.parent.name in index.text


def test_pages_can_be_read_with_a_keyboard_and_a_screen_reader(pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert len(page.with_tag("main")) == len(page.with_tag("h1")) == 1
        assert page.with_tag("nav")
        assert "#content" in page.links
        assert page.with_tag("html") == [{"lang": "en"}]
        assert all(image["alt"] for image in page.with_tag("img"))
        assert all(head["scope"] for head in page.with_tag("th"))
        assert len(page.ids) == len(set(page.ids))
