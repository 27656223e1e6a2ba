"""What only a benchmark paper prints: its neighbours, every judge side by side, findings by group, cases, prompts."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
from scipy.special import stdtr

from mrb_lib.figures.lettering import title_case
from mrb_lib.figures.registry import FIGURES
from mrb_lib.figures.style import Paper
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.roster.groups import JURY
from mrb_lib.judges.sent import sent, shown_case
from mrb_lib.report.places import simulated_note
from mrb_lib.report.publish import PublishedTable
from mrb_lib.report.table import DERIVED, Text, draw
from mrb_lib.report.tabular import spread, table_text
from mrb_lib.review.failures.lists import FAILURE, SUCCESS, case_studies
from mrb_lib.stats import intervals
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.estimation import FloatArray, Quantity, Sampling, divide, estimate, mean, ratio
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.phrases import on, opening, percent, points
from mrb_lib.stats.subfields import Group, groups
from mrb_lib.stats.tables.accuracy import AVERAGE
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import NO_PROBE, ORDERS

if TYPE_CHECKING:
    from mrb_lib.report.study import Study

EVERY: Final = "all judges"
_PROMPT: Final = "official-form"
_KINDS: Final = {"successes": SUCCESS, "failures": FAILURE}
_FACTS: Final = ("name", "size", "modality", "medical", "form", "annotators", "source")


def paper(study: Study, dimension: str | None = None) -> PaperPages:
    """Return what only a paper prints; `notebooks/paper` shows it.

    Parameters
    ----------
    dimension : the one of findings and cases; None is the main one
    """
    return PaperPages(study, dimension or study.dimension)


@dataclass(frozen=True)
class Findings:
    """Where judges are strong and weak, and which groups of judges are better than a coin.

    Attributes
    ----------
    groups : `group` ("all judges" first), `n_judges`, `subfield` (null over all cases), `n`, `accuracy`, `low`, `high`
    contrasts : `subfield`, `difference` from all other subfields over all judges, `low`, `high`, `p_adjusted` (Holm)
    coin : what flipping a coin between A and B scores; NaN where nobody knows
    """

    groups: pd.DataFrame
    contrasts: pd.DataFrame
    by: str
    pages: PaperPages
    coin: float

    @property
    def sentence(self) -> Text:
        """The strongest and the weakest subfield, and each group beside a coin."""
        where, compared = opening(self.pages.dimension), len(self.contrasts)
        known = self.contrasts[self.contrasts["p_adjusted"] <= ALPHA].sort_values("difference")
        accuracy = self.groups[self.groups["group"] == EVERY].set_index("subfield")
        told = []
        for how, row in (("weakest", known.head(1)), ("strongest", known.tail(1))):
            for _, one in row[row["difference"].gt(0) == (how == "strongest")].iterrows():
                level = percent(accuracy.loc[one["subfield"]], "accuracy", "low", "high")
                told.append(f"{how} on {one['subfield'].replace('_', ' ')} ({level}, {points(one, 'difference')})")
        said = f"{where}, no {self.by} differs significantly from the other cases ({compared} compared)."
        if told:
            said = f"{where}, judges are {' and '.join(told)}, against the other cases; p adjusted for {compared}."
        whole = self.groups[self.groups["subfield"].isna()]
        whole = whole[whole["group"] != EVERY] if len(whole) > 1 else whole
        means = [
            f"{row['group']} ({row['n_judges']}) {percent(row, 'accuracy', 'low', 'high')}"
            for _, row in whole.iterrows()
        ]
        said += f" Mean accuracy by group: {', '.join(means)}."
        if not np.isnan(self.coin):
            near = whole.loc[~(whole["low"] > self.coin), "group"].tolist()
            said += f" A coin scores {self.coin:.0%}; " + (
                f"no better than a coin: {', '.join(near)}." if near else "every group is significantly better."
            )
        if self.by == "department" and self.pages.study.derives_departments:
            said += f" {DERIVED}"
        return Text(said)

    def show(self) -> PublishedTable:
        """Show how each subfield differs from the others."""
        whole = self.groups[self.groups["group"] == EVERY].drop(columns=["group", "n_judges", "low", "high"])
        frame = whole.merge(self.contrasts, on="subfield").sort_values("difference", ascending=False)
        named = frame.assign(subfield=frame["subfield"].map(title_case))
        text = table_text(named, in_percent=("accuracy", "difference"))
        return self.pages.study.publisher.table(
            frame, text, f"findings-{self.by}", title=f"Strong and weak: {self.by}", n=frame["n"],
            caption=f"Mean accuracy (%) of all judges {on(self.pages.dimension)}, its difference from the other cases "
            "(percentage points, 95% interval), and Holm-adjusted p.", policy=self.pages.study.options.policy,
        )  # fmt: skip

    def plot(self) -> Paper:
        """Draw the accuracy of each group in each subfield."""
        study, spec = self.pages.study, FIGURES["group-subfields"]
        chance = None if np.isnan(self.coin) else self.coin
        return draw(
            spec, self.groups, study.publisher, id=f"{spec.id}-{self.by}", options={}, policy=study.options.policy,
            context={"by": self.by, "dimension": self.pages.dimension, "chance": chance},
        )  # fmt: skip


@dataclass(frozen=True)
class PaperPages:
    """The pages of a paper about a study; `paper` makes them.

    Attributes
    ----------
    dimension : the one of findings and cases
    """

    study: Study
    dimension: str

    def neighbours(self) -> PublishedTable:
        """Show other benchmarks of judges, with what their publications say of them."""
        text = resources.files("mrb_lib.report").joinpath("neighbours.toml").read_text(encoding="utf-8")
        table = pd.DataFrame(tomllib.loads(text)["benchmark"], columns=list(_FACTS))
        table = table.assign(medical=table["medical"].map({True: "yes", False: "no"})).astype("str")
        caption = "Benchmarks of judges and reward models, by their publications. A dash: the publication does not say."
        return replace(self.study.publisher, kind="general", note="").table(
            table, table_text(table), "neighbours", title="Neighbouring benchmarks", caption=caption
        )

    def made(self, work: str, part: str = "funnel") -> Paper:
        """Draw how the benchmark was made, from the work folder of `mrb construct`; see `construction.PARTS`."""
        if not work:
            raise NotApplicable("no work folder is named; `-p work=WORK` names the one the benchmark was made in.")
        from mrb_lib.report.construction import PARTS, open_work  # few reports name one

        folder, publisher = open_work(Path(work)), self.study.publisher
        if folder.meta.kind == "simulated":
            publisher = replace(publisher, kind="simulated", note=simulated_note(folder.meta.name))
        frame, options = PARTS[part](folder, self.study.benchmark)
        spec = FIGURES[f"construction-{part}"]
        return draw(spec, frame, publisher, id=spec.id, context=options, options={})

    def judges(self) -> PublishedTable:
        """Show the accuracy of every judge on every dimension and on average over them, by group.

        Below the judges stand juries, naive baselines (equal ones once), a coin, and the number of cases.
        """
        study = self.study
        whole = study.table("accuracy", by=None).frame
        group = whole["judge"].map(study.group_of).where(whole["kind"] == "judge", "baseline")
        order = [name for each in dict.fromkeys(study.group_of.values()) for name in study.order
                 if study.group_of[name] == each]  # fmt: skip
        place = {name: i for i, name in enumerate([*order, *whole.loc[whole["kind"] != "judge", "judge"].unique()])}
        rows = whole.assign(group=group).sort_values("judge", key=lambda names: names.map(place), kind="stable")
        wide = spread(rows, ["judge", "group"], columns="dimension", value="accuracy")
        dimensions = rows["dimension"].drop_duplicates().sort_values(key=lambda names: names == AVERAGE, kind="stable")
        is_again = wide[list(dimensions)].round(12).duplicated() & (wide["group"] == "baseline")
        coin = {name: self._coin(name) for name in dimensions if name != AVERAGE}
        coin[AVERAGE] = float(np.mean(list(coin.values())))
        flip = pd.DataFrame([{"judge": "coin", "group": "baseline", **{name: coin[name] for name in dimensions}}])
        wide = pd.concat([wide[~is_again], flip.dropna()], ignore_index=True)
        apart = wide.loc[wide["group"].isin(["baseline", JURY]), "judge"]
        text = table_text(
            wide, best=dict.fromkeys(dimensions, "max"), underline=True, parts="group", reference_rows=set(apart),
            in_percent=list(dimensions),
        )  # fmt: skip
        counts = rows.groupby("dimension")["n"].max()
        last = ("n cases", "", *(f"{int(counts[name]):,}" for name in dimensions))
        text = replace(
            text, rows=(*text.rows, last), values=(*text.values, ("",) * len(last)),
            references=text.references | {len(text.rows)},
        )  # fmt: skip
        return study.publisher.table(
            rows.dropna(axis="columns", how="all"), text, "judges-dimensions", title="Every judge on every dimension",
            caption="Accuracy (%) with 95% intervals, and its unweighted mean over the dimensions; bold: best judge, "
            "underlined: second. Below the line, not ranked: juries, naive baselines, and a coin that chooses A or B.",
            n=rows["n"].dropna().astype(int), **{name: getattr(study.options, name) for name in ("policy", "gold")},
        )  # fmt: skip

    def gains(self) -> PublishedTable:
        """Show what tuning gained each judge over its base, on each dimension and on average over them."""
        study = self.study
        rows = study.table("gains").query("part == 'accuracy' and subfield.isna()").frame
        made = [rows[["base", "tuned", "dimension", "gain", "low", "high"]]]
        for base, own in rows.groupby("base", sort=False):
            pairs = study.table("significance", versus=base).query(f"dimension == {AVERAGE!r} and part == 'pair'").frame
            for sign, tuned, ends in ((1, "judge_1", ["low", "high"]), (-1, "judge_2", ["high", "low"])):
                named = dict(zip([tuned, "difference", *ends], ["tuned", "gain", "low", "high"], strict=True))
                found = pairs[pairs[tuned].isin(own["tuned"]) & pairs["subfield"].isna()].rename(columns=named)
                found[["gain", "low", "high"]] *= sign
                made.append(found.assign(base=base)[made[0].columns])
        wide = spread(pd.concat(made), ["base", "tuned"], columns="dimension", value="gain")
        text = table_text(wide, in_percent=list(pd.concat(made)["dimension"].unique()))
        return study.publisher.table(
            wide, text, "paper-gains", title="Tuned judges and their bases", n=rows["n"], policy=study.options.policy,
            caption="Accuracy of the tuned judge minus that of its base on the same cases, in percentage points with "
            "95% intervals, not corrected; cases that either was trained on are left out where it is known.",
        )  # fmt: skip

    def _coin(self, dimension: str) -> float:
        """What flipping a coin between A and B scores, expected; NaN of ratings and of the policies of both orders."""
        gold = self.study.labels
        choices = gold.loc[gold["dimension"] == dimension, "choice"].dropna()
        if not self.study.benchmark.meta.is_preference or self.study.options.policy in ("strict", "net"):
            return np.nan
        return 0.5 * float(choices.ne("tie").mean()) if self.study.options.policy == "official" else 0.5

    def findings(self, by: str) -> Findings:
        """Say in which subfields judges are strong and weak, and which groups of judges are better than a coin.

        Raises
        ------
        NotApplicable
            The cases do not state `by`, or no verdict can be scored.
        """
        shared = self.study.options
        scores, cases = self.study.scores(self.dimension), self.study.benchmark.cases
        parts = groups(cases, by)
        of_groups = scores.assign(group=scores["judge"].map(self.study.group_of))
        names = [
            EVERY,
            *(name for name in dict.fromkeys(self.study.group_of.values()) if name in set(of_groups["group"])),
        ]
        both = pd.concat([scores.assign(group=EVERY), of_groups]) if len(names) > 2 else scores.assign(group=EVERY)
        mean_scores = both.pivot_table("score", "case_id", "group").reindex(cases["case_id"])
        mean_scores = mean_scores[[name for name in names if name in mean_scores]]
        sampling = Sampling.of(self.study.benchmark.cases_by_image, shared.cluster, shared.resamples, shared.seed)
        made = []
        for part in parts:
            e = estimate(mean(mean_scores.to_numpy()[part.cases]), sampling.take(part.cases))
            ends = intervals.share(e)
            found = {"accuracy": e.value, "low": ends.low, "high": ends.high, "n": e.n.astype(int)}
            made.append(pd.DataFrame({"group": mean_scores.columns, "subfield": part.subfield, **found}))
        rows = pd.concat(made).sort_values(
            "group", key=lambda each: each.map(names.index), kind="stable", ignore_index=True
        )
        members = {**of_groups.groupby("group")["judge"].nunique(), EVERY: scores["judge"].nunique()}
        rows = rows.astype({"subfield": "str"})
        rows.insert(1, "n_judges", rows["group"].map(members))
        contrasts = _contrasts(mean_scores[EVERY].to_numpy(), parts[1:], sampling)
        return Findings(rows, contrasts, by, self, self._coin(self.dimension))

    def cases(self, kind: str, by: str = "organ") -> Paper:
        """Draw "successes" or "failures", chosen by a rule.

        Of the cases on which annotators agree, in each subfield that with the highest or lowest mean score; of these
        the four most extreme.
        """
        study = self.study
        study.table("accuracy", by=by)
        if not study.benchmark.meta.is_preference:
            raise NotApplicable("the cases have one response each, and none to compare it with.")
        plain = study.verdicts[study.verdicts["probe"] == NO_PROBE]
        chosen = case_studies(
            plain, study.labels, study.benchmark.cases, dimension=self.dimension, by=by, policy=study.options.policy
        )
        chosen = chosen[chosen["kind"].eq(_KINDS[kind])].drop(columns=by)
        if chosen.empty:
            raise NotApplicable("there is no case on which all annotators choose the same response.")
        people = study.labels.loc[study.labels["dimension"] == self.dimension, ["case_id", "n_annotators"]]
        rows = chosen.merge(people, on="case_id").merge(study.benchmark.cases, on="case_id")
        rows = rows.assign(votes_gold=rows["n_annotators"])
        return study.figure(f"case-{kind}", rows, images=study.benchmark.images, dimension=self.dimension)

    def prompts(self) -> Text:
        """Return what judges were asked about the first case in order AB, each prompt once with its judges.

        Where no run contains a prompt, the form of the published benchmark follows, named as such.
        """
        case = self.study.benchmark.cases.sort_values("case_id").iloc[0]
        shown = {order: shown_case(case, order) for order in ORDERS}
        asked: dict[tuple[str, str], list[str]] = {}
        for manifest in self.study.manifests:
            said = sent(manifest, shown, "AB", self.dimension)
            asked.setdefault((said.text, said.note), []).append(manifest.judge)
        parts = [
            f"{', '.join(dict.fromkeys(judges))}: {note}.\n\n{text}".rstrip()
            for (text, note), judges in sorted(asked.items(), key=lambda item: not item[0][0])
        ]
        if self.study.benchmark.meta.is_preference and not any(text for text, _ in asked):
            meta, first = self.study.benchmark.meta, shown["AB"]
            form = load_prompt(_PROMPT).render(
                str(case["question"]), [str(first["first"]), str(first["second"])], meta.dimensions,
                n_images=len(first["images"]), choices=meta.choices or ("A", "B"),
            )  # fmt: skip
            parts.append(f"What --prompt {_PROMPT} would ask:\n\n{form.text}")
        text = "\n\n".join([f"Case {case['case_id']}, order AB, dimension {self.dimension}.", *parts])
        return Text(text)

    def conclusion(self, *tables: str, by: str = "organ") -> Text:
        """Return the findings and the sentences of some tables, without what does not apply."""
        try:
            found = self.findings(by).sentence
        except NotApplicable:
            found = Text("")
        return self.study.conclude(*tables, text=found, dimension=self.dimension)


def _contrasts(score: FloatArray, parts: Sequence[Group], sampling: Sampling) -> pd.DataFrame:
    """How much higher the mean score is in each part than in the other cases, p-values of t, Holm-adjusted."""
    inside = np.zeros((len(score), len(parts)), dtype=bool)
    for i, part in enumerate(parts):
        inside[part.cases, i] = True
    known = np.isfinite(score)[:, None] & inside.any(axis=1, keepdims=True)
    value = np.nan_to_num(score)[:, None]
    adds = [value * (inside & known), inside & known, value * (~inside & known), ~inside & known]
    quantity = Quantity(np.stack(adds, axis=2).astype(float), lambda sums: ratio(sums[..., :2]) - ratio(sums[..., 2:]))
    e = estimate(quantity, sampling)
    ends = intervals.difference(e)
    p_values = 2 * stdtr(e.df, -np.abs(divide(e.value, e.error)))
    found = {"difference": e.value, "low": ends.low, "high": ends.high, "p_adjusted": adjust(p_values, "holm")}
    return pd.DataFrame({"subfield": [part.subfield for part in parts], **found})
