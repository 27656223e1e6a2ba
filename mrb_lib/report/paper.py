"""What only a benchmark paper prints: its neighbours, every judge side by side, findings by group, cases, prompts."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from mrb_lib.figures.registry import FIGURES
from mrb_lib.figures.style import Paper
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.roster.groups import JURY
from mrb_lib.report.publish import PublishedTable
from mrb_lib.report.table import DERIVED, Text, draw
from mrb_lib.report.tabular import spread, table_text
from mrb_lib.stats.phrases import opening, percent
from mrb_lib.stats.tables.accuracy import AVERAGE
from mrb_lib.tables.errors import NotApplicable

if TYPE_CHECKING:
    from mrb_lib.report.study import Study

_PROMPT: Final = "official-form"
_MOST_CASES, _MOST_NAMES = 4, 5


def paper(study: Study, dimension: str | None = None) -> PaperPages:
    """Return what only a paper prints; `notebooks/paper` shows it.

    Parameters
    ----------
    dimension : the one of findings and cases; None is the main one
    """
    return PaperPages(study, dimension or study.dimension)


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
        table = pd.DataFrame(tomllib.loads(text)["benchmark"])
        table = table.assign(medical=table["medical"].map({True: "yes", False: "no"})).astype("str")
        caption = "Benchmarks of judges and reward models, by their publications. A dash: the publication does not say."
        return replace(self.study.publisher, kind="general", note="").table(
            table, table_text(table), "neighbours", title="Neighbouring benchmarks", caption=caption
        )

    def made(self, work: str, part: str = "funnel") -> Paper:
        """Draw how the benchmark was made, from the work folder of `mrb construct`; see `construction.PARTS`."""
        if not work:
            raise NotApplicable("no work folder is named; `-p work=WORK` names the one the benchmark was made in.")
        from mrb_lib.build.construct.work import open_work  # few reports name one
        from mrb_lib.report.construction import PARTS

        folder = open_work(Path(work))
        publisher = self.study.publisher.also_of(folder.meta.name, folder.meta.kind)
        frame, options = PARTS[part](folder, self.study.benchmark)
        spec = FIGURES[f"construction-{part}"]
        return draw(spec, frame, publisher, id=spec.id, context=options, options={})

    def judges(self) -> PublishedTable:
        """Show the accuracy of every judge on every dimension and on average over them, by group.

        Below the judges stand juries, naive baselines (equal ones once), a coin, and the number of cases.
        """
        study, rows = self.study, self.study.table("accuracy", by=None).frame
        of_groups = list(dict.fromkeys(study.group_of.values()))
        order = sorted(study.order, key=lambda name: of_groups.index(study.group_of[name]))
        rows = rows.assign(group=rows["judge"].map(study.group_of).where(rows["kind"] == "judge", "baseline"))
        places = pd.Series(range(len(order)), order)
        rows = rows.iloc[rows["judge"].map(places).fillna(len(order)).argsort(kind="stable")]
        wide = spread(rows, ["judge", "group"], columns="dimension", value="accuracy")
        dimensions = [*(name for name in rows["dimension"].unique() if name != AVERAGE), AVERAGE]
        dimensions = [name for name in dimensions if name in wide]
        is_again = wide[dimensions].round(12).duplicated() & (wide["group"] == "baseline")
        coin = pd.Series({name: self._coin(name) for name in dimensions if name != AVERAGE})
        flip = pd.DataFrame([{"judge": "coin", "group": "baseline", **coin, AVERAGE: coin.mean(skipna=False)}])
        wide = pd.concat([wide[~is_again], flip.reindex(columns=["judge", "group", *dimensions]).dropna()])
        apart = wide.loc[wide["group"].isin(["baseline", JURY]), "judge"]
        text = table_text(
            wide, best=dict.fromkeys(dimensions, "max"), underline=True, parts="group", reference_rows=set(apart),
            in_percent=dimensions,
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
            n=rows["n"].dropna().astype(int), policy=study.options.policy, gold=study.options.gold,
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

    def findings(self, by: str) -> Text:
        """Say in which subfields judges are strong and weak, and which groups of judges are better than a coin.

        Raises
        ------
        NotApplicable
            The cases do not state `by`, or no verdict can be scored.
        """
        study, coin = self.study, self._coin(self.dimension)
        rows = study.table("accuracy", by=by).frame
        rows = rows[rows["kind"].eq("judge") & rows["dimension"].eq(self.dimension)].dropna(subset="accuracy")
        whole = rows[rows["subfield"].isna()].set_index("judge")
        parts = rows.dropna(subset="subfield")
        if parts.empty:
            raise NotApplicable(f"no verdict on {self.dimension} can be scored by {by}.")
        means, told = parts.groupby("subfield")["accuracy"].mean(), []
        for how, name in (("strongest", str(means.idxmax())), ("weakest", str(means.idxmin()))):
            own = parts[parts["subfield"].eq(name)].sort_values("judge", key=lambda each: each.map(study.order.index))
            usual, best = own["judge"].map(whole["accuracy"]), own.iloc[0]
            side, apart = ("above", own["low"] > usual) if how == "strongest" else ("below", own["high"] < usual)
            told.append(
                f"{how} on {name.replace('_', ' ')} (mean accuracy {means[name]:.0%}; {best['judge']} "
                f"{percent(best, 'accuracy', 'low', 'high')}; the intervals of {apart.sum()} of {len(own)} judges are "
                f"{side} their accuracy over all cases)"
            )
        where = f"{opening(self.dimension)} (policy {study.options.policy}), by {by} ({len(means)} values)"
        said = f"{where}, judges are {' and '.join(told)}. The intervals are not corrected for the number of values: "
        said += "the highest and the lowest of many means differ partly by chance."
        if not np.isnan(coin):
            better = (whole["low"] > coin).groupby(whole.index.map(study.group_of), sort=False).agg(["sum", "size"])
            counts = [f"{row['sum']} of {row['size']} {group}" for group, row in better.iterrows()]
            said += f" A coin scores {coin:.0%}; the intervals of {', '.join(counts)} judges are above it."
        return Text(f"{said} {DERIVED if by == 'department' and study.derives_departments else ''}".rstrip())

    def chosen_cases(self, kind: str, by: str = "organ") -> pd.DataFrame:
        """Choose "successes" or "failures", rows of `Study.cases`, for `cases`.

        Of the cases on which all annotators choose the same response (a published consensus counts as that), the one
        in each subfield with the highest or the lowest mean score, of equal ones the first by id; of these the four
        most extreme.
        """
        self.study.table("accuracy", by=by)
        cases = self.study.cases(dimension=self.dimension)
        agreed = cases[cases["votes_gold"].eq(cases["n_annotators"]) & cases["gold"].ne("tie")].dropna(subset=by)
        extreme = agreed.assign(score=agreed["score"].round(12)).sort_values(
            ["score", "case_id"], ascending=[kind == "failures", True]
        )
        return extreme.drop_duplicates(by).head(_MOST_CASES)

    def cases(self, kind: str, by: str = "organ") -> Paper:
        """Draw the cases of `chosen_cases`."""
        chosen = self.chosen_cases(kind, by)
        return self.study.figure(f"case-{kind}", chosen, dimension=self.dimension)

    def prompts(self) -> Text:
        """Return the templates of the judges' prompts, each once with its judges.

        Where no run contains a prompt, the form of the published benchmark follows, named as such.
        """
        asked: dict[str, list[str]] = {}
        for manifest in self.study.manifests:
            asked.setdefault(manifest.prompt_text, []).append(manifest.judge)
        parts = list[str]()
        for text, judges in sorted(asked.items(), key=lambda item: not item[0]):
            names = list(dict.fromkeys(judges))
            others = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            note = "were asked by this template" if text else "no prompt is known"
            parts.append(f"{', '.join(names[:_MOST_NAMES])}{others}: {note}.\n\n{text}".rstrip())
        if self.study.benchmark.meta.is_preference and not any(asked):
            parts.append(f"The template of --prompt {_PROMPT}:\n\n{load_prompt(_PROMPT).text}")
        return Text("\n\n".join(parts))

    def conclusion(self, *tables: str, by: str = "organ") -> Text:
        """Return the findings and the sentences of some tables, without what does not apply."""
        found = ""
        with suppress(NotApplicable):
            found = self.findings(by)
        return self.study.conclude(*tables, text=found, dimension=self.dimension)
