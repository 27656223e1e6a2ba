"""Which group a judge belongs to: open, proprietary, medical or critic, told from its name, its run and the roster.

A name counts as that of a roster entry where both read alike once capital letters, separators (a point between digits
stays), the owner before a slash and endings that leave the model what it is (`-Instruct`, `-hf`, `-AWQ`, a date) are
taken away. What is left over decides:

- nothing: it is that model, in the entry's group
- the name of a way of training (`-sft`, `-dpo`): a model tuned from the entry's. What for, the name does not say, so
  that it stays in the group of its base, and is no instance of the entry; `-judge`, `-critic`, `-reward` say it
- anything else (`-Med`, another size): another model. The names of the published pipeline stand in `published.toml`;
  else its series (`family`) and a size, or of a model behind endpoints a version, name a group where all of the series
  is in one

A folder of weights is a critic by its `training.json` or its scalar head; else its name decides, then the model that
its configuration names, and weights of which nothing more is known are open. Where nothing says, the group is "other".
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, Final, NamedTuple

import pandas as pd

from mrb_lib.judges.jury import is_jury
from mrb_lib.judges.roster.engines import public_engines
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.group_file import GroupFile
from mrb_lib.judges.roster.roster import FOLDER, SERVED, entries
from mrb_lib.judges.roster.source import LOCAL
from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.manifest import Manifest

OPEN, PROPRIETARY, MEDICAL, CRITIC = "open", "proprietary", "medical", "critic"
MODEL_GROUPS: Final = (OPEN, PROPRIETARY, MEDICAL, CRITIC)
"""The groups of models; juries, heuristics and simulated judges are groups apart, and `OTHER` is nobody's."""
JURY, OTHER = "jury", "other"
EXACT, ENGINE, ENDPOINT, PATH, NORMALISED = "exact", "engine", "endpoint", "path", "normalised name"
PUBLISHED, TUNED, FAMILY = "published name", "tuned from", "family name"
FILE, BUILT_IN, OF_SIMULATION, UNMATCHED = "file", "built in", "simulated", "unmatched"
COLUMNS: Final = ("judge", "group", "model", "entry", "how", "base", "alike", "cutoff", "cutoff_of", "family")

_GROUP: Final = "group:"
_OF_DOMAIN: Final[Mapping[str | None, str]] = {"medical": MEDICAL, "critic": CRITIC, "reward": CRITIC}
_SAYS_ITSELF: Final = (EXACT, ENGINE, FILE, BUILT_IN, OF_SIMULATION, JURY)
_SEPARATORS: Final = re.compile(r"[\s._:-]+")
_SAME: Final = re.compile(
    r"[\s._:-](instruct|it|chat|hf|preview|latest|awq|gptq|gguf|int[48]|fp8|fp16|bf16|[48]bit|20\d{6}|20\d\d-\d\d-\d\d)$"
)
_TRAINED: Final = re.compile(r"[\s._-](sft|dpo|ppo|grpo|kto|orpo|rlhf|rl|lora|qlora|ft|finetuned|tuned)$")
_TO_JUDGE: Final = re.compile(r"[\s._-](critic|judge|reward|rm)$")
_VERSION_MARK: Final = re.compile(r"(?<=[\s._-])v(?=\d)")
_SIZE: Final = re.compile(r"\d+(\.\d+)?[bm](a\d+b)?")
_VERSION: Final = re.compile(
    r"(\.?\d++[ov]?|mini|nano|pro|flash|lite|turbo|opus|sonnet|haiku|vision|thinking|exp)+", re.ASCII
)
_LONGEST_NAME: Final = 200
_OPEN_NAMESAKES: Final = frozenset({"gpt2", "gpt1"})
"""Open models whose names read like a series behind endpoints."""


class _Match(NamedTuple):
    """What a name is: `entry`, `base` and `alike` (entries it could be as well) are roster names."""

    group: str
    how: str
    entry: str | None = None
    base: str | None = None
    alike: tuple[str, ...] = ()


_NOBODY: Final = _Match(OTHER, UNMATCHED)


def judge_groups(
    judges: Iterable[str],
    manifests: Iterable[Manifest] = (),
    *,
    roster_entries: Sequence[Entry] | None = None,
    override: GroupFile | None = None,
) -> pd.DataFrame:
    """The group that each judge belongs to, and how that was told.

    Parameters
    ----------
    judges : names as in the verdicts
    manifests : of their runs; a name without one is told from its letters alone
    roster_entries : the roster; None for the library's own
    override : groups that go before all else, any short text, by the judge's name or that without `@run`

    Returns
    -------
    DataFrame
        One row a judge, by name:

        - `group`: "open", "proprietary", "medical" (whatever its access) or "critic" (reward models among them); else
          "jury", "SIMULATED", the family of a judge that is built in ("heuristic"), "other" where nothing says, or
          what the file says
        - `model`: what is behind the name, whatever the engine and the run: the entry, or else the name itself
        - `entry`: the roster entry that it is an instance of; null where there is none
        - `how`: "exact" (the entry's own name), "engine" (`NAME+ENGINE`), "endpoint" (the model's name at its server),
          "path" (what a folder of weights says of itself: `training.json`, its configuration, its name), "normalised
          name", "published name" (as in the published pipeline), "tuned from" or "family name" (see above), "file",
          "built in", "jury", "simulated", "unmatched"
        - `base`: the roster entry whose weights it was trained further from, by the roster, by `training.json` or by
          its name; null where nobody says
        - `alike`: entries that the name could be of as well, which is no match; null elsewhere
        - `cutoff`: until when its training data reach, YYYY-MM or YYYY-MM-DD, as the roster states it of the entry or
          else of the base, `cutoff_of`; null where it states neither
        - `family`: the roster's family of the model that it was trained further from in the end, or its own; null where
          the roster has none, and for judges that are built in

    Raises
    ------
    InputError
        The file names none of the judges.

    Notes
    -----
    Validated by tests/judges/roster/test_groups.py against a list of names that was written first.
    """
    names = sorted(set(judges))
    index = _Index(entries() if roster_entries is None else roster_entries)
    runs: dict[str, Manifest] = {}
    for manifest in manifests:
        # A judge with several runs is named judge@run in the verdicts, one with a single run by its name.
        runs[manifest.judge] = runs[f"{manifest.judge}@{manifest.run_id}"] = manifest
    rows = []
    for name in names:
        manifest = runs.get(name, Manifest("", name))
        match = _match(manifest, index)
        stated = None if override is None else override.groups.get(name, override.groups.get(manifest.judge))
        if stated is not None:
            match = match._replace(group=stated, how=FILE)
        model = match.entry or _without_engine(manifest.judge)
        alike = " or ".join(match.alike) or None
        dated = next((entry for entry in (match.entry, match.base) if entry in index.cutoffs), None)
        cutoff = index.cutoffs.get(dated or "")
        family = index.family(match.base or match.entry)
        rows.append((name, match.group, model, match.entry, match.how, match.base, alike, cutoff, dated, family))
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype("str")
    if override is not None and FILE not in set(frame["how"]):
        there = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise InputError(f"{override.path}: names no judge of these verdicts; name some of {there or 'none'}.")
    return frame


def group_notes(groups: pd.DataFrame) -> list[str]:
    """What to tell a user about `judge_groups`: every match by more than the exact name, and who is in no group.

    Returns
    -------
    list of str
        A line a group, and one for those in none; no line where every name says its group itself.
    """
    shown = groups[~groups["how"].isin(_SAYS_ITSELF)]
    lines = []
    for group, rows in shown[shown["how"] != UNMATCHED].groupby("group"):
        lines.append(f"Group {group}: {', '.join(map(_how_told, rows.to_dict('records')))}.")
    unread = [_how_told(row) for row in shown[shown["how"] == UNMATCHED].to_dict("records")]
    if unread:
        lines.append(f"In no group: {', '.join(unread)}; a file of groups can say (--groups).")
    return lines


def _how_told(row: Mapping[Hashable, Any]) -> str:
    """How one judge's group was told."""
    judge, how = str(row["judge"]), str(row["how"])
    if isinstance(row["alike"], str):
        return f"{judge} (could be {row['alike']})"
    if isinstance(row["entry"], str):
        return f"{judge} as {row['entry']}"
    if isinstance(row["base"], str):
        return f"{judge} as tuned from {row['base']}"
    return {UNMATCHED: judge, PATH: f"{judge} by its weights", ENDPOINT: judge}.get(how, f"{judge} by its {how}")


def chosen_judges(text: str, groups: pd.DataFrame) -> list[str]:
    """The judges that a text names, separated by commas: by their names, or all of a group as `group:medical`.

    Parameters
    ----------
    text : empty for all
    groups : `judge`, `group`, as `judge_groups` gives it

    Returns
    -------
    list of str
        In the order of `groups`.

    Raises
    ------
    InputError
        A judge has no verdicts, or a group no judge.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    judges = groups["judge"].tolist()
    chosen: set[str] = set() if names else set(judges)
    for name in names:
        group = name.removeprefix(_GROUP)
        if name in judges:
            chosen.add(name)
        elif group == name:
            raise InputError(
                f"judge {name!r}: no run holds its verdicts; use some of {', '.join(judges)}.{nearest(name, judges)}"
            )
        elif group not in set(groups["group"]):
            there = ", ".join(sorted(set(groups["group"])))
            raise InputError(f"group {group!r}: no judge with verdicts is in it; use some of {there}.")
        else:
            chosen |= set(groups.loc[groups["group"] == group, "judge"])
    return [judge for judge in judges if judge in chosen]


def normalised(name: str) -> str:
    """A name without what tells spellings apart, as the module says: of `OpenGVLab/InternVL2_5-8B` "internvl2.5.8b"."""
    return _key(_same_model(_last(name)))


class _Index:
    """The roster by every way in which its entries are spelled."""

    def __init__(self, judges: Sequence[Entry]) -> None:
        self.by_name = {entry.name: entry for entry in judges}
        self.cutoffs = {entry.name: entry.cutoff for entry in judges if entry.cutoff is not None}
        self.by_model: dict[str, Entry] = {}
        self.by_key: dict[str, dict[str, Entry]] = defaultdict(dict)
        self.families: dict[str, set[str]] = defaultdict(set)
        models = [entry for entry in judges if entry.access != "built in" and (entry.model or entry.path)]
        for entry in models:
            # Of models that lie in folders of one repository, the first stands for it.
            is_first = entry.model is not None and self.by_model.setdefault(entry.model, entry) is entry
            for spelled in (entry.name, entry.model or "") if is_first else (entry.name,):
                for key in _keys(spelled):
                    self.by_key[key][entry.name] = entry
            if entry.family:
                self.families[_key(entry.family.casefold())].add(_group_of(entry))

    def family(self, name: str | None) -> str | None:
        """The family of an entry, or of the one whose weights its own come from."""
        entry = self.by_name.get(name or "")
        if entry is None or entry.access == "built in":
            return None
        return self.family(entry.base) or entry.family

    def find(self, name: str) -> _Match:
        """What a model's name says, by whatever channel it came; a text that is too long for one says nothing."""
        if len(name) > _LONGEST_NAME:
            return _NOBODY
        entry = self.by_name.get(name) or self.by_model.get(name)
        if entry is not None and entry.access != "built in":
            return _Match(_group_of(entry), EXACT if entry.name == name else NORMALISED, entry.name, entry.base)
        return self._by_key(name) or self._published(name) or self._tuned(name) or self._of_family(name) or _NOBODY

    def _by_key(self, name: str) -> _Match | None:
        found = {n: entry for key in _keys(name) for n, entry in self.by_key.get(key, {}).items()}
        groups = {_group_of(entry) for entry in found.values()}
        if len(groups) > 1:
            return _NOBODY._replace(alike=tuple(sorted(found)))
        if not found:
            return None
        (group,) = groups
        entry = next(iter(found.values()))
        return _Match(group, NORMALISED, *((entry.name, entry.base) if len(found) == 1 else (None, None)))

    def _published(self, name: str) -> _Match | None:
        group, model = _published_names().get(normalised(name), ("", ""))
        if not group:
            return None
        entry = self.by_model.get(model)
        if entry is None:
            return _Match(group, PUBLISHED)
        return _Match(_group_of(entry), PUBLISHED, entry.name, entry.base)

    def _tuned(self, name: str) -> _Match | None:
        plain = _same_model(_last(name))
        for ending, to_judge in ((_TRAINED, False), (_TO_JUDGE, True)):
            if ending.search(plain):
                base = self.find(ending.sub("", plain))
                if base.group not in MODEL_GROUPS:
                    return None
                return _Match(CRITIC if to_judge else base.group, TUNED, None, base.entry or base.base)
        return None

    def _of_family(self, name: str) -> _Match | None:
        for key in _keys(name):
            for family in sorted(self.families, key=len, reverse=True):
                groups, rest = self.families[family], key.removeprefix(family)
                pattern = _VERSION if groups == {PROPRIETARY} else _SIZE
                # What goes on with a digit is another number: internvl25 is not of the series internvl2.
                another = family[-1].isdigit() and rest[:1].isdigit()
                plain = not rest or (not another and pattern.fullmatch(rest.removeprefix(".")))
                if key.startswith(family) and len(groups) == 1 and plain and key not in _OPEN_NAMESAKES:
                    return _Match(next(iter(groups)), FAMILY)
        return None


def _match(manifest: Manifest, index: _Index) -> _Match:
    """What the judge of a run is."""
    name = manifest.judge
    if is_jury(name):
        return _Match(JURY, JURY)
    if manifest.source == SIMULATED and manifest.kind == "simulated":
        return _Match(SIMULATED, OF_SIMULATION)
    entry = index.by_name.get(name)
    if entry is not None and entry.model is None and entry.path is None:
        return _Match(entry.family or OTHER, BUILT_IN, entry.name)
    plain = _without_engine(name)
    engine = plain != name
    model = manifest.spec.get("model")
    if str(manifest.spec.get("revision", "")).startswith(LOCAL) or name.startswith(FOLDER):
        return _of_folder(str(model or plain), manifest.provenance, index)
    if name.startswith(SERVED):
        found = index.find(name.removeprefix(SERVED))
        return found if found.group == OTHER else found._replace(how=ENDPOINT)
    found = index.find(plain)
    if found.group == OTHER and isinstance(model, str):  # a judge of the user's own roster file
        found = index.find(model)
    return found._replace(how=ENGINE) if engine and found.how == EXACT else found


def _without_engine(name: str) -> str:
    """A judge's name without `+ENGINE`."""
    plain, plus, ending = name.rpartition("+")
    return plain if plus and ending in public_engines() else name


def _of_folder(name: str, provenance: Mapping[str, object], index: _Index) -> _Match:
    """What a folder of weights is: by how it was trained, its head, its name, and what its configuration names."""
    training, origin = provenance.get("training"), provenance.get("base")
    if isinstance(training, Mapping):
        base = index.find(str(training.get("base") or ""))
        return _Match(CRITIC, PATH, None, base.entry or base.base)
    heads = provenance.get("architectures")
    if isinstance(heads, list) and any(re.search(r"SequenceClassification|Reward", str(head)) for head in heads):
        return _Match(CRITIC, PATH)
    found = index.find(name.removeprefix(FOLDER))
    if found.group in MODEL_GROUPS:
        return found._replace(how=PATH)
    if isinstance(origin, str) and (base := index.find(origin)).group in MODEL_GROUPS:
        return _Match(base.group, PATH)
    # Weights that lie in a folder are open; nothing says that they are medical or trained to judge.
    return _Match(OPEN, PATH) if heads else found


def _group_of(entry: Entry) -> str:
    return _OF_DOMAIN.get(entry.domain, entry.access or OTHER)


def _last(name: str) -> str:
    """A name without the owner before it, in small letters."""
    return name.rstrip("/").rpartition("/")[2].casefold()


def _same_model(name: str) -> str:
    """A name without endings that leave the model what it is."""
    while (shorter := _SAME.sub("", name)) != name:
        name = shorter
    return name


def _keys(name: str) -> set[str]:
    """The spellings under which a name is looked up: `llava-v1.6` is also `llava-1.6`."""
    plain = _same_model(_last(name))
    return {_key(plain), _key(_VERSION_MARK.sub("", plain))} - {""}


def _key(name: str) -> str:
    """Small letters and digits, in which a point stands for whatever separates two digits."""
    return _SEPARATORS.sub(lambda gap: "." if _between_digits(gap) else "", name)


def _between_digits(gap: re.Match[str]) -> bool:
    text, start, end = gap.string, gap.start(), gap.end()
    return text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()


@lru_cache(maxsize=1)
def _published_names() -> Mapping[str, tuple[str, str]]:
    """The group and the model of every name of the published pipeline that the roster's names do not say."""
    text = resources.files("mrb_lib.judges.roster").joinpath("published.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return {normalised(name): (group, model) for group in MODEL_GROUPS for name, model in table.get(group, {}).items()}
