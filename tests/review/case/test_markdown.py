"""An answer's Markdown, mathematics and odd letters are drawn right, lose nothing, and do nothing."""

import re
from collections import Counter
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mrb_lib.review.case import markdown
from mrb_lib.review.case.facts import marks, word_differences
from mrb_lib.review.case.markdown import read_markdown
from mrb_lib.review.case.view import answers_html
from mrb_lib.review.pages import visible

TABLE = "| side | size |\n|:--|--:|\n| left | **5** mm |\n| right | 2 cm |\n"
ATTRIBUTES = {
    "class": re.compile("mrb-(end|middle|grid|number|side|denial|anatomy|opposite|differs)"),
    "value": re.compile(r"\d{1,9}"),
    "scope": re.compile("col"),
    "tabindex": re.compile("0"),
    "role": re.compile("group"),
    "aria-label": re.compile("table in the answer"),
    "data-lm-suppress-shortcuts": re.compile("true"),
}
PIECES = st.sampled_from(
    [
        "# ", "## ", "- ", "1. ", "7) ", "> ", "**", "*", "_", "~~", "`", "```", "```python\n", "\n", "\n\n", "    ",
        "|", "|-|", "\n|a|b|\n|-|-|\n", "$", "$$", "\\(", "\\)", "\\[", "\\]", "\\frac{a}{b}", "x^2", "\\text{mm}", "{",
        "}", "\\", "\\href{javascript:1}{x}", "&", "&lt;", "&#60;", "[x](javascript:1)", "![y](http://e.example/x.png)",
        "<b onload=1>", "<http://e.example>", "[r]: http://e.example", "[r]", "---", "===", "5 mm", "left", "no mass",
        "$5", "\u202e", "\u2067", "\0", "\x1b", "é", "日本", "  \n", "- [ ] ", "***", "<!--", "]]>",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=25).map("".join)


def html_of(text: str) -> str:
    read = read_markdown(visible(text))
    assert read is not None, text
    return read.html()


def letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def tree(html: str) -> ET.Element:
    """The HTML as a browser would have it; it raises unless every element is closed in its place."""
    control = re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", html)
    closed = re.sub("<(br|hr)>", r"<\1/>", control)
    return ET.fromstring(f"<root>{closed}</root>")  # noqa: S314  # without a document type there are no entities


def check_inert(html: str) -> ET.Element:
    root = tree(html)
    for element in list(root.iter())[1:]:
        assert element.tag in markdown.TAGS | {"mark", "span"}
        for name, value in element.attrib.items():
            assert name in ATTRIBUTES, (element.tag, name)
            assert ATTRIBUTES[name].fullmatch(value), (name, value)
    return root


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS)
@example("|a|b|\n|-|-|\n|1|2|3 is beyond the columns|", "1. a\n5. b")
@example("$$\n\\href{javascript:1}{x}\n$$", "\\[ \\style{color:red}{x} \\]")
@example("```js\nalert(1)\n```", "~~~ <script>\nx\n~~~")
def test_any_text_becomes_html_that_is_whole_inert_and_loses_no_letter(a: str, b: str) -> None:
    texts = [visible(a), visible(b)]
    read = [read_markdown(text) for text in texts]
    plain = [text if one is None else one.plain for text, one in zip(texts, read, strict=True)]
    pairs = zip(texts, read, marks(*plain), word_differences(*plain), strict=True)
    for text, one, facts, words in pairs:
        if one is None:
            continue
        root = check_inert(one.html(facts, words))
        numbers = "".join(element.get("value", "") for element in root.iter("li"))
        shown = letters("".join(root.itertext()) + numbers)
        written = letters(re.sub(r"(?m)\b0+(?=\d)", "", text))
        assert not written - shown
        unmarked = tree(one.html())
        assert "".join(unmarked.itertext()) == "".join(root.itertext())


def test_tables_lists_and_emphasis() -> None:
    html = html_of(
        f"## Findings\nA *small* **nodule**.\n\n{TABLE}\n3. third\n7. seventh\n   - part\n\n`code` ~~gone~~\n\n> said"
    )
    assert "<p><strong>Findings</strong></p>" in html
    assert "<em>small</em> <strong>nodule</strong>" in html
    assert '<th scope="col">side</th><th scope="col" class="mrb-end">size</th>' in html
    assert '<td>left</td><td class="mrb-end"><strong>5</strong> mm</td>' in html
    assert '<li value="3">third</li><li value="7">seventh<ul><li>part</li></ul></li>' in html
    assert "<code>code</code> <s>gone</s>" in html
    assert "<blockquote><p>said</p></blockquote>" in html


@pytest.mark.parametrize(
    "text",
    ["costs $5 and $10", "US$5-$10", "5$ or 6$ a day", "$5/$6", "between $1,000 and $2,000", "2 * 3 * 4",
     "a_b_c and T_1", "plain words", "a line\nand another", "~5 mm", "p < 0.05 | x", "\\$5 and \\$6"],
)  # fmt: skip
def test_money_and_plain_words_are_shown_as_they_are(text: str) -> None:
    assert read_markdown(text) is None


def test_marks_reach_across_bold_and_into_tables_and_formulas() -> None:
    a, b = (
        read_markdown(f"A **5** mm mass.\n\n{TABLE}"),
        read_markdown("A **7** mm *mass*, left, right."),
    )
    assert a is not None
    assert b is not None
    facts, _ = marks(a.plain, b.plain)
    assert [a.plain[mark.start : mark.end] for mark in facts][:2] == ["5 mm", "5 mm"]
    html = a.html(facts)
    assert '<strong><mark class="mrb-number">5</mark></strong><mark class="mrb-number"> mm</mark> mass.' in html
    check_inert(html)


@pytest.mark.parametrize(
    "piece", ["*", "> ", "- ", "\\(", "$x$ ", "|a|\n|-|\n", "`a``", "\\[\n", "1. a\n", "[a](", "**a ", "<b>"]
)
def test_a_hundred_thousand_characters_are_shown_as_written_and_a_page_of_them_read(piece: str) -> None:
    assert read_markdown(piece * (100_000 // len(piece))) is None
    read = read_markdown(piece * (markdown.LONGEST // len(piece)))
    if read is not None:
        check_inert(read.html())


def test_the_switch_to_the_text_as_written_is_there_where_it_is_needed() -> None:
    plain = pd.Series({"response_a": "Left.", "response_b": "**Right** & <i>x</i>."})
    html = answers_html(plain, "h4")
    assert html.count('class="mrb-raw"') == 1
    assert 'aria-keyshortcuts="W"' in html
    assert '<div class="mrb-written" dir="auto">**Right** &amp; &lt;i&gt;x&lt;/i&gt;.</div>' in html
    assert html.count("mrb-written") == 1
    reference = pd.Series({"response_a": "Left.", "response_b": "Right.", "reference": "the **truth**"})
    assert "mrb-raw" in answers_html(reference, "h4")
    assert "mrb-raw" not in answers_html(reference.drop("reference"), "h4")


LRI, RLI, FSI, PDI, RLO = "\u2066", "\u2067", "\u2068", "\u2069", "\u202e"


@given(st.text(alphabet=f"ab\n\u2029{LRI}{RLI}{FSI}{PDI}{RLO}", max_size=40))
def test_no_text_closes_or_outlives_the_element_around_it(text: str) -> None:
    for paragraph in visible(text).replace("\u2029", "\n").split("\n"):
        depth = 0
        for letter in paragraph:
            depth += (letter in (LRI, RLI, FSI)) - (letter == PDI)
            assert depth >= 0
        assert depth == 0
    assert [letter for letter in visible(text) if letter not in (LRI, RLI, FSI, PDI)] == [
        letter for letter in text if letter not in (LRI, RLI, FSI, PDI)
    ]


@given(st.text(max_size=60))
def test_text_without_controls_is_shown_word_for_word(text: str) -> None:
    kept = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    kept = "".join(letter for letter in kept if letter not in (LRI, RLI, FSI, PDI))
    assert visible(kept) == kept


def test_what_no_page_can_hold_is_replaced_and_other_controls_get_their_pictures() -> None:
    assert visible("a\0b\ud800c\x1b[31m\x7f") == "a\ufffdb\ufffdc\u241b[31m\u2421"
