"""Histograms of behaviors: as NumPy counts them, nested, small, and read with care."""

import base64
import math
import zlib
from pathlib import Path

import numpy as np
import pytest

from evolvability import RunFolderError
from evolvability.runs.histograms import MAX_CELLS, common_cells, from_row, histogram, histogram_rows, histograms_in
from evolvability.runs.sealed import to_json

RING = np.random.default_rng(0).normal(size=(10_000, 2))
RING = 50 * RING / np.linalg.norm(RING, axis=1, keepdims=True) + 3 * np.random.default_rng(1).normal(size=(10_000, 2))


@pytest.mark.parametrize("dimensions", [1, 2])
def test_counts_are_those_of_numpy(dimensions: int) -> None:
    cloud = RING[:, :dimensions]
    one = histogram(cloud)
    ends = zip(one.low, one.high, strict=True)
    edges = [one.width * np.arange(low, high + 1) for low, high in ends]
    np.testing.assert_array_equal(one.counts, np.histogramdd(cloud, edges)[0])
    assert max(one.counts.shape) <= MAX_CELLS[dimensions] < 4 * max(one.counts.shape)


def test_histograms_of_different_widths_are_counted_in_common_cells_without_an_error() -> None:
    clouds = [RING, RING / 7 - 3, np.zeros((5, 2)), np.zeros((0, 2))]
    several = [histogram(cloud) for cloud in clouds]
    width, low, shape = common_cells(several)
    edges = [width * np.arange(first, first + number + 1) for first, number in zip(low, shape, strict=True)]
    for cloud, one in zip(clouds, several, strict=True):
        np.testing.assert_array_equal(one.counted_in(width, low, shape), np.histogramdd(cloud, edges)[0])


@pytest.mark.parametrize("cloud", [RING, RING[:, :1], RING[:0]], ids=["plane", "line", "nobody"])
def test_every_member_has_a_place_in_its_cell(cloud: np.ndarray) -> None:
    one = histogram(cloud)
    members = one.scattered()
    assert members.shape == cloud.shape
    np.testing.assert_array_equal(one.scattered(), members)
    places = np.floor(np.array([*members, *cloud]) / one.width).astype(int)
    both = np.split(places, [len(cloud)])
    assert sorted(map(tuple, both[0])) == sorted(map(tuple, both[1]))


def test_a_row_holds_the_valid_members_in_a_few_kilobytes() -> None:
    valid = np.arange(10_000) % 2 == 0
    rows = histogram_rows(3, [7], [RING[valid]])
    assert (rows[0]["generation"], rows[0]["seed"]) == (3, 7)
    assert len(to_json(rows[0])) < 5000
    found = from_row(rows[0])
    np.testing.assert_array_equal(found.counts, histogram(RING[valid]).counts)


@pytest.mark.parametrize(
    "change",
    [
        *({"shape": shape} for shape in ([10**6, 10**6], [3], [], [-1, 3])),
        *({"width": width} for width in (0, None, 1e300, 3.0, -1.0, math.nan, math.inf)),
        *({"low": low} for low in ([None, 1], [10**400, 1], [1], [2**60, 0])),
        {"counts": "AAAA"},
        {"shape": [1, 1], "counts": base64.b64encode(zlib.compress(b"\xff" * 4)).decode()},  # 4 billion members
    ],
)
def test_what_is_no_histogram_of_ours_is_refused_by_the_name_of_its_file(
    change: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evolvability.runs.histograms.machine_memory", lambda: 16e9)
    row = histogram_rows(0, [0], [RING])[0]
    assert histograms_in(Path("mine"), [row]).keys() == {(0, 0)}
    with pytest.raises(RunFolderError, match="mine is damaged"):
        histograms_in(Path("mine"), [row | change])


def test_histograms_of_different_dimensions_are_not_of_one_run() -> None:
    rows = [*histogram_rows(0, [0], [RING]), *histogram_rows(1, [0], [RING[:, :1]])]
    with pytest.raises(RunFolderError, match="different dimensions"):
        histograms_in(Path("mine"), rows)
