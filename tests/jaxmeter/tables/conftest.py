"""A trace and its tables, made once, and traces written by hand."""

import jax
import jax.numpy as jnp
import pytest
from jax.profiler import ProfileData

from jaxmeter import Case

jt = pytest.importorskip("jaxmeter.tables", reason="needs pandas and pyarrow")

W = jnp.ones((60, 60))


def layered(w, x):
    """Compute with two named scopes, one of them with a loop."""
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
    """Return a writer of traces from {plane: {line: [(name, start ps, duration ps, stats)]}}."""

    def write(planes):
        parts = []
        for plane, lines in planes.items():
            names, stats, texts = {}, {}, []
            for line, events in lines.items():
                written = []
                for name, start, duration, notes in events:
                    number = names.setdefault(name, len(names) + 1)
                    values = " ".join(
                        f"stats {{ metadata_id: {stats.setdefault(key, len(stats) + 1)} "
                        f'str_value: "{value}" }}'
                        for key, value in notes.items()
                    )
                    written.append(
                        f"events {{ metadata_id: {number} offset_ps: {start} "
                        f"duration_ps: {duration} {values} }}"
                    )
                texts.append(f'lines {{ name: "{line}" {" ".join(written)} }}')
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
