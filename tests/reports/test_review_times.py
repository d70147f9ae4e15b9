"""Times of a review: how much each round counts."""

import dataclasses
import statistics

import pytest

from tests.reports.review_pairs import CLOSURE, ROUNDS, Pair, reviewed, slower, worse

DISTURBED = 2


@pytest.mark.parametrize(("scatter", "is_found"), [(1.0, False), (20.0, True)])
def test_a_disturbed_round_counts_for_less_where_its_own_calls_scatter(
    made_up, tmp_path, scatter, is_found
):
    rounds = iter(range(ROUNDS))

    def change(record):
        disturbed = next(rounds) == DISTURBED
        middle = statistics.median(record.samples_seconds)
        spread = scatter if disturbed else 1.0
        samples = tuple(middle + spread * (s - middle) for s in record.samples_seconds)
        record = dataclasses.replace(record, samples_seconds=samples)
        return slower(record, settled=1.8 if disturbed else 1.1)

    review = reviewed(Pair(made_up, tmp_path).write(change))
    assert ((CLOSURE, "settled_median_seconds") in worse(review)) == is_found
