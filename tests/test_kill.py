"""kill -9 at random moments: a run that was killed and resumed ends with the same bits as one that was not."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from evolvability import Run
from tests.test_runs import assert_same_run

KILLS = 20
KNOBS = (
    "--generations", "1000", "--population-size", "64", "--seeds", "2", "--record-every", "7",
    "--checkpoint-seconds", "0.02", "--quiet",
)  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "evolvability", *arguments]


def test_twenty_kills_change_no_bit(tmp_path: Path) -> None:
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "xla"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment = os.environ | cache
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    train = ("train", "interference", *KNOBS, "--output")
    subprocess.run(command(*train, str(undisturbed)), env=environment, check=True, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    subprocess.run(command(*train, str(tmp_path / "timed")), env=environment, check=True, stdout=subprocess.DEVNULL)
    whole = time.monotonic() - began

    chance = random.Random(0)
    kills, generations = 0, set()
    while kills < KILLS:
        resumable = (killed / "config.toml").exists()
        if resumable and Run(killed).is_complete:
            # It was done before the kill came: once more from the start.
            assert_same_run(killed, undisturbed)
            shutil.rmtree(killed)
            continue
        arguments = ("resume", str(killed), "--quiet") if resumable else (*train, str(killed))
        process = subprocess.Popen(command(*arguments), env=environment, stdout=subprocess.DEVNULL)
        try:
            process.wait(chance.uniform(0.3, 1.0) * whole)
            assert process.returncode == 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            if (killed / "config.toml").exists():
                generations.add(len(Run(killed).rows))
    if not (killed / "config.toml").exists():
        subprocess.run(command(*train, str(killed)), env=environment, check=True, stdout=subprocess.DEVNULL)
    elif not Run(killed).is_complete:
        subprocess.run(command("resume", str(killed)), env=environment, check=True, stdout=subprocess.DEVNULL)
    assert_same_run(killed, undisturbed)
    assert len(generations) > 5, "the kills did not fall into the run"
