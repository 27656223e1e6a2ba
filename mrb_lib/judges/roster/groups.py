"""The group of each judge (open, proprietary, medical, critic), by the names that the roster lists.

A model is found by its roster name, its `aliases`, and its id on the Hub or at its server, with the owner or without;
upper and lower case are alike. A name in `tuned_as` is another model that was tuned from the entry, and stays in its
group. A folder of weights is a critic by its `training.json` or its scalar head; else its name or the model that its
configuration names decides, and other weights are open. Every other name is in the group "other", until a file says.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd

from mrb_lib.judges.jury import is_jury
from mrb_lib.judges.roster.engines import split_engine
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.roster import FOLDER, SERVED, entries
from mrb_lib.judges.roster.source import LOCAL
from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.verdicts.manifest import Manifest

OPEN, PROPRIETARY, MEDICAL, CRITIC = "open", "proprietary", "medical", "critic"
MODEL_GROUPS: Final = (OPEN, PROPRIETARY, MEDICAL, CRITIC)
"""The groups of models; juries, heuristics and simulated judges are groups apart, and `OTHER` is nobody's."""
JURY, OTHER = "jury", "other"
EXACT, PATH, ALIAS, TUNED, FILE, UNMATCHED = "exact", "path", "other name", "tuned from", "file", "unmatched"
COLUMNS: Final = ("judge", "group", "model", "entry", "how", "base", "cutoff", "cutoff_of", "family")
LONGEST_GROUP: Final = 40

_GROUP: Final = "group:"
_OF_DOMAIN: Final[Mapping[str | None, str]] = {"medical": MEDICAL, "critic": CRITIC, "reward": CRITIC}
_SCALAR: Final = re.compile("SequenceClassification|Reward")


@dataclass(frozen=True)
class GroupFile:
    """Groups that a user states: the file, the group of each judge it names, and the base of judges that were tuned."""

    path: str
    groups: Mapping[str, str]
    bases: Mapping[str, str] = field(default_factory=dict)


def read_group_file(path: Path) -> GroupFile:
    """Return the groups in a CSV file with the columns `judge` and `group`.

    A column `base` names the judge that a judge was tuned from.

    Raises
    ------
    InputError
        The file cannot be read, lacks a column, names a judge twice, or a group is empty or long.
    """
    try:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(f"{path}: cannot be read as a file of groups ({reason}); name a CSV file.") from error
    if absent := [column for column in ("judge", "group") if column not in rows]:
        raise InputError(f"{path}: has no column {absent[0]!r}; the first line is judge,group.")
    rows = rows.apply(lambda column: column.str.strip())
    for judge, group in zip(rows["judge"], rows["group"], strict=True):
        if not 0 < len(group) <= LONGEST_GROUP or not group.isprintable():
            raise InputError(
                f"{path}, judge {judge!r}: its group must be text of at most {LONGEST_GROUP} characters; correct it."
            )
    for judge in rows.loc[rows["judge"].duplicated(), "judge"]:
        raise InputError(f"{path}: names {judge!r} twice; remove one of the two.")
    bases = rows.set_index("judge").get("base", pd.Series(dtype=str))
    return GroupFile(str(path), dict(rows[["judge", "group"]].to_numpy()), bases[bases != ""].to_dict())


class _Match(NamedTuple):
    """The model behind a name: `entry` and `base` are roster names."""

    group: str
    how: str
    entry: str | None = None
    base: str | None = None


_NOBODY: Final = _Match(OTHER, UNMATCHED)


def judge_groups(
    judges: Iterable[str],
    manifests: Iterable[Manifest] = (),
    *,
    roster_entries: Sequence[Entry] | None = None,
    override: GroupFile | None = None,
) -> pd.DataFrame:
    """Return the group that each judge belongs to, and how that was found.

    Parameters
    ----------
    judges : names as in the verdicts
    manifests : of their runs; a name without one is looked up as it is
    roster_entries : the roster; None for the library's own
    override : groups that go before all else, any short text, by the judge's name or that without `@run`

    Returns
    -------
    DataFrame
        One row per judge, by name:

        - `group`: "open", "proprietary", "medical" (whatever its access) or "critic" (reward models among them); else
          "jury", "SIMULATED", the family of a judge that is built in ("heuristic"), "other" where nothing says, or
          what the file says
        - `model`: what is behind the name, whatever the engine and the run: the entry, or else the name itself
        - `entry`: the roster entry that it is an instance of; null where there is none
        - `how`: "exact" (the entry's own name, with an engine too), "path" (what a folder of weights says of itself),
          "other name" (an id, at a server too, or one of `aliases`), "tuned from", "file", or "unmatched"
        - `base`: the roster entry whose weights it was trained further from; null where nobody says
        - `cutoff`: the end of its training data, YYYY-MM or YYYY-MM-DD, as the roster states it of the entry or else
          of the base, `cutoff_of`; null where it states neither
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
        own, base = (index.by_name.get(one or "") for one in (match.entry, match.base))
        dated = next((entry for entry in (own, base) if entry is not None and entry.cutoff is not None), None)
        cutoff = (None, None) if dated is None else (dated.cutoff, dated.name)
        model = match.entry or split_engine(manifest.judge)[0]
        rows.append((name, match.group, model, match.entry, match.how, match.base, *cutoff, index.family(base or own)))
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype("str")
    if override is not None and FILE not in set(frame["how"]):
        there = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise InputError(f"{override.path}: names no judge of these verdicts; name some of {there or 'none'}.")
    return frame


def group_notes(groups: pd.DataFrame) -> list[str]:
    """Return what to tell a user about `judge_groups`: every match by more than the exact name, and who is in no group.

    Returns
    -------
    list of str
        A line per group, and one for judges in none; no line where every name says its group itself.
    """
    origin = groups["entry"].fillna("tuned from " + groups["base"]).fillna("its weights say")
    named = groups.assign(said=groups["judge"] + " as " + origin)[groups["how"].isin((ALIAS, TUNED, PATH))]
    lines = [f"Group {group}: {', '.join(said)}." for group, said in named.groupby("group")["said"]]
    if unread := groups.loc[groups["how"] == UNMATCHED, "judge"].tolist():
        lines.append(f"In no group: {', '.join(unread)}; a file of groups can say (--groups).")
    return lines


def chosen_judges(text: str, groups: pd.DataFrame) -> list[str]:
    """Return the judges that a text names, separated by commas: by their names, or all of a group as `group:medical`.

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
    judges, of_groups = groups["judge"], _GROUP + groups["group"]
    for name in names:
        if name not in {*judges, *of_groups}:
            there = of_groups if name.startswith(_GROUP) else judges
            raise InputError(
                f"judge {name!r}: no run holds such verdicts; use some of {', '.join(sorted(set(there)))}."
                f"{nearest(name, there)}"
            )
    is_chosen = judges.isin(names) | of_groups.isin(names)
    return (judges[is_chosen] if names else judges).tolist()


class _Index:
    """The roster by every name that it lists."""

    def __init__(self, judges: Sequence[Entry]) -> None:
        self.by_name = {entry.name: entry for entry in judges}
        models = [entry for entry in judges if entry.model is not None or entry.path is not None]
        # An alias goes before the end of an id: the published pipeline calls another model InternVL2_5-8B. Of models
        # that lie in folders of one repository, the first stands for it.
        ends = [((entry.model or "").rpartition("/")[2], entry) for entry in models]
        ids = [(entry.model or "", entry) for entry in models]
        listed = [(name, entry) for entry in models for name in (entry.name, *entry.aliases)]
        self._same = {name.casefold(): entry for name, entry in reversed([*listed, *ids, *ends]) if name}
        self._tuned = {name.casefold(): entry for entry in models for name in entry.tuned_as}

    def family(self, entry: Entry | None) -> str | None:
        """Return the family of an entry, or of the one whose weights its own come from in the end."""
        if entry is None or entry.access == "built in":
            return None
        return self.family(self.by_name.get(entry.base or "")) or entry.family

    def find(self, name: str) -> _Match:
        """Return the model that a name is listed for, by whatever channel it came."""
        if (entry := self._same.get(name.casefold())) is not None:
            return _Match(_group_of(entry), EXACT if entry.name == name else ALIAS, entry.name, entry.base)
        if (entry := self._tuned.get(name.casefold())) is not None:
            return _Match(_group_of(entry), TUNED, None, entry.name)
        return _NOBODY


def _match(manifest: Manifest, index: _Index) -> _Match:
    """Return what the judge of a run is."""
    name = manifest.judge
    if is_jury(name):
        return _Match(JURY, EXACT)
    if manifest.source == SIMULATED and manifest.kind == "simulated":
        return _Match(SIMULATED, EXACT)
    entry = index.by_name.get(name)
    if entry is not None and entry.model is None and entry.path is None:
        return _Match(entry.family or OTHER, EXACT, entry.name)
    plain, _ = split_engine(name)
    model = manifest.spec.get("model")
    if str(manifest.spec.get("revision", "")).startswith(LOCAL) or name.startswith(FOLDER):
        return _of_folder(str(model or plain), manifest.provenance, index)
    found = index.find(plain.removeprefix(SERVED))
    if found.group == OTHER and isinstance(model, str):  # a judge of the user's own roster file
        found = index.find(model)
    return found


def _of_folder(name: str, provenance: Mapping[str, object], index: _Index) -> _Match:
    """Return what a folder of weights is: by its training, its head, its name, and what its configuration names."""
    training, heads = provenance.get("training"), provenance.get("architectures")
    if isinstance(training, Mapping):
        base = index.find(str(training.get("base") or ""))
        return _Match(CRITIC, PATH, None, base.entry or base.base)
    if isinstance(heads, list) and any(_SCALAR.search(str(head)) for head in heads):
        return _Match(CRITIC, PATH)
    found = index.find(name.removeprefix(FOLDER))
    if found.group in MODEL_GROUPS:
        return found._replace(how=PATH)
    origin = index.find(str(provenance.get("base") or ""))
    if origin.group in MODEL_GROUPS:
        return _Match(origin.group, PATH)
    # Weights that lie in a folder are open; nothing says that they are medical or trained to judge.
    return _Match(OPEN, PATH) if heads else found


def _group_of(entry: Entry) -> str:
    return _OF_DOMAIN.get(entry.domain, entry.access or OTHER)
