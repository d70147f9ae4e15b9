"""Fixtures: a trace, its tables, and a writer of small traces."""

import jax
import jax.numpy as jnp
import pytest
from jax.profiler import ProfileData

from jaxmeter import Case

jt = pytest.importorskip("jaxmeter.tables", reason="needs pandas and pyarrow")

W = jnp.ones((60, 60))


def layered(w, x):
    """Compute in two nested named scopes, with a loop in the inner scope."""
    with jax.named_scope("outer"):
        with jax.named_scope("inner"):
            x = jax.lax.fori_loop(0, 5, lambda _, y: jnp.sin(w @ y), x)
        return jnp.sort(x, axis=0)


@pytest.fixture(scope="session")
def trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    jt.capture(Case(layered, (W, W)), folder, repeat=2, cold=True)
    return jt.read_trace(jt.trace_file(folder))


@pytest.fixture(scope="session")
def tables(trace):
    return jt.trace_tables(trace)


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a trace and returns its path.

    The function takes ``{plane: {line: [(name, start, duration, stats)]}}``, with times in
    picoseconds.
    """

    def write(planes):
        parts = []
        for plane, lines in planes.items():
            names, stats, texts = {}, {}, []
            for line, events in lines.items():
                items = []
                for name, start, duration, notes in events:
                    number = names.setdefault(name, len(names) + 1)
                    values = " ".join(
                        f"stats {{ metadata_id: {stats.setdefault(key, len(stats) + 1)} "
                        f'str_value: "{value}" }}'
                        for key, value in notes.items()
                    )
                    items.append(
                        f"events {{ metadata_id: {number} offset_ps: {start} "
                        f"duration_ps: {duration} {values} }}"
                    )
                texts.append(f'lines {{ name: "{line}" {" ".join(items)} }}')
            for field, known in (("event_metadata", names), ("stat_metadata", stats)):
                texts += [
                    f'{field} {{ key: {number} value {{ id: {number} name: "{name}" }} }}'
                    for name, number in known.items()
                ]
            parts.append(f'planes {{ name: "{plane}" {" ".join(texts)} }}')
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(ProfileData.text_proto_to_serialized_xspace("\n".join(parts)))
        return path

    return write
