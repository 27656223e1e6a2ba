"""Every two responders meet as often as any other two, overall and in every organ, whatever the seed."""

from itertools import combinations

import numpy as np

from mrb_lib.build.construct.pairing.balance import NONE, balanced_pairs, length_band

R = 6
PAIRS = np.array(list(combinations(range(R), 2)))
P = len(PAIRS)


def _met(chosen: np.ndarray) -> np.ndarray:
    return np.bincount(chosen[chosen != NONE], minlength=P)


def test_meetings_are_within_one_of_equal_in_every_seed_overall_and_by_organ() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n, organ = 100, rng.integers(0, 4, 100)
        per_item = 1 + seed % 2
        chosen = balanced_pairs(np.ones((n, P), bool), per_item, organ, rng.integers(0, 3, (n, P)), rng)
        assert np.ptp(_met(chosen)) <= 1
        for one in range(4):
            assert np.ptp(_met(chosen[organ == one])) <= per_item
        assert (chosen[:, 0] != chosen[:, -1]).all() or per_item == 1


def test_missing_responses_are_evened_out_where_they_can_be() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        has = rng.random((150, R)) > 0.2
        allowed = has[:, PAIRS[:, 0]] & has[:, PAIRS[:, 1]]
        chosen = balanced_pairs(allowed, 1, np.zeros(150, int), np.ones((150, P), int), rng)
        given = chosen[:, 0] != NONE
        assert given.tolist() == allowed.any(axis=1).tolist()
        assert allowed[given, chosen[given, 0]].all()
        assert np.ptp(_met(chosen)) <= 1


def test_a_responder_that_answers_a_few_items_meets_the_others_there() -> None:
    allowed = np.ones((90, P), bool)
    allowed[10:, (PAIRS == R - 1).any(axis=1)] = False
    rng = np.random.default_rng(1)
    met = _met(balanced_pairs(allowed, 1, rng.integers(0, 3, 90), np.ones((90, P), int), rng))
    rare = (PAIRS == R - 1).any(axis=1)
    assert met[rare].tolist() == [2] * 5, "all ten items of the rare one, evenly"
    assert met[~rare].tolist() == [8] * 10


def test_lengths_compare_alike_for_every_two_responders() -> None:
    length = np.array([[10.0, 100.0, 14.0, np.nan]])
    assert length_band(length, np.array([(0, 1), (1, 2), (0, 2), (0, 3)])).tolist() == [[2, 0, 1, 1]]
    rng = np.random.default_rng(2)
    band = rng.integers(0, 3, (900, P))
    chosen = balanced_pairs(np.ones((900, P), bool), 1, np.zeros(900, int), band, rng)[:, 0]
    met = np.zeros((P, 3))
    np.add.at(met, (chosen, band[np.arange(900), chosen]), 1)
    assert np.ptp(met, axis=1).max() <= 4, "20 of each are expected; by chance they would differ by some 8"
