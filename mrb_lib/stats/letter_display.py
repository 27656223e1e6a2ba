"""The compact letter display: judges that share a letter are not shown to differ."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase

import numpy as np

from mrb_lib.stats.options import BoolArray

_ALPHABET = ascii_lowercase + ascii_uppercase + "".join(chr(code) for code in range(0x3B1, 0x3CA) if code != 0x3C2)


def letter_display(differ: BoolArray) -> list[str]:
    """The letters of each of k judges, in the order given, best first.

    Parameters
    ----------
    differ : shape (k, k), symmetric: whether two judges were shown to differ

    Returns
    -------
    One text a judge. Two judges share a letter exactly where they were not shown to differ; the letters run from
    the first judge on: a, b, ..., z, A, B, ..., Z, and then in Greek

    Notes
    -----
    Insert and absorb: Piepho (2004), doi:10.1198/1061860043515. Begin with one letter for all. For every two that
    differ, split each letter that both have in two, one without the first and one without the second; drop
    every letter whose judges another letter has, too. Validated in `tests/stats/test_letters.py`.
    """
    count = len(differ)
    letters = [(1 << count) - 1]
    for first, second in np.argwhere(np.triu(differ, k=1)).tolist():
        pair = 1 << first | 1 << second
        split = [letter for letter in letters if letter & pair == pair]
        if split:
            halves = [letter & ~(1 << one) for letter in split for one in (first, second)]
            letters = _absorb([*(letter for letter in letters if letter & pair != pair), *halves])
    members = sorted([i for i in range(count) if letter >> i & 1] for letter in letters)
    names = [_name(number) for number in range(len(members))]
    return ["".join(name for name, group in zip(names, members, strict=True) if i in group) for i in range(count)]


def _absorb(letters: list[int]) -> list[int]:
    """The letters that are no part of another one, each once."""
    unique = list(dict.fromkeys(letters))
    return [one for one in unique if not any(one != other and one & other == one for other in unique)]


def _name(number: int) -> str:
    """One sign a letter, so that a text of letters can be read sign by sign; after all alphabets, (77) and so on."""
    return _ALPHABET[number] if number < len(_ALPHABET) else f"({number + 1})"
