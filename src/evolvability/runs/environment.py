"""What a run was made with: versions, devices, commit."""

import importlib.metadata
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jax

PACKAGES = ("evolvability-es", "jax", "jaxlib", "numpy", "optax", "safetensors")
SIMULATORS = ("mujoco", "warp-lang", "gymnasium", "pybullet", "box2d")


def describe_environment() -> dict[str, Any]:
    """Versions of what is installed, the devices JAX sees, and the commit of a source checkout."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version for name in (*PACKAGES, *SIMULATORS) if (version := version_of(name))},
        "devices": describe_devices(),
        "jax": jax_settings(),
        "commit": _commit(),
    }


def describe_devices() -> list[str]:
    """The devices JAX sees."""
    return [f"{device.platform}: {device.device_kind}" for device in jax.devices()]


def jax_settings() -> dict[str, Any]:
    """What decides over a run's bits beside its configuration, by the environment's variables that set it."""
    names = ("jax_enable_x64", "jax_default_prng_impl", "jax_threefry_partitionable")
    return {name.upper(): getattr(jax.config, name) for name in names}


@cache
def version_of(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache  # what this process has imported stays as it is, whatever is committed meanwhile
def _commit() -> str | None:
    """The commit of the checkout this package lies in; None for an installed package."""
    root = Path(__file__).parents[3]  # ROOT/src/evolvability/runs/environment.py
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
