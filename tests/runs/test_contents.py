"""Files that are intact, but hold what no run has written: each is refused by its name, never by a traceback."""

import errno
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from evolvability import ConfigError, Run, RunFolderError, cli, evolve
from evolvability.runs.export import export
from evolvability.runs.rows import to_lines
from evolvability.runs.sealed import from_json, keep_beside, read_arrays, to_bytes, to_json, write_whole
from evolvability.runs.writer import RunWriter, damage_in
from evolvability.studies.adaptation import Adaptation, load_adaptation, save_adaptation
from evolvability.studies.groups import run_identity, start_name
from evolvability.studies.offspring import kept_offspring, kept_sigmas, save_offspring
from evolvability.studies.races import Raced, races_of, save_race
from evolvability.training.driver import resume

SETTINGS: dict[str, Any] = {
    "population_size": 8,
    "generations": 4,
    "seeds": 2,
    "record_every": 2,
    "objective": "max_variance",
    "checkpoint_seconds": 1e6,  # at its beginning and its end alone, however slow this machine is
}
OPTIONS = {"num_steps": 3, "hidden": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("contents") / "run"
    evolve("point", **SETTINGS, task_options=OPTIONS, output=path, progress=False)
    run, scores = Run(path), np.zeros((2, 3))
    save_adaptation(run, Adaptation("right", 0.1, scores, scores[..., None], None, 4))
    save_race(run, Raced("right", "mutations", np.arange(3), scores[..., None], 4))
    save_offspring(run, run.config.population_options.sigma, np.zeros((2, 5, 2)), 4)
    table = {"config": {"task": "point", "objective": "max_entropy", "task_options": {}}}
    (path / "origin.json").write_text(to_json(table))
    return path


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def arrays(*names: str, shape: tuple[int, ...] = (2, 8), value: float = 0.0) -> bytes:
    """With a checksum that fits, as whoever forges one would have it, and of any generation."""
    return to_bytes({name: np.full(shape, value, np.float32) for name in names}, {"generation": "000003"})


def row(name: str, value: Any, **others: Any) -> bytes:
    rows = ({"generation": k, "seed": s, name: value, **others} for k in range(2) for s in range(2))
    return b"".join(to_lines(rows))


def sealed(**table: Any) -> bytes:
    return to_json(table).encode()


READ: dict[str, Callable[[Run], Any]] = {
    "environment.json": lambda run: run.environment,
    "origin.json": lambda run: (start_name(run), run_identity(run)),
    "metrics.jsonl": lambda run: (run.metrics["distance"], damage_in(run)),
    "behaviors/000003.safetensors": lambda run: run.behaviors(),
    "centers/000002.safetensors": lambda run: run.drawn_around(2),
    "adaptations/right.json": lambda run: load_adaptation(run, "right").growth(),
    "races/right-mutations.json": races_of,
    "offspring/0.05.safetensors": kept_offspring,
}
NO_METRICS: list[Any] = ["x", {}, 10**400]
STRANGE: list[tuple[str, bytes]] = [
    ("environment.json", b"[]"),
    *(("environment.json", sealed(**table)) for table in ({"a": 1}, {"packages": 5, "devices": 7})),
    *(("origin.json", sealed(config=config)) for config in (5, {"objective": 5}, {})),
    ("origin.json", sealed(config={"objective": "max_entropy", "task_options": []})),
    *(("metrics.jsonl", row("distance", value)) for value in NO_METRICS),
    ("metrics.jsonl", row("distance", 1, objective=[])),
    ("metrics.jsonl", row("other", 1)),
    ("behaviors/000003.safetensors", arrays("x")),
    ("behaviors/000003.safetensors", arrays("behavior", "fitness", "valid", "component")),
    ("behaviors/000003.safetensors", arrays("behavior", "fitness", "valid", shape=(0, 0, 0))),
    ("centers/000002.safetensors", arrays("x")),
    ("centers/000002.safetensors", arrays("parameters/center", "key")),
    ("adaptations/right.json", sealed(a=1)),
    ("adaptations/right.json", sealed(goal="right")),
    ("adaptations/right.json", sealed(goal=5, scores=5, repeated=6, start_noise=0)),
    ("adaptations/right.json", sealed(goal="right", scores=[], repeated=[], start_noise=0)),
    ("races/right-mutations.json", sealed(goal="right", adapter="x", episodes="q", repeated="r")),
    ("races/right-mutations.json", sealed(goal="right", adapter="es", episodes=[0], repeated=[[[1]]])),
    ("offspring/0.05.safetensors", arrays("x")),
    ("offspring/0.05.safetensors", arrays("behavior")),
]


@pytest.mark.filterwarnings("ignore:.*metrics.jsonl is damaged, and empty")
@pytest.mark.parametrize(("name", "content"), STRANGE)
def test_what_no_run_has_written_is_refused_by_its_name(name: str, content: bytes, copy: Path) -> None:
    READ[name](Run(copy)) if name != "metrics.jsonl" else Run(copy).metrics["distance"]  # as it was, it is read
    (copy / name).write_bytes(content)
    with pytest.raises(RunFolderError, match=name):
        READ[name](Run(copy))


@pytest.mark.parametrize("value", [np.inf, -5, 10**400, None, []])
def test_a_generation_that_is_no_number_is_a_lost_row(value: Any, copy: Path) -> None:
    rows = [row | {"generation": value} if row["generation"] == 1 else row for row in Run(copy).rows]
    (copy / "metrics.jsonl").write_bytes(b"".join(to_lines(rows)))
    with pytest.warns(UserWarning, match=r"metrics\.jsonl is damaged.* 1\."):
        assert np.isnan(Run(copy).metrics["distance"][:, 1]).all()


def test_a_metric_that_is_a_list_in_every_row_is_damage(copy: Path) -> None:
    (copy / "metrics.jsonl").write_bytes(b"".join(to_lines(row | {"distance": [1, 2]} for row in Run(copy).rows)))
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl is damaged: distance is a list, not a number"):
        _ = Run(copy).metrics


@pytest.mark.parametrize("value", ["77", {}, [1, 2], [[1], [1, 2]]])
def test_a_metric_that_is_no_number_in_one_row_is_damage(value: Any, copy: Path) -> None:
    rows = [row | {"distance": value} if row["generation"] == 1 else row for row in Run(copy).rows]
    (copy / "metrics.jsonl").write_bytes(b"".join(to_lines(rows)))
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl is damaged: distance is not a number in every row"):
        _ = Run(copy).metrics


@pytest.mark.parametrize("lines", [b"", b"\n" * 100_000])
def test_a_row_claims_no_more_before_it_than_its_file_has_room_for(lines: bytes, copy: Path) -> None:
    content = (copy / "metrics.jsonl").read_bytes() + lines
    claim = to_lines([{"generation": len(content) // 80, "seed": 1, "distance": 1}])
    (copy / "metrics.jsonl").write_bytes(content + b"".join(claim))
    assert len(Run(copy).rows) == 8


def test_rows_stay_whatever_is_lost_before_them(copy: Path) -> None:
    lines = (copy / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "metrics.jsonl").write_bytes(b"".join(lines[-2:]))
    with pytest.warns(UserWarning, match=r"metrics\.jsonl is damaged.* 0, 1, 2\."):
        assert np.isfinite(Run(copy).metrics["distance"]).tolist() == 2 * [[*3 * [False], True]]


def test_rows_with_the_line_ends_of_windows_are_rows(copy: Path) -> None:
    rows, metrics = Run(copy).rows, copy / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes().replace(b"\n", b"\r\n"))
    assert Run(copy).rows == rows


def test_members_that_are_not_finite_are_not_valid(copy: Path) -> None:
    many = {"fitness": (2, 8), "valid": (2, 8), "component": (2, 8), "behavior": (2, 8, 2)}
    found = {name: np.full(shape, 1 if name == "valid" else np.nan, np.float32) for name, shape in many.items()}
    (copy / "behaviors" / "000003.safetensors").write_bytes(to_bytes(found, {"generation": "000003"}))
    assert not Run(copy).behaviors()["valid"].any()


def strange_checkpoint(path: Path, change: Callable[[dict[str, Any]], Any], **facts: Any) -> None:
    file = path / "checkpoints" / "000004.safetensors"
    state, known = read_arrays(file)
    data = change(state)
    known["voucher"] = to_json(from_json(known["voucher"]) | facts)
    file.write_bytes(data if isinstance(data, bytes) else to_bytes(data, known))


@pytest.mark.parametrize(
    "change",
    [
        lambda state: b"garbage",
        lambda state: {"x": np.zeros(3)},
        lambda state: state | {"parameters/center": np.zeros(3)},
        lambda state: state | {"parameters/center": state["parameters/center"][:0]},
    ],
)
def test_a_checkpoint_that_is_no_state_is_passed_over(change: Callable[[dict[str, Any]], Any], copy: Path) -> None:
    strange_checkpoint(copy, change)
    with pytest.warns(UserWarning, match=r"000004\.safetensors is damaged"):
        assert Run(copy).checkpoint()["generation"][0] == 0


def test_a_checkpoint_under_another_ones_name_is_passed_over(copy: Path) -> None:
    shutil.copy(copy / "checkpoints" / "000000.safetensors", copy / "checkpoints" / "000004.safetensors")
    with pytest.warns(UserWarning, match=r"000004\.safetensors is damaged"):
        Run(copy).checkpoint()


def test_a_checkpoint_with_a_strange_configuration_is_passed_over(copy: Path) -> None:
    strange_checkpoint(copy, lambda state: state, config=[1])
    with pytest.warns(UserWarning, match=r"000004\.safetensors is damaged"):
        resume(Run(copy), generations=5, progress=False)


def test_centers_of_other_seeds_than_the_configuration_says_are_refused(copy: Path) -> None:
    config = copy / "config.toml"
    config.write_text(config.read_text().replace("seeds = 2", "seeds = 3"))
    with pytest.warns(UserWarning, match="edited"), pytest.raises(RunFolderError, match=r"2 seeds.*says 3"):
        Run(copy).parents()


def test_a_generation_under_another_ones_name_is_damage(copy: Path) -> None:
    shutil.copy(copy / "behaviors" / "000000.safetensors", copy / "behaviors" / "000002.safetensors")
    with pytest.raises(RunFolderError, match=r"000002\.safetensors is damaged: it is that of generation 000000"):
        Run(copy).behaviors(2)
    assert copy / "behaviors" / "000002.safetensors" in damage_in(Run(copy))[0]


def test_a_file_that_somebody_removed_is_missed(copy: Path, made: Path) -> None:
    shutil.rmtree(copy / "offspring")  # which is nobody's to miss
    (copy / "behaviors" / "000003.safetensors").unlink()
    (copy / "centers" / "000002.safetensors").unlink()
    (copy / "histograms.jsonl").unlink()
    with pytest.warns(UserWarning, match=r"histograms\.jsonl is gone, and empty for the generations 0, 1, 2, 3"):
        assert not Run(copy).histograms()
    with pytest.warns(UserWarning, match=r"behaviors lacks the generations 3"):
        assert Run(copy).recorded == [0, 2]
    with pytest.warns(UserWarning, match=r"centers lacks the generations 2"):
        assert Run(copy).rebuildable == [0, 3, 4]
    with pytest.warns(UserWarning, match="is missing. What it lacks is done again"):
        resume(Run(copy), progress=False)
    np.testing.assert_array_equal(Run(copy).behaviors(3)["behavior"], Run(made).behaviors(3)["behavior"])
    assert len(Run(copy).histograms()) == len(Run(made).histograms()) == 8
    assert not damage_in(Run(copy))[0]


def test_what_cannot_be_done_again_is_missed_once(copy: Path) -> None:
    (copy / "behaviors" / "000002.safetensors").unlink()
    (copy / "checkpoints" / "000000.safetensors").unlink()
    with pytest.warns(UserWarning, match=r"000002\.safetensors is missing. No checkpoint is left"):
        resume(Run(copy), progress=False)
    assert Run(copy).recorded == [0, 3]  # pytest makes warnings errors


@pytest.mark.filterwarnings("error")
def test_a_slim_export_misses_nothing(copy: Path, tmp_path: Path) -> None:
    cli.main(["export", str(copy), str(tmp_path / "slim"), "--behaviors", "1"])
    slim = Run(tmp_path / "slim" / "run")
    assert slim.recorded == [3]
    assert slim.rebuildable == [3, 4]


def test_rows_are_said_to_be_done_again_only_where_a_checkpoint_is_left_for_it(copy: Path, tmp_path: Path) -> None:
    slim = export(Run(copy), tmp_path / "slim")
    for folder, advice in ((copy, "What can be is done again by: ees resume"), (slim, "No checkpoint is left")):
        (folder / "histograms.jsonl").unlink()
        with pytest.warns(UserWarning, match=rf"histograms\.jsonl is gone, and empty for .* 0, 1, 2, 3\. {advice}"):
            assert not Run(folder).histograms()


@pytest.mark.filterwarnings("ignore:.*damaged")
def test_a_damaged_center_does_not_keep_a_run_from_being_exported(copy: Path, tmp_path: Path) -> None:
    (copy / "centers" / "000003.safetensors").write_bytes(b"torn")
    slim = export(Run(copy), tmp_path / "slim")
    assert Run(slim).is_complete
    assert (slim / "centers" / "000003.safetensors").read_bytes() == b"torn"


def test_stray_files_among_results_are_passed_over(copy: Path) -> None:
    shutil.copy(copy / "offspring" / "0.05.safetensors", copy / "offspring" / "notes.safetensors")
    assert kept_sigmas(Run(copy)) == [0.05]


def test_a_second_damage_does_not_replace_what_was_kept_of_the_first(tmp_path: Path) -> None:
    for content in (b"one", b"two", b"two"):
        (tmp_path / "file").write_bytes(content)
        keep_beside(tmp_path / "file")
    assert (tmp_path / "file.damaged").read_bytes() == b"one"
    assert (tmp_path / "file.damaged2").read_bytes() == b"two"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_damaged_checkpoint_and_an_edited_configuration_are_kept_beside(copy: Path) -> None:
    (copy / "checkpoints" / "000004.safetensors").write_bytes(b"torn")
    config = copy / "config.toml"
    config.write_text("# a note of mine\n" + config.read_text())
    with pytest.warns(UserWarning, match="damaged"):
        resume(Run(copy), generations=5, progress=False)
    assert (copy / "checkpoints" / "000004.safetensors.damaged").read_bytes() == b"torn"
    assert "a note of mine" in (copy / "config.toml.damaged").read_text()


def test_another_result_does_not_replace_one_in_silence(copy: Path) -> None:
    run, more = Run(copy), np.ones((2, 5))
    before = (copy / "adaptations" / "right.json").read_bytes()
    with pytest.warns(UserWarning, match=r"right\.json held another result.*right\.json\.former"):
        save_adaptation(run, Adaptation("right", 0.1, more, more[..., None], None, 4))
    assert (copy / "adaptations" / "right.json.former").read_bytes() == before
    assert load_adaptation(run, "right").scores.shape == (2, 5)


def test_what_is_left_of_a_run_is_not_mixed_with_another(copy: Path) -> None:
    (copy / "config.toml").unlink()
    with pytest.raises(RunFolderError, match=r"what is left of a run, such as .*behaviors"):
        evolve("point", **SETTINGS, task_options=OPTIONS, output=copy, progress=False)


def test_nothing_is_written_to_a_file_that_has_a_name_elsewhere(copy: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    os.link(precious, copy / "metrics.jsonl.part")
    write_whole(copy / "metrics.jsonl", b"new")
    (copy / ".lock").unlink(missing_ok=True)
    os.link(precious, copy / ".lock")
    with pytest.raises(RunFolderError, match=r"\.lock is a file that has another name"):
        Run(copy)
    assert precious.read_text() == "mine"


def test_nothing_that_lies_deeper_than_a_run_has_folders_is_looked_at(copy: Path, tmp_path: Path) -> None:
    deep = copy / "races" / "deep"
    deep.mkdir(parents=True)
    (deep / "left.json").symlink_to("/etc/passwd")
    os.mkfifo(deep / "right.json")
    (copy / "races" / "left.json").write_text("{}")
    slim = export(Run(copy), tmp_path / "slim")
    assert (slim / "races" / "left.json").is_file()
    assert not (slim / "races" / "deep").exists()


def test_an_array_that_no_memory_holds_is_refused(copy: Path) -> None:
    with (copy / "checkpoints" / "000004.safetensors").open("ab") as file:
        file.truncate(1 << 43)  # sparse: it takes no room
    with pytest.raises(RunFolderError, match=r"000004\.safetensors has 8,796 GB"):
        Run(copy)


def test_a_disk_that_is_full_in_the_middle_of_a_row_is_told_by_the_files_name(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(rows: Any) -> list[bytes]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("evolvability.runs.writer.to_lines", full)
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl cannot be written: No space left"):
        RunWriter(copy).append("metrics.jsonl", [])


def typed(kind: str, size: int) -> bytes:
    header = json.dumps({"center": {"dtype": kind, "shape": [22], "data_offsets": [0, 22 * size]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(22 * size)


def saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def zipped(array: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, array)
    return file.getvalue()


BOMB = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 22)}" % 10**14
CENTERS = {
    "of a type that NumPy lacks.safetensors": lambda: typed("F8_E4M3", 1),
    "texts.npy": lambda: saved(np.array(["x"] * 22)),
    "times.npy": lambda: saved(np.zeros(22, "M8[s]")),
    "objects.npy": lambda: saved(np.array([{}], dtype=object)),
    "nothing.npy": lambda: saved(np.zeros((0, 22))),
    "petabytes.npy": lambda: b"\x93NUMPY\x01\x00" + len(BOMB).to_bytes(2, "little") + BOMB + bytes(50),
    "empty.npy": lambda: b"",
    "archive.npy": lambda: zipped(np.zeros(22)),
    "nested.npy": lambda: b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + b"(" * 118,
}


TINY = ("point", "--hidden", "2", "--generations", "1", "--population-size", "4", "--quiet")


@pytest.mark.parametrize("name", CENTERS)
def test_centers_that_are_no_numbers_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_bytes(CENTERS[name]())
    with pytest.raises(SystemExit) as stopped:
        cli.main(["train", *TINY, "--start-from", str(tmp_path / name), "--output", str(tmp_path / "run")])
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_a_pipe_in_the_place_of_centers_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "center.npy")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", *TINY, "--start-from", str(tmp_path / "center.npy"), "--output", str(tmp_path / "run")])
    assert "not an ordinary file" in capsys.readouterr().err.replace("\n", " ")


def test_more_rows_than_a_run_has_are_refused(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ({"generation": k, "seed": s, "distance": 1} for k in range(200) for s in range(2))
    (copy / "metrics.jsonl").write_bytes(b"".join(to_lines(rows)))
    assert len(Run(copy).rows) == 400
    monkeypatch.setattr("evolvability.runs.rows.MAX_ROWS", 200)
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl is damaged: 100 generations of 2 seeds are too many"):
        _ = Run(copy).rows


def test_settings_of_jax_that_made_a_run_are_recorded_and_asked_for(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = {"JAX_ENABLE_X64": False, "JAX_DEFAULT_PRNG_IMPL": "threefry2x32", "JAX_THREEFRY_PARTITIONABLE": True}
    assert Run(copy).environment["jax"] == recorded
    with jax.threefry_partitionable(False), pytest.raises(RunFolderError, match="JAX_THREEFRY_PARTITIONABLE is False"):
        resume(Run(copy), generations=5, progress=False)
    monkeypatch.setattr("evolvability.runs.checkpoints.jax_settings", lambda: {"JAX_ENABLE_X64": True})
    with pytest.raises(RunFolderError, match="JAX_ENABLE_X64 is True now, but the run was made with False"):
        resume(Run(copy), generations=5, progress=False)


def test_random_keys_of_another_kind_are_refused() -> None:
    with jax.default_prng_impl("rbg"), pytest.raises(ConfigError, match=r"threefry2x32.*rbg.*JAX_DEFAULT_PRNG_IMPL"):
        evolve("point", **SETTINGS, task_options=OPTIONS, progress=False)


def test_a_run_that_lost_its_checkpoints_is_not_called_an_export(copy: Path) -> None:
    shutil.rmtree(copy / "checkpoints")
    with pytest.raises(RunFolderError, match="left out of an export, or lost"):
        resume(Run(copy), progress=False)


def test_histograms_that_no_memory_holds_are_refused(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(Run(copy).histograms()) == 8
    monkeypatch.setattr("evolvability.runs.histograms.MOST_CELLS", 100)
    with pytest.raises(RunFolderError, match=r"histograms\.jsonl.* more than it may hold"):
        Run(copy).histograms()
