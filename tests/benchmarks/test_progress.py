"""Progress: counts, lines, and the failures that are reported at the end."""

from benchmarks.measuring.progress import Progress


def test_each_round_is_a_line_with_its_count_and_a_plan_fills_up_to_its_total(capsys):
    progress = Progress(4)
    progress.begin("s/a", 0)
    progress.end("s/a", 0, "ok")
    progress.end("s/b", 1, "kept")
    progress.end_plan(1, 61.2)
    progress.end("t/a", 0, "ok")
    assert progress.done == progress.total == 4
    assert capsys.readouterr().out.splitlines() == [
        "[1/4] s/a, process 1: ok",
        "[2/4] s/b, process 2: kept",
        "[3/4] measured in 61 s; 1 rounds left out to stay within the time budget",
        "[4/4] t/a, process 1: ok",
    ]


def test_failed_rounds_are_collected_with_their_reason_and_skipped_ones_are_not():
    lines = []
    progress = Progress(2, lines.append)
    progress.end("s/a", 0, "timeout", "too slow")
    progress.end("s/b", 0, "skipped", "no such package")
    progress.end_plan(0, 1.0)
    assert progress.failures == ["s/a: timeout: too slow"]
    assert lines[-1] == "[2/2] measured in 1 s; 1 failed"
