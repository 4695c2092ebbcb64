"""The package as somebody else gets it: built, and installed beside nothing but what it always needs."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.patience import PATIENCE

pytest.importorskip("setuptools", minversion="77", reason="the extra 'dev' brings what builds the package")

ROOT = Path(__file__).parents[1]
EXTRAS = ("mujoco", "gymnasium", "Box2D", "pybullet", "distributed", "imageio", "pytest", "zensical")
"""Modules that the package does without until they are asked for."""


def build(kind: str, source: Path, output: Path) -> Path:
    """A wheel or an sdist, by the backend that pyproject.toml names; no index is asked."""
    output.mkdir(exist_ok=True)
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(output)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, check=True, timeout=PATIENCE)
    return next(file for file in output.iterdir() if file.suffix == {"wheel": ".whl", "sdist": ".gz"}[kind])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, so that the sdist has all it takes."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "clone"  # building leaves files behind
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    # Not by tarfile: how it asks to be called differs between the Pythons that are promised.
    subprocess.run(["tar", "xzf", build("sdist", source, folder / "dist"), "-C", folder], check=True, timeout=PATIENCE)
    return build("wheel", next(folder.glob("evolvability_es-*")), folder / "dist")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a Python that has the wheel, and none of the extras."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({EXTRAS}))\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


def ees(environment: dict[str, str], folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "evolvability", *command.split()]
    return subprocess.run(
        run, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.full
def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = {path for path in (ROOT / "src" / "evolvability").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {str(path.relative_to(ROOT / "src")) for path in files} <= names


@pytest.mark.full
def test_an_installed_wheel_lists_and_trains_without_any_extra(installed: dict[str, str], tmp_path: Path) -> None:
    listed = ees(installed, tmp_path, "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "interference" in listed.stdout
    trained = ees(installed, tmp_path, "train interference --preset smoke --output run")
    assert trained.returncode == 0, trained.stderr
    shown = ees(installed, tmp_path, "show run")
    assert shown.returncode == 0, shown.stderr


@pytest.mark.full
def test_an_installed_wheel_says_what_a_robot_lacks(installed: dict[str, str], tmp_path: Path) -> None:
    """No clone is there to install from, so that the packages themselves are named."""
    done = ees(installed, tmp_path, "train cheetah --output run")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "which is not installed" in done.stderr
    assert f"{sys.executable} -m pip install 'mujoco" in done.stderr.replace("\n", " ")


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with both wheels, as pip installs them, and none of the repository."""
    folder = tmp_path_factory.mktemp("clean")
    source = folder / "physics"
    shutil.copytree(ROOT / "physics", source, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__", "build"))
    physics = build("wheel", source, folder / "dist")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    install = [str(programs / "python"), *["-m", "pip", "install", "--no-index", "--no-deps"], str(wheel), str(physics)]
    subprocess.run(install, capture_output=True, check=True, timeout=PATIENCE)
    # What they depend on, from here. Packages that are installed from a clone are found by .pth files, which count
    # in an environment's own folder alone: so these two are not.
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text("\n".join(others))
    return programs


@pytest.mark.full
@pytest.mark.parametrize("task", ["point", "cheetah"])
def test_both_wheels_train_outside_of_the_repository(clean: Path, task: str, tmp_path: Path) -> None:
    if task == "cheetah":
        pytest.importorskip("mujoco")
        pytest.importorskip("gymnasium")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            [clean / command[0], *command[1:]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = run("python", "-c", "import evolvability, mujoco_fused as m; print(evolvability.__file__, m.__file__)")
    assert [Path(path).is_relative_to(clean.parent) for path in found.split()] == [True, True]
    run("ees", "train", task, "--preset", "smoke", "--output", "run")
    assert "generations" in run("ees", "show", "run")
