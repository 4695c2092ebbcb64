"""The one reader of bytes that may be somebody else's: whatever they are, it answers, or refuses them by their name.

One strategy makes them: intact files that were cut, spliced and overwritten, headers that lie, and mere noise.
"""

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolvability import RunFolderError
from evolvability.core.errors import UserError
from evolvability.runs.rows import read_rows, to_lines
from evolvability.runs.sealed import (  # fmt: skip
    UNREADABLE,
    arrays_in,
    facts_in,
    is_changed,
    read_arrays,
    read_json,
    to_bytes,
    to_json,
    to_sealed_toml,
)
from evolvability.tasks.robots.mjcf import unpacked

TABLE = {"generation": 3, "names": ["x (m)", "\N{GREEK SMALL LETTER ALPHA}"], "value": 0.1, "nested": {"a": [None, 1]}}
ARRAYS = {"parameters/center": np.arange(6.0, dtype=np.float32).reshape(1, 2, 3), "key": np.zeros((1, 2), np.uint32)}
NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(127) + b"\n" + bytes(8)
INTACT = {
    ".json": to_json(TABLE).encode(),
    ".jsonl": b"".join(to_lines([TABLE | {"seed": seed} for seed in (0, 1)])),
    ".safetensors": to_bytes(ARRAYS, {"generation": "000003"}),
    ".npy": NPY,
    ".toml": to_sealed_toml("format = 2\ntask = 'point'\n").encode(),
}
VALUES = st.none() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=8)
HEADER = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "F8_E4M3", "BOOL", "X"]),
        "shape": st.lists(st.integers(-1, 2**40), max_size=3),
        "data_offsets": st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)),
    }
)


@st.composite
def foreign_files(draw: st.DrawFn) -> tuple[str, bytes]:
    """The ending and the content of a file."""
    ending = draw(st.sampled_from(sorted(INTACT)))
    data = INTACT[ending]
    for _ in range(draw(st.integers(0, 3))):
        first, last = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        kind = draw(st.sampled_from(["cut", "doubled", "overwritten", "another's", "header", "noise"]))
        data = {
            "cut": lambda: data[:first],  # noqa: B023 (called at once)
            "doubled": lambda: data[:last] + data[first:],  # noqa: B023
            "overwritten": lambda: data[:first] + draw(st.binary(max_size=8)) + data[last:],  # noqa: B023
            "another's": lambda: INTACT[draw(st.sampled_from(sorted(INTACT)))],
            "header": lambda: _headed(draw(st.dictionaries(st.text(max_size=3), HEADER, max_size=3))),
            "noise": lambda: draw(st.binary(max_size=300)),
        }[kind]()
    return ending, data


def _headed(table: dict[str, Any]) -> bytes:
    header = json.dumps(table).encode()
    return len(header).to_bytes(8, "little") + header + bytes(40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


def read(path: Path) -> None:
    """By every function that reads such a file; what a caller handles is refused, all else is a defect."""
    if path.suffix == ".toml":
        is_changed(path)
    elif path.suffix == ".jsonl":
        rows = list(read_rows(path, range(2), []))
        assert len(rows) <= path.stat().st_size // 50 + 1
    elif path.suffix == ".json":
        assert isinstance(read_json(path), dict)
    else:
        found = arrays_in(path)
        assert sum(array.nbytes for array in found.values()) <= path.stat().st_size
        if path.suffix == ".safetensors":
            facts_in(path)
            read_arrays(path)


@pytest.mark.parametrize("name", ["robot.xml", "mesh.obj"])
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.data())
def test_archives_from_elsewhere_are_unpacked_or_refused(name: str, data: st.DataObject) -> None:
    text = data.draw(
        st.sampled_from(["<mujoco><worldbody/></mujoco>", "<mujoco>", "<mujoco><include file='/etc/passwd'/></mujoco>"])
    )
    packing = io.BytesIO()
    with zipfile.ZipFile(packing, "w") as archive:
        archive.writestr(name, text + data.draw(st.text(max_size=20)))
    whole = packing.getvalue()
    place = data.draw(st.integers(0, len(whole)))
    for content in (whole, whole[:place], whole[:place] + data.draw(st.binary(max_size=8)) + whole[place + 8 :]):
        with suppress(UserError):  # which names what is wrong; all else is a defect
            unpacked(content, "mine")


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(file=foreign_files())
def test_bytes_from_elsewhere_are_read_or_refused(file: tuple[str, bytes], folder: Path) -> None:
    ending, data = file
    (path := folder / f"file{ending}").write_bytes(data)
    try:
        read(path)
    except RunFolderError as error:
        assert path.name in str(error)  # noqa: PT017 (it may as well be read)
    except UNREADABLE:
        assert ending in (".safetensors", ".npy")  # of arrays in a user's own file, which the caller names


@settings(max_examples=50, deadline=None, derandomize=True)
@given(table=st.dictionaries(st.text(max_size=8), VALUES | st.lists(VALUES, max_size=3), max_size=5))
def test_what_was_sealed_comes_back_and_nothing_else_does(table: dict[str, Any], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "sealed.json"
    table.pop("checksum", None)
    for indent in (None, 2):
        path.write_text(to_json(table, indent))
        assert read_json(path) == table
    path.write_text(to_json(table).replace('"checksum": "', '"checksum": "0'))
    with pytest.raises(RunFolderError, match=r"sealed\.json is damaged"):
        read_json(path)
