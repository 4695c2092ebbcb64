"""What is loaded when little is asked for."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import evolvability
from tests.patience import PATIENCE

HEAVY = ("jax", "numpy", "scipy", "matplotlib", "PIL", "optax", "mujoco", "warp")
LIGHT = (
    "--help",
    "--version",
    "list",
    "trian",
    "train antt",
    "train point --help",
    "train point --sigma -1",
    "train point --objective max_variance --bandwidth 2",
    "train point --objective max_entropy+mean_fitness --max-entropy.bandwidth 0",
    "train point --tyro-print-completion bash",
    "figure --help",
    "reproduce --help",
    "figure --tyro-print-completion zsh",
    "compare",
    "sweep nowhere.toml",
    "figure curvs run",
    "figure curves run --dimensions x",
    "video run --fresh 17",
    *(f"{command} nowhere" for command in ("show", "figure curves", "explore", "video", "adapt", "split", "resume")),
)
PROGRAM = f"""
import contextlib, io, json, sys
from evolvability.cli import main
def stream():
    return io.TextIOWrapper(io.BytesIO())
found = {{}}
for line in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(stream()), contextlib.redirect_stderr(stream()), contextlib.suppress(SystemExit):
        main(line.split())
    found[line] = [name for name in {HEAVY!r} if name in sys.modules]
found["modules"] = len(sys.modules)
print(json.dumps(found))
"""


def loaded(program: str, *arguments: str) -> str:
    """What a program prints in a process of its own."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def test_help_lists_completion_and_plain_errors_load_nothing_heavy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").touch()
    found = json.loads(loaded(PROGRAM, json.dumps(LIGHT)))
    assert found.pop("modules") < 500
    assert found == {line: [] for line in LIGHT}


def test_the_package_is_imported_without_what_is_in_it() -> None:
    program = f"import sys, evolvability; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert loaded(program).strip() == "[]"


def test_names_of_the_package_are_those_that_type_checkers_see() -> None:
    nodes = ast.walk(ast.parse(Path(str(evolvability.__file__)).read_text()))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and "evolvability" in str(node.module)]
    # Strict ones see no import without an "as".
    assert sorted(str(one.asname) for node in imports for one in node.names) == evolvability.__all__
    assert set(evolvability.__all__) <= set(dir(evolvability))
    assert all(getattr(evolvability, name) is not None for name in evolvability.__all__)
    with pytest.raises(AttributeError, match="no attribute 'evolv'"):
        _ = evolvability.evolv
