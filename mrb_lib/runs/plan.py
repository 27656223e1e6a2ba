"""The plan of a run: every verdict that it is to hold, by number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd

from mrb_lib.probes import ProbeId, Probing, parse_probes
from mrb_lib.probes.apply import applicable, sample
from mrb_lib.probes.from_file import FileProbe, file_probes
from mrb_lib.runs.beside import Beside
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ANSWERED_STATUSES, NO_PROBE, ORDERS, STATUSES
from mrb_lib.tables.validation import Rules
from mrb_lib.verdicts.orders import EXAMPLES

RETRIABLE = tuple(status for status in STATUSES if status not in ANSWERED_STATUSES)


@dataclass(frozen=True)
class ProbeOptions:
    """The probes to apply.

    Attributes
    ----------
    names : as `mrb_lib.probes.parse_probes` reads them
    cases : on how many cases, drawn alike from all organs; None for all
    files : further probes, as `mrb_lib.probes.from_file.probe_from_file` reads them

    Without names and files the plain cases alone are judged.
    """

    names: tuple[str, ...] = ()
    cases: int | None = None
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.cases is not None and not (self.names or self.files):
            raise InputError("probe cases: name the probes too (--probe NAMES, --probe-file FILE).")
        parse_probes(",".join(self.names))
        file_probes(self.files)


@dataclass(frozen=True)
class Plan:
    """Every combination of case, probe, order, repeat and dimension, in that nesting.

    A verdict's number is its place in that sequence, so the verdicts already made
    are a set of integers however many there are.

    Attributes
    ----------
    probes : as in the verdicts, `none` among them
    probing : applies them; None where there is only `none`
    applies : bool of shape (cases, probes), where a probe applies to a case; None for all
    items : int of shape (cases,), the item of each case where all cases of an item must share a batch; see
        `mrb_lib.runs.items`
    notices : to how many cases each probe does not apply, and why; how many cases of a file there are not
    rules : what the benchmark allows in verdicts
    """

    cases: pd.DataFrame
    dimensions: tuple[str, ...]
    orders: tuple[str, ...] = ORDERS
    repeats: int = 1
    probes: tuple[str, ...] = (NO_PROBE,)
    probing: Probing | None = None
    applies: np.ndarray | None = field(default=None, compare=False)
    notices: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)
    items: np.ndarray | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_orders(self.orders)
        if self.repeats < 1:
            raise InputError(f"repeats {self.repeats}: at least 1 is needed.")
        if self.rules.get("task") == "rating" and self.orders != ("AB",):
            raise InputError(f"orders {','.join(self.orders)}: one response is rated, so the only order is AB.")

    @property
    def _shape(self) -> tuple[int, ...]:
        return len(self.cases), len(self.probes), len(self.orders), self.repeats, len(self.dimensions)

    @property
    def per_case(self) -> int:
        """Verdicts per case, were all probes to apply to it."""
        return prod(self._shape[1:])

    @property
    def _per_probe(self) -> int:
        return prod(self._shape[2:])

    @property
    def all_numbers(self) -> np.ndarray:
        """The numbers of all verdicts that are wanted: of every case, those of the probes that apply to it."""
        if self.applies is None:
            return np.arange(len(self))
        return np.flatnonzero(np.repeat(self.applies.ravel(), self._per_probe))

    def __len__(self) -> int:
        return len(self.cases) * self.per_case

    def numbers(self, made: pd.DataFrame) -> np.ndarray:
        """Return the number of each row of a verdicts table; -1 where the plan does not ask for it."""
        places = {name: index.get_indexer(pd.Index(made[name])) for name, index in self._indexes.items()}
        case, probe, order, dimension = places.values()
        repeat = made["repeat"].to_numpy()
        planned = (np.minimum.reduce([case, probe, order, dimension]) >= 0) & (repeat < self.repeats)
        return np.where(planned, np.ravel_multi_index((case, probe, order, repeat, dimension), self._shape, "clip"), -1)

    @cached_property
    def _indexes(self) -> dict[str, pd.Index]:
        # The verdicts of a run come in as many parts as it had batches, and making an index costs more than using it.
        values = (list(self.cases["case_id"]), self.probes, self.orders, self.dimensions)
        names = ("case_id", "probe", "order", "dimension")
        return {name: pd.Index(list(every), dtype="str") for name, every in zip(names, values, strict=True)}

    def longest_first(self, numbers: np.ndarray) -> np.ndarray:
        """Return the same numbers, case by case, those of the cases with the longest texts first."""
        case = numbers // self.per_case
        shown = ("question", "response_a", "response_b", "reference", EXAMPLES)
        texts = [name for name in shown if name in self.cases.columns]
        length = np.sum([self.cases[name].str.len().fillna(0).to_numpy() for name in texts], axis=0)
        return numbers[np.lexsort((numbers, -length[case]))]

    def keys(self, numbers: np.ndarray) -> pd.DataFrame:
        """Return the keys of these verdicts: `case_id, order, repeat, dimension, probe`."""
        case, probe, order, repeat, dimension = np.unravel_index(numbers, self._shape)
        places = {"case_id": case, "order": order, "dimension": dimension, "probe": probe}
        texts = {name: pd.Series(self._indexes[name].take(at), dtype="str") for name, at in places.items()}
        return pd.DataFrame({**texts, "repeat": repeat})[["case_id", "order", "repeat", "dimension", "probe"]]

    def rows(self, numbers: np.ndarray) -> pd.DataFrame:
        """Return the cases to judge for these verdicts: every case column, and `order, repeat, dimension, probe`.

        A case is as its probe changes it; further columns then say how the prompt is put, see `Probing.rows`.
        """
        out = self.cases.iloc[numbers // self.per_case].reset_index(drop=True)
        keys = self.keys(numbers)
        out = out.assign(**{name: keys[name] for name in keys.columns})
        return out if self.probing is None else self.probing.rows(out)

    def units(self, numbers: np.ndarray) -> np.ndarray:
        """Return the case of each verdict, or its item where the cases of an item must share a batch."""
        case: np.ndarray = numbers // self.per_case
        return case if self.items is None else self.items[case]

    def batches(self, numbers: np.ndarray, cases: int) -> Iterator[np.ndarray]:
        """Split verdict numbers so that each batch holds whole cases, at most `cases` of them.

        Under a probe a case counts as another. All of a case stay in a batch, where work can be shared between them, if
        they are no more than twice as many. Where the plan knows items, a batch holds at most so many whole items.

        Parameters
        ----------
        numbers : those of one case together, as in `pending` and `longest_first`
        """
        if self.items is not None:
            met = pd.factorize(self.units(numbers))[0]
            together = np.argsort(met, kind="stable")
            cuts_of_items = np.flatnonzero(np.diff(met[together] // cases)) + 1
            yield from (batch for batch in np.split(numbers[together], cuts_of_items) if len(batch))
            return
        starts = np.flatnonzero(np.diff(numbers // self._per_probe, prepend=-1))
        case = numbers[starts] // self.per_case
        cuts, held = list[int](), 0
        for first, end in pairwise([*np.flatnonzero(np.diff(case, prepend=-1)).tolist(), len(starts)]):
            if held + end - first > cases:
                cuts += range(first, end, 2 * cases)
                held = (end - first) % (2 * cases) or 2 * cases
            else:
                held += end - first
        yield from (batch for batch in np.split(numbers, starts[cuts]) if len(batch))


def make_plan(
    cases: pd.DataFrame,
    dimensions: Sequence[str],
    *,
    orders: Sequence[str] = ORDERS,
    repeats: int = 1,
    limit: int | None = None,
    probes: ProbeOptions | None = None,
    seed: int = 0,
    rules: Rules | None = None,
    beside: Beside | None = None,
) -> Plan:
    """Return the plan of a run over a benchmark's cases; with probes, of the plain cases and of each as it is probed.

    Parameters
    ----------
    cases : of the whole benchmark; a probe may borrow a picture from any
    limit : the first so many; None for all
    seed : of what the probes draw
    rules : see `Plan`; of a rating, of the orders asked for only AB is made
    beside : what is shown beside the cases, and which of them are judged; None shows nothing, and judges all
    """
    beside = beside or Beside()
    kept = beside.judged(cases)
    kept = kept.head(limit) if limit else kept
    rules = rules or Rules()
    if rules.get("task") == "rating":
        orders = [order for order in orders if order == "AB"] or orders
    plan = Plan(kept, tuple(dimensions), tuple(orders), repeats, notices=beside.notices, rules=rules)
    if probes is None or not (probes.names or probes.files):
        return plan
    files = file_probes(probes.files)
    ids = {str(probe): probe for probe in parse_probes(",".join(probes.names))}
    ids |= {name: ProbeId(name) for name in files}
    strangers = [_not_there(name, one, cases["case_id"]) for name, one in files.items()]
    probing, kept = Probing(cases, seed, files), sample(kept, probes.cases, seed)
    reasons = {name: applicable(probing, list(kept["case_id"]), probe) for name, probe in ids.items()}
    applies = np.column_stack([np.ones(len(kept), dtype=bool), *(why.isna().to_numpy() for why in reasons.values())])
    not_applied = [_not_applied(name, why) for name, why in reasons.items() if why.notna().any()]
    notices = (*beside.notices, *not_applied, *filter(None, strangers))
    return replace(plan, cases=kept, probes=(NO_PROBE, *reasons), probing=probing, applies=applies, notices=notices)


def _not_applied(name: str, reasons: pd.Series) -> str:
    why = reasons.dropna()
    others = why.nunique() - 1
    more = f", and {others} more {'reason' if others == 1 else 'reasons'}" if others else ""
    return f"probe {name}: does not apply to {len(why)} of {len(reasons)} cases ({why.mode()[0]}{more})"


def _not_there(name: str, one: FileProbe, case_ids: pd.Series) -> str:
    """Say how many cases of a file the benchmark lacks; empty for none, `InputError` for all."""
    known = set(case_ids)
    lacking = [case_id for case_id in one.case_ids if case_id not in known]
    if not lacking:
        return ""
    told = f"probe {name}: {len(lacking)} of {len(one.case_ids)} cases of its file are not in the benchmark "
    told += f"({lacking[0][:80]!r})"
    if len(lacking) == len(one.case_ids):
        raise InputError(f"{told}; correct its column case_id.")
    return told


def check_orders(orders: Sequence[str]) -> None:
    """Raise `InputError` unless verdicts can be made in these orders."""
    if not orders or not set(orders) <= set(ORDERS) or len(set(orders)) != len(orders):
        raise InputError(f"orders {','.join(orders)!r}: use AB, BA or both, each once.")


def check_retry(statuses: Sequence[str]) -> None:
    """Raise `InputError` unless every status is one that a failed verdict has."""
    for status in statuses:
        if status not in RETRIABLE:
            raise InputError(f"retry {status!r}: is no status of a failed verdict; use {', '.join(RETRIABLE)}.")
