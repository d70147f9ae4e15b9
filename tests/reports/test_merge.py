"""Stores of several machines merge without mixing, without loss, and repeatedly."""

import dataclasses

import pytest

from reports import ReportError, read_store
from reports.store.machines import UNKNOWN, environment_names, machine_name
from reports.store.merge import merge_stores
from tests.reports import made_up


def store_of(root, **environment):
    for i in range(2):
        case = made_up.casing_case("closure", 3, i)
        made_up.write(root, made_up.in_environment(case, **environment), i)
    return root


def contents(root):
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*.json")}


def test_records_of_two_machines_with_the_same_path_get_different_paths(tmp_path):
    a = store_of(tmp_path / "a")
    b = store_of(tmp_path / "b", machine="other")
    merged = merge_stores([a, b], tmp_path / "all")
    assert (merged.added_count, merged.same_count, merged.refused) == (4, 0, ())
    records = read_store(tmp_path / "all").records
    machines = {(one.environment_key, machine_name(one.record.environment)) for one in records}
    assert len(machines) == len({key for key, _ in machines}) == 2
    assert len(set(environment_names(records))) == 2


def test_merging_again_and_merging_a_merged_store_change_nothing(tmp_path):
    a = store_of(tmp_path / "a")
    merge_stores([a], tmp_path / "all")
    before = contents(tmp_path / "all")
    assert merge_stores([a], tmp_path / "all").same_count == 2
    assert merge_stores([tmp_path / "all"], tmp_path / "more").added_count == 2
    assert contents(tmp_path / "all") == before == contents(tmp_path / "more")


def test_another_record_at_the_same_place_is_refused_and_both_stay(tmp_path):
    a, b = store_of(tmp_path / "a"), store_of(tmp_path / "b")
    made_up.write(b, made_up.casing_case("closure", 3, 1, temp_bytes=5), 1)
    merge_stores([a], tmp_path / "all")
    before = contents(tmp_path / "all")
    merged = merge_stores([b], tmp_path / "all")
    (refused,) = merged.refused
    assert refused.path.name == "1.json" and "another record" in refused.reason
    assert merged.same_count == 1 and contents(tmp_path / "all") == before


@pytest.mark.parametrize(
    "ending, reason", [(".json", "truncated"), (".unreadable", "could not be read")], ids=str
)
def test_a_truncated_file_is_refused_with_its_reason(tmp_path, ending, reason):
    a = store_of(tmp_path / "a")
    path = next(a.rglob("1.json"))
    path.write_text(path.read_text()[:100])
    path.rename(path.with_suffix(ending))
    merged = merge_stores([a], tmp_path / "all")
    (refused,) = merged.refused
    assert merged.added_count == 1
    assert refused.path.name == f"1{ending}" and reason in refused.reason
    assert not list((tmp_path / "all").rglob("*.tmp"))


def test_the_folders_of_a_pair_are_merged_like_stores(tmp_path):
    base, head = "b" * 40, "d" * 40 + "+slower_run"
    for side, commit in (("base", base), ("head", head)):
        made_up.write(
            tmp_path / "kept/pair" / side, made_up.casing_case("closure", 3), 0, commit=commit
        )
    (tmp_path / "kept/page").mkdir()
    (tmp_path / "kept/page/review.json").write_text("{}")
    (tmp_path / "kept/pair/programs").mkdir()
    for source in ("kept", "kept/pair"):  # the artefact of CI, and the folder of the pair
        merged = merge_stores([tmp_path / source], tmp_path / "all")
        assert merged.refused == ()
    assert merged.same_count == 2
    assert {path.name for path in (tmp_path / "all").iterdir()} == {base, head}


@pytest.mark.parametrize("name", ["base", "local", "123456", "a" * 41, "1234567+", "main"])
def test_folders_that_do_not_name_a_commit_are_not_copied(tmp_path, name):
    a = store_of(tmp_path / "a")
    made_up.write(a, made_up.casing_case("closure", 3), 0, commit=name)
    merged = merge_stores([a], tmp_path / "all")
    (refused,) = merged.refused
    assert refused.path.parts[0] == name and f"{name} is not a commit hash" in refused.reason
    assert merged.added_count == 2


def test_merged_records_have_the_rights_of_any_new_file(tmp_path):
    a = store_of(tmp_path / "a")
    merge_stores([a], tmp_path / "all")
    modes = {path.stat().st_mode for path in tmp_path.rglob("*.json")}
    assert len(modes) == 1


def test_a_record_is_not_copied_through_a_link_to_another_commit(tmp_path):
    a, other = store_of(tmp_path / "a"), tmp_path / "all" / ("b" * 40)
    other.mkdir(parents=True)
    (tmp_path / "all" / made_up.COMMIT).symlink_to(other)
    merged = merge_stores([a], tmp_path / "all")
    assert merged.added_count == 0 and not list(other.iterdir())
    assert all("is a link" in file.reason for file in merged.refused)


def test_a_machine_is_known_from_a_process_that_failed_before_jax_started(tmp_path):
    early = made_up.in_environment(made_up.failed("a/b", {}), backend=None, device_kind=None)
    made_up.write(tmp_path / "a", early)
    made_up.write(tmp_path / "a", dataclasses.replace(early, environment=None), 1)
    merge_stores([tmp_path / "a"], tmp_path / "all")
    assert len({path.parent for path in contents(tmp_path / "all")}) == 1


@pytest.mark.parametrize("commit", [made_up.COMMIT, "f" * 40], ids=["same", "another"])
def test_a_process_without_a_machine_takes_the_machine_of_its_folder(tmp_path, commit):
    a = store_of(tmp_path / "a")
    silent = dataclasses.replace(made_up.failed("a/b", {}), environment=None)
    made_up.write(a, silent, commit=commit)
    merge_stores([a], tmp_path / "all")
    records = read_store(tmp_path / "all").records
    (name,) = set(environment_names(records))
    assert name != UNKNOWN and len({one.environment_key for one in records}) == 1


def test_another_kernel_version_and_a_few_bytes_of_memory_make_no_other_machine():
    one = made_up.environment()
    other = {"platform": "Linux-7.0-x86_64", "ram_bytes": one.ram_bytes - 4096}
    assert machine_name(one) == machine_name(made_up.environment(**other))
    assert machine_name(one) != machine_name(made_up.environment(cpu_model="Another"))


def test_a_merge_into_a_source_and_a_source_without_records_are_errors(tmp_path):
    a = store_of(tmp_path / "a")
    with pytest.raises(ReportError, match="a destination outside all sources"):
        merge_stores([a], a / "all")
    with pytest.raises(ReportError, match="not a folder"):
        merge_stores([tmp_path / "none"], tmp_path / "all")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReportError, match="contains no records"):
        merge_stores([tmp_path / "empty"], tmp_path / "all")
