from tests.reports.review.pairs import pair as pair
