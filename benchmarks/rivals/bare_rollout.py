"""MuJoCo's own threads on Gymnasium's half cheetah, with torques that are known beforehand and no network."""

import os
import sys
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout

hidden, members, steps, generations = map(int, sys.argv[1:])
model = mujoco.MjModel.from_xml_path(str(Path(gymnasium.__file__).parent / "envs/mujoco/assets/half_cheetah.xml"))
workers = [mujoco.MjData(model) for _ in range(os.cpu_count())]
kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
start = np.empty(mujoco.mj_stateSize(model, kind))
mujoco.mj_getState(model, workers[0], start, kind)
controls = np.random.default_rng(0).uniform(-1, 1, (members, steps, model.nu)).repeat(5, axis=1)
for _ in range(generations):
    rollout.rollout(model, workers, np.tile(start, (members, 1)), controls)
    print("generation", flush=True)
