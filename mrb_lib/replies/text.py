"""The text of a reply: what was thought aloud, what declines to answer, and characters that look alike."""

from __future__ import annotations

import re
import unicodedata

_THOUGHT = r"(?:seed:)?(?:think|thinking|thought|thoughts|reasoning)"
_TAGS = re.compile(
    rf"(?P<open><\s?{_THOUGHT}\s?>|<\|begin_of_thought\|>|◁think▷|\[THINK\]|<\|channel\|>\s?analysis\s?<\|message\|>"
    r"|<unused94>)"
    rf"|(?P<close><\s?/\s?{_THOUGHT}\s?>|<\|end_of_thought\|>|◁/think▷|\[/THINK\]|<\|channel\|>\s?final\s?<\|message\|>"
    r"|<unused95>)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"<\|[a-z_]{1,24}\|>|</?s>|<(?:start|end)_of_turn>|<eos>|<pad>|\[/?INST\]", re.IGNORECASE)
_REFUSALS = re.compile(
    r"\b(?:i(?:'m| am)? (?:really |very |so )?sorry|i apologi[sz]e|i refuse|as an ai|i must (?:respectfully )?decline"
    r"|i (?:have to|will) decline|i'm (?:unable|not able) to|against (?:my|the) (?:policy|policies|guidelines)"
    r"|unable to (?:assist|comply|help|evaluate|judge|compare|process|view|provide)"
    r"|i (?:can ?not|can't|could not|couldn't|won't|will not|am unable to|am not able to)"
    r" (?:in good conscience |really |fairly |safely )?(?:help|assist|evaluat|compar|judg|provid|determin|compl"
    r"|analy|view|see|access|make|give|answer|fulfil|offer|interpret|diagnos|assess|choose|rate|process|do|engage|continue|review"
    r"|support|open|discuss|recommend|decide|say|tell)\w{0,6})\b"
    r"|抱歉|对不起|我无法|我不能"
)
_PLAIN = str.maketrans(
    {
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if code not in (0xFF02, 0xFF07, 0xFF40)},
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000\u200a", " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f", None),
        **dict.fromkeys("\u3002\uff61", ". "),
        **dict.fromkeys("\u3001\uff64", ", "),
        **dict.fromkeys("\u3010\u3014", "["),
        **dict.fromkeys("\u3011\u3015", "]"),
        **dict.fromkeys("\u2192\u21d2\u279c\u2794\u27f6", ":"),
        **dict.fromkeys("\u2236\ufe30\ufe55\ua789", ":"),
        **dict.fromkeys("\u00a6\u2502\u2503\u2758", "|"),
        "\r": "\n",
        "\u2028": "\n",
        "\u2029": "\n",
    }
)
_BOXED = re.compile(r"\\boxed\s?\{\s?(?:\\(?:text|mathrm|mathbf)\s?\{)?\s?([^{}\\]{1,40}?)\s?\}{1,2}")
_STYLED = re.compile(r"[\U0001d400-\U0001d7ff\u24b6-\u24e9]")


def without_thinking(reply: str) -> str:
    """The reply without what was thought aloud; an unclosed thought reaches to the end.

    A closing mark without an opening one ends a thought that began before the reply
    (chat templates open it in the prompt).
    """
    kept: list[str] = []
    start, inside = 0, False
    for tag in _TAGS.finditer(reply):
        if tag.lastgroup == "open":
            if not inside:
                kept.append(reply[start : tag.start()])
            inside = True
        else:
            if not inside:
                kept.clear()
            inside, start = False, tag.end()
    if not inside:
        kept.append(reply[start:])
    return "\n".join(kept)


def plainly_written(text: str) -> str:
    """The text with full-width letters and punctuation, dashes, arrows and spaces in their ASCII form.

    A model's own marks (`<|im_end|>`) end a line. Quotation marks stay: the reader of objects
    matches each with its partner.
    """
    styled = _STYLED.sub(lambda m: unicodedata.normalize("NFKC", m.group()), text)
    return _BOXED.sub(r"[[\1]]", _MARKS.sub("\n", styled.translate(_PLAIN)))


def refuses(answer: str) -> bool:
    """Whether the answer declines to judge."""
    return _REFUSALS.search(answer.replace("\u2019", "'").casefold()) is not None
