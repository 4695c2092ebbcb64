"""The command line as a user meets it: real processes, exit codes, messages."""

import contextlib
import errno
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evolvability import Run, RunFolderError
from evolvability.cli import COMMANDS, listing, main
from evolvability.cli.printing import free_folder
from evolvability.cli.training import parse_train
from evolvability.config.schema import layered, to_toml
from evolvability.core.entries import MixtureOptions, PopulationOptions
from evolvability.methods.registry import BehaviorOptions, EntropyOptions, FitnessOptions
from evolvability.runs.trust import objection, remember
from evolvability.runs.writer import RunWriter
from tests.patience import PATIENCE
from tests.synthetic import made_up

TINY = ("--generations", "4", "--population-size", "16")


def ees(*arguments: str, cwd: Path, code: int = 0) -> str:
    """Run `ees` in a process of its own; its whole output."""
    environment = os.environ | {"COLUMNS": "400", "NO_COLOR": "1"}
    result = subprocess.run(
        [sys.executable, "-m", "evolvability", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    output = result.stdout + result.stderr
    assert result.returncode == code, output
    assert "Traceback" not in output
    return output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one short run in it."""
    path = tmp_path_factory.mktemp("user")
    main(["train", "point", *TINY, "--output", str(path / "runs" / "first"), "--quiet"])
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command in this process, which has JAX loaded already."""
    main(arguments)
    return capsys.readouterr().out


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message of a command that must fail."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code not in (0, None)
    captured = capsys.readouterr()
    return re.sub(r"[\s│]+", " ", captured.err + captured.out)


def test_train_tells_what_it_does_and_what_came_of_it(folder: Path) -> None:
    output = ees("train", "interference", *TINY, "--seeds", "2", "--objective", "max-variance", cwd=folder)
    assert "interference: max_variance, 16 members, 4 generations, 2 seeds" in output
    assert re.search(r"4/4 generations  variance \S+  entropy \S+  fitness \S+  \S+ evaluations/s", output)
    assert "runs/interference-max_variance-1: variance" in output
    assert Run(folder / "runs" / "interference-max_variance-1").is_complete


def test_quiet_prints_the_result_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    output = run(capsys, "train", "point", *TINY, "--quiet")
    assert output.startswith("runs/point-max_entropy-1: variance")
    assert "evaluations/s" not in output


def test_a_config_file_repeats_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    *_, config = parse_train(["--config", "runs/first/config.toml"])
    assert config == Run("runs/first").config
    *_, changed = parse_train(["--config", "runs/first/config.toml", "--sigma", "0.5"])
    assert changed.population_options.sigma == 0.5
    assert changed.population_size == 16


def test_options_of_maml_its_task_and_every_run_are_given_side_by_side() -> None:
    options = ["--tasks", "5", "--inner-rate", "0.2", "--generations", "3", "--num-steps", "7"]
    *_, config = parse_train(["navigation", "--objective", "maml", *options])
    assert (config.objective_options.tasks, config.objective_options.inner_rate, config.generations) == (5, 0.2, 3)
    assert config.task_options.num_steps == 7


def test_options_that_change_nothing_are_told() -> None:
    with pytest.warns(UserWarning, match=r"--learning-rate changes nothing .* maml"):
        parse_train(["navigation", "--objective", "maml", "--learning-rate", "0.5"])


def test_an_option_of_another_objective_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    text = error(capsys, "train", "maze", "--objective", "qe_es", "--behavior-shaping", "none")
    assert "behavior_shaping is an option of max_variance, max_entropy" in text
    text = error(capsys, "train", "point", "--objective", "max_entropy+mean_fitness", "--bandwidth=2")
    assert "Give --max-entropy.bandwidth" in text


def test_terms_of_a_sum_have_options_of_their_own() -> None:
    terms = ["--objective", "mean_fitness+0.1*max-entropy"]
    *_, config = parse_train(["point", *terms, "--max-entropy.bandwidth", "2", "--max-entropy.leave-one-out"])
    assert config.objective_options["max_entropy"] == EntropyOptions("standardize", 2.0, True)
    assert config.objective_options["mean_fitness"] == FitnessOptions()


def test_a_population_has_options_of_its_own() -> None:
    *_, config = parse_train(
        ["point", "--population", "mixture", "--components", "3", "--sigma", "0.2", "--no-mirrored"]
    )
    assert config.population_options == MixtureOptions(0.2, False, components=3)


def test_a_file_gives_way_to_another_objective_and_population(tmp_path: Path) -> None:
    values = {"bandwidth": 2.0, "behavior_shaping": "robust", "sigma": 0.3, "sigma_decay": 0.9}
    (tmp_path / "own.toml").write_text(to_toml(layered("point", values=values)))
    replaced = ["--objective", "max_variance", "--population", "diagonal_normal"]
    *_, config = parse_train(["--config", str(tmp_path / "own.toml"), *replaced])
    assert config.objective_options == BehaviorOptions("robust")
    assert config.population_options == PopulationOptions(0.3)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_shows_nothing_of_the_inside(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    task = ["gymnasium"] if name == "train" else []
    with pytest.raises(SystemExit):
        main([name, *task, "--help"])
    text = re.sub(r"[\s│]+", " ", capsys.readouterr().out)
    for inside in ("default: )", "default: None", "default: '')", "task-options", "task_options"):
        assert inside not in text
    known = {"task", "objective", "population", "run folder", "workers"}
    assert set(re.findall(r"─ ([^─]+) options ─", text)) <= known


def test_hints_can_be_pasted_into_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my run"
    text = run(capsys, "train", "point", *TINY, "--quiet", "--output", str(path))
    hints = [line.split(": ", 1)[1] for line in text.splitlines() if ": ees " in line]
    assert [shlex.split(hint) for hint in hints] == [
        ["ees", "figure", "curves", str(path)],
        ["ees", "explore", str(path)],
    ]


def test_runs_are_called_by_their_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walker = layered("gymnasium", values={"task_options": {"env": "BipedalWalker-v3"}})
    assert free_folder(walker).name == "BipedalWalker-v3-max_entropy-1"
    made = made_up(tmp_path / "run", walker, np.zeros((1, 4, 1)), variance=np.ones((1, 1)))
    RunWriter(made.path).write_table("behavior.json", {"names": ["x (m)"]})
    text = run(capsys, "show", str(made.path))
    assert "gymnasium BipedalWalker-v3, max_entropy" in text
    assert "x (m)" in text


def test_help_shows_the_values_a_task_starts_from(capsys: pytest.CaptureFixture[str]) -> None:
    for objective, rate in (("max_variance", "0.03"), ("max_entropy", "0.1")):
        with pytest.raises(SystemExit) as stopped:
            main(["train", "interference", "--objective", objective, "--help"])
        assert stopped.value.code == 0
        text = re.sub(r"[\s│]+", " ", capsys.readouterr().out)
        assert f"The optimizer's step size. (default: {rate})" in text
        assert "Where the center starts. (default: 1.0)" in text


def test_colons_in_messages_are_not_taken_for_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    text = error(capsys, "train", "point", "--objective", "1:end:0*max_entropy")
    assert "'1:end:0'" in text
    assert "START:END:GENERATIONS" in text


def test_help_without_a_task_shows_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["train", "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert "usage: ees train TASK" in text
    assert "--learning-rate" in text


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "list")
    for name in ("interference", "point", "max_entropy", "max_variance", "mean_fitness", "mixture", "released-code"):
        assert name in text


def test_show_summarizes_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "show", str(folder / "runs" / "first"))
    assert "4/4 generations" in text
    assert "variance" in text


def test_resume_of_a_finished_run_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is complete" in run(capsys, "resume", str(folder / "runs" / "first")).replace("\n", " ")


def test_without_arguments_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys)
    for command in ("train", "resume", "show", "figure", "adapt", "evolve-from", "split", "measure", "compare", "list"):
        assert command in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "Unknown command 'trian'. Did you mean 'train'?"),
        (["train"], "which task?"),
        (["train", "--seeds", "2", "point"], "which task? It comes first"),
        (["train", "antt"], "Unknown task 'antt'"),
        (["train", "point", "--objective", "max_entropi"], "Did you mean 'max_entropy'?"),
        (["train", "point", "--sigma", "-1"], "sigma must be positive"),
        (["train", "point", "--population-size", "7"], "population_size must be even"),
        (["train", "point", "--preset", "smok"], "Unknown preset 'smok'. Did you mean 'smoke'?"),
        (["train", "point", "--sigmaa", "1"], "--sigma"),
        (["train", "point", "--config", "nowhere.toml"], "No configuration file at nowhere.toml"),
        (["resume", "nowhere"], "nowhere is not a run folder"),
        (["show"], "give at least one run folder"),
        (["figure", "curves"], "give at least one run folder"),
        (["resume", "runs/from-python"], "from Python: evolvability.resume(path, task)"),
        (["show", "nowhere"], "nowhere is not a run folder"),
        (["show", "runs"], "Runs inside of it: from-python"),
        (["train", "no_such_module:task"], "could not be imported"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_answered_with_a_reason(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "from-python").mkdir(parents=True)
    (tmp_path / "runs" / "from-python" / "config.toml").write_text('task = "python:arm"\n')
    assert message in error(capsys, *arguments)


def test_a_config_file_with_an_unknown_key_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text('task = "point"\nsigmma = 0.1\n')
    assert "Unknown configuration key 'sigmma'. Did you mean 'sigma'?" in error(capsys, "train", "--config", str(path))
    for wrong in ("task = ", f"sigma = {'9' * 5000}"):
        path.write_text(wrong)
        assert "is not valid TOML" in error(capsys, "train", "--config", str(path))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_PLATFORMS", "rocm"),
        ("JAX_PLATFORMS", "nonsense"),
        ("JAX_ENABLE_X64", "maybe"),
        ("JAX_DEFAULT_PRNG_IMPL", "nonsense"),
        ("JAX_NUM_CPU_DEVICES", "many"),
    ],
)
def test_a_variable_that_jax_refuses_is_named(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    said = ees("train", "point", "--generations", "1", "--output", "run", cwd=tmp_path, code=2)
    assert "error: JAX does not start: " in said
    assert f"{name}={value}" in said
    assert "Unset what it refuses" in said
    assert "Traceback" not in said
    assert not (tmp_path / "run").exists()


def test_a_task_that_raises_ends_with_a_message_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.py").write_text(
        "from evolvability import function_task\n"
        "def throw(x):\n    raise RuntimeError('elbow')\n"
        "def task():\n    return function_task(throw, [1.0, 2.0])\n"
    )
    output = error(capsys, "train", "arm:task")
    assert "Traceback" not in output
    assert "the behavior function raised at the start parameters: RuntimeError: elbow" in output


def test_square_brackets_are_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brackets.py").write_text(
        "from evolvability import function_task\n"
        "def throw(x):\n    raise RuntimeError('[/elbow] of [red]')\n"
        "def task():\n    return function_task(throw, [1.0, 2.0])\n"
    )
    assert "[/elbow] of [red]" in error(capsys, "train", "brackets:task")
    output = run(capsys, "train", "interference", *TINY, "--output", "runs/[bold]a[/b]", "--quiet")
    assert output.startswith("runs/[bold]a[/b]: variance")


def test_import_is_light_and_loads_no_simulator_plotting_or_web_library() -> None:
    heavy = ("mujoco", "gymnasium", "matplotlib", "viser", "pybullet", "dask", "plotly", "scipy.stats", "scipy.spatial")
    code = f"import sys, evolvability; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_full_disk_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    text = error(capsys, "train", "point", *TINY, "--quiet", "--output", str(tmp_path / "run"))
    assert "run" in text
    assert "No space left on device" in text


def test_a_file_that_cannot_be_read_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(tmp_path) in error(capsys, "train", "--config", str(tmp_path))


@pytest.mark.parametrize("rows", ['{"generation": 0, "seed": 0, "variance": "much"}', "[1]", '{"generation": {}}'])
def test_damaged_notes_and_metrics_are_told_in_a_sentence(
    rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made_up(tmp_path / "run", layered("point", values={"population_size": 4})).path
    (path / "metrics.jsonl").write_text(rows + "\n")
    with contextlib.suppress(SystemExit):
        main(["show", str(path)])
    assert "Traceback" not in capsys.readouterr().err
    (path / "origin.json").write_text("[")
    with pytest.raises(RunFolderError, match=r"origin\.json is damaged"):
        _ = Run(path).origin


def test_escape_sequences_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made_up(tmp_path / "\x1b]0;owned\x07run", layered("\x1b[31mred:task", values={"population_size": 4})).path
    main(["show", str(path)])
    shown = capsys.readouterr().out
    assert "owned" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (SystemExit(0), 2, "sys.exit(0)"),
        (SystemExit(None), 2, "sys.exit(None)"),
        (SystemExit("bye"), 2, "sys.exit('bye')"),
        (MemoryError("Unable to allocate 745 GiB"), 2, "745 GiB"),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"), 2, "surrogates"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_no_command_that_was_not_done_ends_with_success(
    raised: BaseException, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise raised

    monkeypatch.setattr(listing, "list_names", command)
    with pytest.raises(SystemExit) as stopped:
        main(["list"])
    assert stopped.value.code == code
    assert words in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_a_reader_who_leaves_is_no_mistake(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "evolvability", *arguments]
    with os.fdopen(writing) as gone:
        result = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (141, "")


def test_help_ends_with_success(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["show", "--help"])
    assert stopped.value.code == 0


def test_letters_that_a_terminal_lacks_or_that_turn_text_around_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made_up(tmp_path / "run", layered("point"), np.zeros((1, 4, 2)), variance=np.zeros((1, 2)))
    RunWriter(found.path).write_table("behavior.json", {"names": ["\N{MICRO SIGN}m", "\N{RIGHT-TO-LEFT OVERRIDE}abc"]})
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    main(["show", str(found.path)])
    screen.flush()
    assert b"behavior: ?m, ?abc;" in screen.buffer.getvalue()


def test_a_user_without_a_home_is_told_that_trust_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(path: Path) -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "expanduser", nobody)
    config = layered("of_mine:task")
    with pytest.warns(UserWarning, match=r"not remembered.*XDG_STATE_HOME"):
        remember(tmp_path, config)
    assert objection(tmp_path, config)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_end_no_command(closed: str, tmp_path: Path) -> None:
    program = (
        f"import sys; from evolvability.cli import main; main(sys.argv[1:]); open({str(tmp_path / 'done')!r}, 'w')"
    )
    command = shlex.join([sys.executable, "-c", program, "list"])
    done = subprocess.run(
        f"{command} {closed}", shell=True, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "done").read_bytes() == b""  # which has not got the number of a closed stream
