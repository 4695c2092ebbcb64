"""One rule for all commands: code that a folder names is imported only where this user trained or trusts the folder."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evolvability import cli
from evolvability.config.schema import layered
from evolvability.core.errors import RunFolderError
from evolvability.runs import trust
from evolvability.runs.export import export
from evolvability.runs.folder import Run
from evolvability.runs.writer import locked
from evolvability.training.driver import evolve, resume
from tests.synthetic import made_up

OWN = "from pathlib import Path\nfrom evolvability.tasks.registry import make_task\nPath('executed').touch()\n"
COMMANDS = {
    "video": ["gift", "--fresh", "1"],
    "adapt": ["gift", "-k", "2", "--repeats", "1"],
    "measure": ["gift", "--mutations", "4"],
    "race": ["gift", "--episodes", "2", "--repeats", "1"],
    "split": ["gift", "--generations", "1", "--output", "split"],
    "evolve-from": ["gift", "--generations", "1", "--output", "evolved"],
    "resume": ["gift", "--generations", "2"],
    "train": ["--config", "gift/config.toml", "--output", "new"],
    "sweep": ["sweep.toml", "--output", "swept"],
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose task is code that lies beside it."""
    path = tmp_path_factory.mktemp("trained") / "gift"
    evolve("point", generations=1, population_size=8, objective="max_variance", output=path, progress=False)
    text = (path / "config.toml").read_text().replace('task = "point"', 'task = "foreign:task"')
    (path / "config.toml").write_text(text.partition("[task_options]")[0])
    return path


@pytest.fixture
def gift(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """It, as somebody sent it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delitem(sys.modules, "foreign", raising=False)
    Path("foreign.py").write_text(OWN + "task = make_task('point')\n")
    Path("sweep.toml").write_text('task = "foreign:task"\npopulation_size = 4\n')
    shutil.copytree(trained, "gift")
    yield Path("gift")
    sys.modules.pop("foreign", None)


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    text = capsys.readouterr().err
    assert stopped.value.code == 2
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_imports_what_a_foreign_folder_names(
    command: str, gift: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = failed(capsys, command, *COMMANDS[command])
    assert "foreign:task" in text
    assert "--trust" in text
    assert not Path("executed").exists()


def test_trust_is_remembered_for_a_folder_and_what_it_names(gift: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(gift, "other")
    cli.main(["measure", str(gift), "--mutations", "4", "--trust"])
    cli.main(["measure", str(gift), "--mutations", "4"])
    cli.main(["export", str(gift), "slim"])  # which is as trusted
    cli.main(["measure", "slim/gift", "--mutations", "4"])
    assert "other" in failed(capsys, "measure", "other", "--mutations", "4")
    config = gift / "config.toml"
    config.write_text(config.read_text().replace("foreign:task", "foreign:another"))
    assert "foreign:another" in failed(capsys, "measure", str(gift), "--mutations", "4")


def test_what_this_user_trained_is_trusted(gift: Path) -> None:
    evolve("foreign:task", generations=1, population_size=4, objective="max_variance", output="mine", progress=False)
    resume("mine", generations=2, progress=False)
    assert Run("mine").task.behavior == ("x", "y")


def test_who_names_the_code_on_the_command_line_trusts_it(gift: Path) -> None:
    cli.main(["train", "foreign:task", "--config", "gift/config.toml", "--output", "new", "--quiet"])
    assert Path("executed").exists()


def test_looking_at_a_folder_needs_no_trust(gift: Path) -> None:
    cli.main(["show", str(gift)])
    cli.main(["export", str(gift), "slim"])
    cli.main(["figure", "curves", str(gift)])
    cli.main(["compare", str(gift), str(gift), "--metric", "variance"])
    assert not Path("executed").exists()


@pytest.mark.parametrize("command", ["resume", "train"])
def test_arguments_of_an_environment_are_passed_on_only_if_trusted(
    command: str, gift: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(gift)
    os.mkfifo("pipe.xml")  # to read it would take forever
    options = {"env": "HalfCheetah-v5", "env_arguments": '{"xml_file": "pipe.xml"}', "behavior": "observation:0,1"}
    made_up(gift, layered("gymnasium", values={"population_size": 4, "task_options": options}))
    assert "pipe.xml" in failed(capsys, command, *COMMANDS[command])


@pytest.mark.parametrize("name", ["behaviors", "metrics.jsonl.part", ".lock", "adaptations"])
def test_nothing_is_read_or_written_through_a_link(name: str, tmp_path: Path) -> None:
    run = made_up(tmp_path / "run", layered("point"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    link = run.path / name
    if link.is_dir():
        link.rmdir()
    link.symlink_to(elsewhere)
    with pytest.raises(RunFolderError, match=f"{name} is a link"):
        Run(run.path)
    with pytest.raises(RunFolderError, match=f"{name} is a link"), locked(run.path):
        pass
    assert elsewhere.read_text() == "mine"


@pytest.mark.parametrize("name", ["behaviors", "adaptations", "behaviors/000000.safetensors", "metrics.jsonl", ".lock"])
def test_what_may_not_be_read_is_neither_damaged_nor_missing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made_up(tmp_path / "run", layered("point"), np.zeros((1, 4, 2)))
    closed = run.path / name
    closed.mkdir() if name == "adaptations" else closed.touch()
    allowed = os.access  # root may all
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and allowed(path, mode))
    with pytest.raises(RunFolderError, match=rf"{name} may not be read by this user, so .*run is not opened"):
        Run(run.path)


def test_a_folder_whose_names_cannot_be_listed_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in it could be a link, and read by its name."""
    run = made_up(tmp_path / "run", layered("point"))

    def refuse(path: object = ".") -> None:
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("listdir", "scandir"):  # root may list every folder
        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(PermissionError, match="run"):
        Run(run.path)


def test_an_export_copies_no_file_that_a_link_leads_to(tmp_path: Path) -> None:
    run = made_up(tmp_path / "run", layered("point"))
    (run.path / "races").mkdir()
    (run.path / "races" / "right.json").symlink_to(tmp_path / "private_key")
    (tmp_path / "private_key").write_text("secret")
    with pytest.raises(RunFolderError, match=r"right\.json is a link"):
        export(Run(run.path), tmp_path / "slim")


def test_a_run_in_progress_may_replace_its_files_while_another_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made_up(tmp_path / "run", layered("point"))
    part = run.path / "metrics.jsonl.part"
    part.touch()
    entries = trust._entries

    def replaced_meanwhile(path: Path, names: set[str]) -> Iterator[Path]:
        for entry in entries(path, names):
            if entry.name == part.name:
                part.unlink()
            yield entry

    monkeypatch.setattr(trust, "_entries", replaced_meanwhile)
    assert Run(run.path).config == run.config
    assert not part.exists()
