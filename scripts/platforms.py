"""Which platforms and Pythons the pinned packages can be installed on: pip resolves them all, and installs nothing.

    make platforms

Prints the table of CONTRIBUTING. Ends with 1 if what `make demo` or `make test` installs cannot be had somewhere; the
optional extras may be missing. Wheels only: whoever tries this project has no compiler.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
INSTALLED = re.findall(r'-e "\.\[([\w,]+)\]"', (ROOT / "Makefile").read_text())
TIERS = dict(zip(("make demo", "make test"), (extras.split(",") for extras in INSTALLED), strict=True))
"""Extras that the Makefile's two environments install."""
OPTIONAL = re.findall(r"call optional,(\w+),", (ROOT / "Makefile").read_text())
"""Extras that may be missing on a platform."""

PIP = """
import json, runpy, sys
from pip._internal.exceptions import InstallationError
from pip._internal.operations.prepare import RequirementPreparer
from pip._vendor.packaging import markers

def stop(*_, **__):
    raise InstallationError("RESOLVED")

there = json.loads(sys.argv.pop(1))
here = markers.default_environment
markers.default_environment = lambda: {**here(), **there}
RequirementPreparer.prepare_linked_requirements_more = stop
runpy.run_module("pip", run_name="__main__")
"""
"""pip, with two changes.

Its --platform and --python-version choose among wheels only. Conditions such as `python_version < "3.12"` it asks of
the Python that runs it, so that a package needed there alone would be missed: here they are answered for the other
place. And even a dry run fetches every wheel in the end, gigabytes in all: here it stops once all of them are chosen.
"""


@dataclass(frozen=True)
class Platform:
    """Where a wheel is to run.

    Attributes:
        name: for people.
        tags: what wheels for it may be called; pip adds older versions of macOS by itself, but not older glibc.
        system: sys_platform, platform_system and os_name, as conditions name them.
        machine: platform_machine.
    """

    name: str
    tags: tuple[str, ...]
    system: tuple[str, str, str]
    machine: str

    def environment(self, python: str) -> dict[str, str]:
        """The values of conditions there."""
        names = ("sys_platform", "platform_system", "os_name")
        versions = {"python_version": python, "python_full_version": f"{python}.0"}
        return {**dict(zip(names, self.system, strict=True)), "platform_machine": self.machine, **versions}


def _glibc(machine: str, newest: int) -> tuple[str, ...]:
    return (*(f"manylinux_2_{minor}_{machine}" for minor in range(newest, 16, -1)), f"manylinux2014_{machine}")


LINUX, MACOS = ("linux", "Linux", "posix"), ("darwin", "Darwin", "posix")
PLATFORMS = (
    Platform("Linux x86-64 (glibc 2.28)", _glibc("x86_64", 28), LINUX, "x86_64"),
    Platform("Linux aarch64 (glibc 2.28)", _glibc("aarch64", 28), LINUX, "aarch64"),
    Platform("macOS 14 arm64", ("macosx_14_0_arm64",), MACOS, "arm64"),
)


def requirements(*extras: str, base: bool = True, folder: Path = ROOT) -> list[str]:
    """What a pyproject.toml asks for; what the one in physics/ asks for, in the place of its own name."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"]) if base else []
    wanted += [line for extra in extras for line in project["optional-dependencies"][extra]]
    found: list[str] = []
    for line in wanted:
        physics = re.fullmatch(r"mujoco-fused(?:\[(\w+)\])?", line)
        found += requirements(*filter(None, physics.groups()), folder=ROOT / "physics") if physics else [line]
    return found


def resolve(platform: Platform, python: str, wanted: list[str]) -> str:
    """The package that has no wheel there, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("\n".join(wanted))
        tags = [f"--platform={tag}" for tag in platform.tags]
        dry = ["install", "--dry-run", "--ignore-installed", "--only-binary=:all:", f"--target={folder}/x"]
        dry.append("--use-feature=fast-deps")  # reads a wheel's metadata alone, also where the index does not offer it
        command = [*dry, *tags, f"--python-version={python}", f"-c{ROOT / 'constraints.txt'}", f"-r{file}"]
        run = [sys.executable, "-c", PIP, json.dumps(platform.environment(python)), *command]
        quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        done = subprocess.run(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet, check=False)
    if "RESOLVED" in done.stdout:
        return ""
    if os.environ.get("VERBOSE"):
        print(done.stdout, file=sys.stderr)
    for words in ("No matching distribution found for", "depends on", "Cannot install"):
        if found := re.findall(rf"{words} ([\w.-]+)", done.stdout):
            return str(found[-1])
    return done.stdout.splitlines()[-1]


def row(platform: Platform, python: str) -> dict[str, str]:
    """What is missing there, by column."""
    demo, test = TIERS
    missing = {test: resolve(platform, python, requirements(*TIERS[test]))}
    # What the demo needs is part of what the tests need.
    missing[demo] = missing[test] and resolve(platform, python, requirements(*TIERS[demo]))
    return missing | {extra: resolve(platform, python, requirements(extra, base=False)) for extra in OPTIONAL}


def main() -> int:
    """Print the table as it goes, and say what would stop a newcomer."""
    columns, began, stopped = (*TIERS, *OPTIONAL), time.perf_counter(), []
    print(f"| platform | Python | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    places = list(product(PLATFORMS, PYTHONS))
    with ThreadPoolExecutor(6) as pool:  # they wait for the index most of the time
        for (platform, python), missing in zip(places, pool.map(lambda place: row(*place), places), strict=True):
            cells = [f"no: {missing[name]}" if missing[name] else "yes" for name in columns]
            print(f"| {platform.name} | {python} | {' | '.join(cells)} |", flush=True)
            stopped += [f"{tier} on {platform.name}, Python {python}" for tier in TIERS if missing[tier]]
    print(f"\n{len(places)} environments in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    for place in stopped:
        print(f"Stops: {place}", file=sys.stderr)
    return 1 if stopped else 0


if __name__ == "__main__":
    sys.exit(main())
