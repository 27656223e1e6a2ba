"""Which changes of a case change a judge's verdicts, and whether they should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES
from mrb_lib.stats.options import check_choice, check_policy, typed, with_ends
from mrb_lib.stats.probes import reading
from mrb_lib.stats.probes.effects import probe_rows, tested
from mrb_lib.stats.probes.gaps import gap_rows
from mrb_lib.stats.probes.image_gain import image_rows
from mrb_lib.stats.probes.label_bias import label_rows
from mrb_lib.stats.probes.pairing import Options, labelled, pair_probes
from mrb_lib.stats.probes.ranks import rank_rows
from mrb_lib.stats.probes.slopes import slope_rows
from mrb_lib.stats.significance.paired import MARGIN, check_margin
from mrb_lib.stats.subfields import By
from mrb_lib.stats.subfields import groups as groups_of
from mrb_lib.tables.schema import NO_PROBE

COLUMNS: Final = [
    "part", "judge", "dimension", "subfield", "by", "probe", "severity", "group", "group_1", "group_2", "expected",
    "kept_expectation", "n", "n_excluded", "n_unassigned", "n_clusters", "coverage", *with_ends("changed"), "noise",
    *with_ends("changed_beyond_noise"), "changed_p", "changed_p_adjusted", "policy", "n_scored", "accuracy",
    "accuracy_probed", *with_ends("accuracy_change"), "p_value", "p_adjusted", *with_ends("target_shift"),
    "target_shift_p", "target_shift_p_adjusted", *with_ends("probability_shift"), "margin", "unmoved_p",
    "unmoved_p_adjusted", "equivalence_p", "equivalence_p_adjusted", "equivalent", "correction", "family",
    "family_scope", "n_severities", *with_ends("changed_slope", "accuracy_slope"), "accuracy_low", "accuracy_high",
    *with_ends("accuracy_without", "accuracy_swapped", "image_gain"), "n_judges", *with_ends("rank", "rank_probed"),
    "kendall_tau", "n_reversed", "n_reversed_shown", "reversal_p_adjusted",
    *with_ends("position_bias", "label_bias", "position_probability", "label_probability"), "reason",
]  # fmt: skip
MORE: Final = [
    "changed_p", "changed_p_adjusted", "target_shift_p", "unmoved_p", "equivalence_p", "accuracy_low", "accuracy_high",
    "accuracy_without_low", "accuracy_without_high", "accuracy_swapped_low", "accuracy_swapped_high",
]  # fmt: skip


@register_table(
    "probes",
    question="which changes of a case change a judge's verdicts, and should they",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    reads=("p_a",),
    options={
        "margin": Option("changes of verdicts, accuracy or choices for a response below it count as none", 0, 1),
        "noise": Option("share of verdicts that repeats differ in, for judges asked once; 0: they never vary", 0, 1),
    },
    meanings=reading.MEANINGS,
    headline=("changed", "accuracy_change", "kept_expectation"),
    sentence=reading.sentence,
    why_no_ratings="probes change pairs of responses",
)
def probes(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    probes: Mapping[str, Panel] | None = None,
    probe: str = NO_PROBE,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    margin: float = MARGIN,
    noise: float | None = None,
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the verdicts under each probe with those on the plain cases.

    A cell is an order and a repeat of a case. A verdict under a probe is compared with the plain one in the same cell
    only, so that what the order does is not taken for what the probe does.

    Parameters
    ----------
    verdicts : the plain verdicts
    gold : `case_id, dimension, choice`; without labels accuracies are null, and the rest is there
    probes : the verdicts of every probe by its id
    probe : the one that `verdicts` are of, which has no row
    policy : how verdicts become a score, see `mrb_lib.stats.core.scoring.score`
    correction : for the number of tests, see `mrb_lib.stats.multiplicity.adjust`
    family : which tests are corrected together: all that are made of a judge on a dimension (and subfield), over all
        probes ("dimension"), or all of the table ("all"), of all columns of `by`; gaps apart, and reversals apart
    margin : the largest share of verdicts, or change of accuracy or of choices for a response, that does not matter
    noise : the share of verdicts that differ between repeats, of judges without any repeat; None: not known
    by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        `part` "probe", one row a judge, dimension, `probe` and `severity`, in all and by subfield:

        - `n` cases with a cell answered both with and without the probe, in `n_clusters` clusters; `n_excluded` other
          cases with a verdict under the probe; `coverage` share of the verdicts under the probe that have a choice
        - `changed` mean over cases of the share of such cells in which the choice differs; `noise` the share of pairs
          of plain repeats, in one order, that differ; `changed_beyond_noise` what is left of the one without the other
        - `accuracy_change` the score under the probe less the plain one, over the `n_scored` cases that have a label,
          by the cells that have both verdicts; `p_value` is of it, and of nothing else
        - `target_shift` share choosing the response that the probe changes or speaks for (`mrb_lib.probes.target`), a
          tie half, under the probe less without; null of probes of images and of both responses. `probability_shift`
          the same of the probability; of probes of a question that speak for no response both are 0 in truth
        - `changed_p`, `p_value`, `target_shift_p`: sign flips of clusters, of the three named quantities. Where a loss
          is expected, `unmoved_p`: small where accuracy (the target's choices) is shown to lose less than `margin`
        - `equivalence_p` of two one-sided tests of `accuracy_change` against `margin`; `equivalent` at .05, adjusted

        Adjusted p-values are corrected together over all four kinds of tests and all probes (`family` tests);
        equivalence apart. `expected` is what a sound judge does, and `kept_expectation`:

        - `same`: False where an adjusted test finds that accuracy or the choices for the target moved, or that more
          changed than noise does. Else True where all of these lie within `margin` by their 95% intervals
          (`changed_beyond_noise` by its upper end; where `changed` itself is below, nothing else can be larger)
        - `worse`: False where `unmoved_p`, adjusted, shows that less than `margin` of accuracy is lost; else True where
          accuracy is lost, adjusted. `flips`: the same of choices for the target
        - null where neither is shown, or nothing is expected

        `part` "image", where the image was removed or blanked, in all and by subfield: over the same `n` cases
        `accuracy` with the image, `accuracy_without` it, `accuracy_swapped` with another, and `image_gain`, the first
        less the second. The other parts are of all cases:

        `part` "slope", one row a judge, dimension and probe of two severities or more that are steps, not groups: what
        a step adds to `changed` and to accuracy, by least squares over the `n` cases that have them all.

        `part` "gap", one row a judge, dimension, probe of groups of patients and pair of these, `group_1` and
        `group_2`: as those of "probe", with the verdicts on `group_1` for the plain ones. `accuracy` is under
        `group_1`, `accuracy_probed` under `group_2`, `accuracy_change` the latter less the former, `changed` the share
        of verdicts that differ between the two, `noise` that of repeats under either. A sound judge does the `same`
        for both, and `equivalent` says that it is shown to be as accurate. The gaps of a judge on a dimension are a
        family of their own. Of question/sex, `group_1` is the patient "as it is": what a judge says worse of women is
        gained where a woman became a man, so that `accuracy_change` may be 0 where `changed_beyond_noise` is not.

        `part` "rank", one row a judge, dimension, probe and severity that two judges or more were asked; none where
        choices should flip, since the labels are then not what is right. Over the `n` cases that are scored for all
        `n_judges` in both conditions `accuracy` and `rank` are without the probe, `accuracy_probed` and `rank_probed`
        with it. Ranks have intervals that hold each with 95%, see
        `mrb_lib.stats.rank_agreement.rank_interval`; `kendall_tau` (tau-b) is of the two orders of judges.
        `n_reversed` other judges are above the judge in one condition and below it in the other; of
        `n_reversed_shown` that is shown: both differences, by t tests robust to clusters; the p of a reversal is the
        larger of the two, corrected for all pairs of judges and all probes on a dimension (`family`), and
        `reversal_p_adjusted` is the judge's smallest. Where no reversal is shown a rank may have changed by chance.

        `part` "labels", where responses were also called B and A (`prompt/labels:4`): over the `n` cases answered in
        both orders under both, `position_bias` share choosing the response shown first less that choosing the second,
        and `label_bias` share choosing the one called A less that choosing the one called B, a tie in neither;
        `position_probability` and `label_probability` the same of probabilities, which tell where all choices are
        alike. With the letters always in one order the two are one; here each is a mean in which the other cancels.

        `_low` and `_high` bound 95% intervals, of shares Wilson's, of differences those of the paired cluster
        bootstrap, by t with few clusters and of `probability_shift`; by a score test of `part` "labels", and where all
        cases are alike, so that none is without width. `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, `cluster` cannot be used, or a verdict is about an unknown case.

    Notes
    -----
    With Holm's correction a judge without faults is accused in at most 5% of analyses on a dimension, whatever the
    number of probes; `tests/stats/probes/test_simulated.py` simulates that, what is found of planted faults, and
    coverage. A verdict that changed is no fault where repeats differ as often: without repeats (or `noise`), and with
    `same` expected, only the direction of changes can accuse.
    """
    check_policy(policy)
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    check_margin(margin)
    plain = as_panel(verdicts, cases["case_id"], dimensions)
    others = {
        name: as_panel(panel, cases["case_id"], plain.dimensions)
        for name, panel in (probes or {}).items()
        if name != probe and panel is not verdicts
    }
    parts = groups_of(cases, by)
    paired = pair_probes(plain, others, gold, cases, cluster, Options(policy, noise, resamples, seed))
    effects = [
        tested(rows, correction, family, margin).assign(policy=policy)
        for rows in (probe_rows(paired, parts), gap_rows(paired, parts[0]))
        if len(rows)
    ]
    frames = [
        effects[0],
        labelled(slope_rows(paired), parts[0]),
        image_rows(paired, parts).assign(policy=policy),
        *effects[1:],
        label_rows(paired, parts[0]),
        rank_rows(paired, parts[0], correction, family),
    ]
    return _typed(pd.concat([frame for frame in frames if len(frame)], ignore_index=True))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    counts = dict.fromkeys(
        (
            "severity", "n_excluded", "n_clusters", "n_scored", "family", "n_severities", "n_judges", "n_reversed",
            "n_reversed_shown", *with_ends("rank", "rank_probed"),
        ),
        "Int64",
    )  # fmt: skip
    texts = dict.fromkeys(("part", "group", "group_1", "group_2", "expected", "family_scope"), "str")
    flags = dict.fromkeys(("equivalent", "kept_expectation"), "boolean")
    return typed(frame.reindex(columns=COLUMNS), COLUMNS, **counts, **texts, **flags)
