"""The text of a reply: without thoughts, in plain characters; and refusals in it."""

import re
import unicodedata
from typing import Final

LONGEST: Final = 30_000
"""Characters from the end of a reply in which a verdict is looked for, where it is not clean as a whole."""

_THOUGHT: Final = (
    r"(?:seed:|longcat_|inner_|internal_|ant(?:ml:)?)?"
    r"(?:think|thinking|thoughts?|thought_process|reasoning|scratchpad|monologue)"
)
_CHANNEL: Final = r"<\|?channel\|?>\s?"
_CLOSE: Final = (
    rf"<\s?/\s?{_THOUGHT}\s?>|<\|\s?(?:/|end_(?:of_)?){_THOUGHT}\s?\|>|<\|\s?{_THOUGHT}_end\s?\|>"
    rf"|{_CHANNEL}final\b[^<\n]{{0,40}}(?:<\|constrain\|>\w*)?\s?(?:<\|message\|>)?|<channel\|>|assistantfinal"
    r"|</details>|◁/think▷|\[/THINK\]|<unused95>"
    r"|^Here is my response:|\[BEGIN FINAL RESPONSE\]|^#{1,4} Final Response[ \t]*$"
)
_THOUGHTS: Final = re.compile(
    rf"(?:<\s?{_THOUGHT}(?:\s[^<>|]{{0,80}})?\s?>"
    rf"|<\|\s?(?:(?:begin|start)_(?:of_)?)?{_THOUGHT}(?:_(?:begin|start))?\s?\|>"
    rf"|{_CHANNEL}(?:analysis|commentary|{_THOUGHT})\b[^<\n]{{0,40}}(?:<\|constrain\|>\w*)?\s?(?:<\|message\|>)?"
    r"|<details type=\"reasoning\"[^<>]{0,120}>|◁think▷|\[THINK\]|<unused94>"
    # The marks of the same models, where the server removed what it takes for special.
    r"|\A\s*thought\n|\A\s*analysis(?=[A-Z{])"
    r"|\A\s*Here (?:is my thought process|are my reasoning steps):|^#{1,4} Thinking[ \t]*$)"
    rf"[\s\S]*?(?:{_CLOSE}|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSES: Final = re.compile(_CLOSE, re.IGNORECASE | re.MULTILINE)
_MARKS: Final = re.compile(
    r"<\|[a-z_]{1,24}\|>|</?s>|<(?:start|end)_of_turn>|<turn\|>|<\|turn>|<eos>|<pad>|\[/?INST\]|\[END FINAL RESPONSE\]",
    re.IGNORECASE,
)
_REFUSALS: Final = re.compile(
    r"\bi(?:'m| am)? (?:really |very |so )?sorry\b|\bi apologi[sz]e\b|\bi refuse\b|\bas an ai\b"
    r"|\bagainst (?:my|the) (?:polic|guidelines)|\b(?:i must|i have to|i will) (?:respectfully )?decline\b"
    r"|\bunable to (?:assist|comply|help|evaluate|judge|compare|process|view|provide)\b"
    r"|\bi(?:'m| am) (?:unable|not able) to\b"
    r"|\bi (?:can ?not|can't|could not|couldn't|won't|will not) (?:in good conscience |really |fairly |safely )?"
    r"(?!find\b|(?:see|tell|detect) (?:a|any|the)\b)[a-z]+"
    r"|抱歉|对不起|對不起|很遗憾|我无法|我不能|我無法|无法(?:评估|判断|提供|回答|比较)"
    r"|申し訳|お答えできません|(?:評価|判断|回答|比較|提供|診断)(?:することは)?できません"
    r"|\bes tut mir leid\b|\btut mir leid\b|\bich kann (?:das |dies |dazu |diese? |leider )*(?:nicht|kein)"
    r"|\bich bin nicht in der lage\b|\blo siento\b|\bno puedo (?!distinguir)\w+|\bno me es posible\b"
    r"|\bdésolée?\b|\bje ne (?:peux|suis) pas\b|\bdesculpe\b|\bsinto muito\b|\b(?:não|nao) (?:posso|consigo)\b"
    r"|\bmi dispiace\b|\bnon posso\b|죄송|할 수 없습니다|не могу|извините"
)
_PLAIN: Final = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f\u301d\u301e\uff02", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u00b4\uff07", "'")
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f")
    | dict.fromkeys("\u2192\u21d2\u279c\u2794\u27f6", "->")
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u200a\u202f\u3000", " ")
    | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if code not in (0xFF02, 0xFF07)}
    | dict(zip(map(ord, "\u2236\u3010\u3011\u2502\r\u2028\u2029"), ":[]|\n\n\n", strict=True))
    | {"\u3002": ". ", "\u3001": ", ", "\u2026": "..."}
)
_STYLED: Final = re.compile(r"[\U0001d400-\U0001d7ff\u24b6-\u24e9]")
_BOXED: Final = (
    re.compile(r"\\boxed\s?\{\s?(?:\\(?:text|mathrm|mathbf)\s?\{)?\s?([^{}\\]{1,40}?)\s?\}{1,2}"),
    re.compile(r"<\|begin_of_box\|>\s?([^<>]{1,40}?)\s?<\|end_of_box\|>"),
)
HEDGES: Final = (
    "not never hardly cannot nor if whether unless suppose could may might no_longer far_from at_first initially "
    "earlier previously almost said says claims? claimed argue[sd]? writes states mentions notes suggests implies "
    "reports describes gold reference task guidelines? readers? people users? patients?(?:'s)? experts? clinicians? "
    "physicians? doctors? radiologists? reviewers? annotators? authors? students? many some others? they someone"
)
"""Words before a verdict, for `words`, that make it negated, conditional, or the verdict of someone else."""
_STRUCK: Final = re.compile(r"(?<!~)~~[^~\n]{1,200}~~(?!~)|<(s|del|strike)>[^<>\n]{1,200}</\1>", re.IGNORECASE)
_EMPHASIS: Final = re.compile(r"[*`~]+|__+")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list written as text."""
    return frozenset(text.split())


def words(text: str) -> str:
    """Return the words of a list, where `_` stands for a space, as alternatives of a regular expression."""
    return f"(?:{'|'.join(text.split()).replace('_', ' ')})"


def without_thinking(reply: str) -> str:
    """Return a reply without what was thought aloud; an unclosed thought reaches to the end.

    A closing mark without an opening one ends a thought that began before the reply
    (chat templates open it in the prompt).
    """
    return _CLOSES.split(_THOUGHTS.sub("\n", reply))[-1]


def plainly_written(text: str) -> str:
    """Return a text with straight quotation marks, ASCII dashes and full-width letters as letters.

    A boxed value becomes `[[A]]`, marks of a model's own (`<|im_end|>`) become ends of lines, and what is struck
    through is left out.
    """
    plain = _STYLED.sub(lambda styled: unicodedata.normalize("NFKC", styled[0]), text.translate(_PLAIN))
    for boxed in _BOXED:
        plain = boxed.sub(r"[[\1]]", plain)
    return _MARKS.sub("\n", _STRUCK.sub("", plain))


def without_emphasis(text: str) -> str:
    """Return a text without the marks of bold, italic and code."""
    return _EMPHASIS.sub("", text)


def refuses(answer: str) -> bool:
    """Return True where an answer declines to judge, in any of nine languages."""
    return _REFUSALS.search(answer.replace("\u2019", "'").casefold()) is not None
