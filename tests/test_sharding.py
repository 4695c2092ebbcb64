import os
import subprocess
import sys

SCRIPT = """
import jax
import numpy as np
from evolvability.config import layered
from evolvability.training import Evolution

def centers(engine):
    options = {"engine": engine, "num_steps": 4, "hidden": 8, "observation_share": 0.5, "chunk_size": 2}
    values = {"population_size": 32, "generations": 2, "sigma": 0.2, "task_options": options}
    evolution = Evolution(layered("cheetah", values=values))
    *_, (state, _, outcome) = evolution.generations(evolution.start())
    return np.asarray(state.cloud.center), outcome, np.asarray(state.memory.mean)

assert len(jax.devices()) == 8
spread, outcome, seen = centers("mjx")
assert len(outcome.behavior.sharding.device_set) == 8
alone, _, seen_alone = centers("mujoco")
np.testing.assert_allclose(spread, alone, atol=1e-4)
np.testing.assert_allclose(seen, seen_alone, atol=1e-4)
try:
    options = {"engine": "mjx", "hidden": 8}
    evolution = Evolution(layered("cheetah", values={"population_size": 20, "task_options": options}))
    next(evolution.generations(evolution.start()))
except ValueError as error:
    print(error)
"""


EIGHT = "--xla_force_host_platform_device_count=8"
QUICK = "--xla_backend_optimization_level=0"  # here compiling takes far longer than running


def test_eight_devices_and_chunks_give_the_run_of_one() -> None:
    # The engine on the host knows nothing of devices: its run is the one to compare with.
    environment = os.environ | {"XLA_FLAGS": f"{EIGHT} {QUICK}", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "10 draws (pairs of members, when mirrored) cannot be spread evenly over 8 devices" in done.stdout
