"""Damage in a run folder: every flipped bit is noticed, named, and mended where it can be."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from evolvability import Run, RunFolderError
from evolvability.cli import main
from evolvability.runs.sealed import read_json
from evolvability.runs.writer import RunWriter, damage_in
from evolvability.training.driver import resume
from evolvability.training.evolution import Evolution
from tests.runs.test_folder import GENERATIONS, StopHereError, assert_same_run, evolution, finished  # noqa: F401

SEEDS = 2


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:  # noqa: F811
    return Path(shutil.copytree(finished, tmp_path / "run"))


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))


def flip_row(path: Path, generation: int, name: str = "metrics.jsonl") -> None:
    lines = (path / name).read_bytes().splitlines(keepends=True)
    flip(path / name, len(b"".join(lines[: SEEDS * generation])) + 60)


def test_a_damaged_row_stays_empty_and_all_others_stay(copy: Path, finished: Path) -> None:  # noqa: F811
    flip_row(copy, 3)
    before = (copy / "metrics.jsonl").read_bytes()
    with pytest.warns(UserWarning, match=r"metrics\.jsonl is damaged.*generation 3"):
        resume(Run(copy))
    assert (copy / "metrics.jsonl.damaged").read_bytes() == before
    mended, whole = Run(copy).metrics["variance"], Run(finished).metrics["variance"]
    assert np.isnan(mended[0, 3])
    assert np.isfinite(mended).sum() == whole.size - 1
    assert not damage_in(Run(copy))[0]


def test_a_damaged_histogram_is_named_and_all_others_stay(copy: Path, finished: Path) -> None:  # noqa: F811
    flip_row(copy, 3, "histograms.jsonl")
    with pytest.warns(UserWarning, match=r"histograms\.jsonl is damaged.*generations 3"):
        left = Run(copy).histograms()
    whole = Run(finished).histograms()
    assert whole.keys() - left.keys() == {(3, 0)}
    with pytest.warns(UserWarning, match=r"histograms\.jsonl is damaged.*generation 3"):
        resume(Run(copy))
    assert (copy / "histograms.jsonl.damaged").exists()
    assert Run(copy).histograms().keys() == left.keys()
    assert not damage_in(Run(copy))[0]


def test_what_was_damaged_after_a_checkpoint_is_done_again(copy: Path, finished: Path) -> None:  # noqa: F811
    flip_row(copy, GENERATIONS - 2)
    flip_row(copy, GENERATIONS - 1, "histograms.jsonl")
    flip(copy / "behaviors" / "000011.safetensors", -1)
    (copy / "centers" / "000010.safetensors").write_bytes(b"")  # as after a power loss
    with pytest.warns(UserWarning, match="done again"):
        resume(Run(copy))
    assert_same_run(copy, finished)
    assert (copy / "behaviors" / "000011.safetensors.damaged").exists()
    np.testing.assert_array_equal(
        Run(copy).drawn_around(10)["parameters/center"], Run(finished).drawn_around(10)["parameters/center"]
    )


def test_a_row_that_is_lost_for_good_keeps_no_later_one_from_being_done_again(copy: Path, finished: Path) -> None:  # noqa: F811
    flip_row(copy, 1)
    flip_row(copy, GENERATIONS - 1)
    with pytest.warns(UserWarning, match="generation 1 could be done again, so that stays empty. The others are done"):
        resume(Run(copy))
    found = Run(copy).metrics["variance"]
    lost = np.isnan(found)
    assert np.argwhere(lost).tolist() == [[0, 1]]
    np.testing.assert_array_equal(found[~lost], Run(finished).metrics["variance"][~lost])


def test_a_complete_run_with_damage_is_not_called_complete(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip_row(copy, GENERATIONS - 1)
    main(["resume", str(copy), "--quiet"])
    said = capsys.readouterr()
    assert "metrics.jsonl is damaged" in said.err
    main(["resume", str(copy), "--quiet"])
    assert "is complete" in capsys.readouterr().out


def test_show_tells_what_a_run_was_trained_on_and_what_is_damaged_or_gone(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["show", str(copy)])
    whole, [device] = capsys.readouterr(), Run(copy).environment["devices"]
    assert f"trained on {device}" in whole.out
    flip(copy / "environment.json", 12)
    main(["show", str(copy)])
    said = capsys.readouterr()
    assert said.out == whole.out.replace(device, "an unknown device")
    assert "environment.json is damaged" in said.err
    assert "without checkpoints" not in said.out
    shutil.rmtree(copy / "checkpoints")
    main(["show", str(copy)])
    assert "without checkpoints: nothing can go on from it" in capsys.readouterr().out


@pytest.mark.parametrize("cut", [0, 100])
def test_metrics_that_end_before_the_checkpoint_are_said_to(cut: int, copy: Path) -> None:
    path = copy / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.warns(UserWarning, match=r"metrics\.jsonl is damaged.*0 to 11"):
        assert Run(copy).metrics == {}


def test_names_of_another_number_of_behaviors_are_said(copy: Path) -> None:
    RunWriter(copy).write_table("behavior.json", {"names": ["x", "y", "z"]})
    with pytest.warns(UserWarning, match=r"behavior\.json has 3 names for 2 behavior dimensions"):
        assert Run(copy).behavior_names == ["behavior 0", "behavior 1"]


@pytest.mark.parametrize("name", ["environment.json", "behaviors/000005.safetensors", "centers/000005.safetensors"])
def test_every_flipped_bit_of_a_file_is_noticed(name: str, copy: Path) -> None:
    read = {"e": lambda run: run.environment, "b": lambda run: run.behaviors(5), "c": lambda run: run.drawn_around(5)}
    path = copy / name
    whole, data = read[name[0]](Run(copy)), path.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 40)):
        flip(path, place)
        try:
            found = read[name[0]](Run(copy))
        except RunFolderError as error:
            assert name in str(error)  # noqa: PT017 (a blank may be flipped without harm)
        else:
            np.testing.assert_equal(found, whole)
        path.write_bytes(data)


def test_a_damaged_name_of_a_behavior_is_said(copy: Path) -> None:
    flip(copy / "behavior.json", 12)
    with pytest.warns(UserWarning, match=r"behavior\.json is damaged"):
        assert Run(copy).behavior_names == ["behavior 0", "behavior 1"]


@pytest.mark.parametrize("name", ["environment.json", "behaviors/000005.safetensors", "checkpoints/000012.safetensors"])
def test_what_has_no_checksum_is_damaged(name: str, copy: Path) -> None:
    path = copy / name
    if path.suffix == ".json":
        path.write_text(json.dumps(read_json(path)))
    else:
        path.write_bytes(safetensors.numpy.save(safetensors.numpy.load_file(path)))
    with pytest.raises(RunFolderError, match=rf"{path.name} is damaged"):
        Run(copy).checkpoint(GENERATIONS) if "checkpoints" in name else (Run(copy).environment, Run(copy).behaviors(5))


def test_what_a_checkpoint_vouches_for_is_on_the_disk_before_it(
    evolution: Evolution,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from evolvability.training.driver import train

    synced: set[int] = set()
    real = os.fsync

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real(descriptor)

    def stop(rows: list[dict[str, Any]]) -> None:
        if rows[0]["generation"] == 1:
            raise StopHereError

    monkeypatch.setattr(os, "fsync", noted)
    with pytest.raises(StopHereError):
        train(evolution, tmp_path / "run", stop)
    files = [
        file for folder in ("behaviors", "centers", "checkpoints") for file in (tmp_path / "run" / folder).iterdir()
    ]
    rows = {tmp_path / "run" / name for name in ("metrics.jsonl", "histograms.jsonl")}
    folders = {file.parent for file in files} | rows | {tmp_path / "run"}
    assert len(folders) == 6
    assert {file.stat().st_ino for file in [*files, *folders]} <= synced
