"""The commands that show mutations: explore, video."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from evolvability.cli.arguments import Count, Dimensions, MaybeCount, RunPath, RunPaths, open_runs, parse_numbers
from evolvability.cli.printing import plural, print_text, progress_bar
from evolvability.config.schema import UNSET
from evolvability.core.errors import ConfigError
from evolvability.runs.files import command_line, write_output

if TYPE_CHECKING:
    from evolvability.runs.folder import Run
    from evolvability.tasks.replay import Recording, Stage

MAX_ROBOTS = 16


def explore(
    runs: RunPaths,
    port: int = 0,
    host: str = "127.0.0.1",
    browser: bool = True,
    trust: bool = False,
    dimensions: Dimensions = "",
) -> None:
    """See the mutations of runs, click one, watch it walk.

    Opens a page with the runs' offspring side by side: click one to watch it, or the ground to find one.

    Args:
        runs: Run folders of one kind of behavior; they may still be training.
        port: Where the page is served; 0 for any free one.
        host: The address to serve at: by default to this machine alone; 0.0.0.0 for whoever can reach it.
        browser: Whether to open the browser.
        dimensions: Behavior dimensions on the ground, counted from 0, e.g. 0,2; a third can be the points' color;
            default: all.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    found = open_runs(runs, dimensions, trust=trust)
    from evolvability.explorer.server import EVERYWHERE, Server
    from evolvability.explorer.service import Explorer
    from evolvability.explorer.videos import draw_without_window

    # Before anything imports MuJoCo, which chooses how to draw at that moment.
    draw_without_window()
    server = Server(Explorer(found), port, host)
    if host in EVERYWHERE:
        warnings.warn("whoever can reach this machine and knows the address below sees these runs.", stacklevel=1)
    print_text(f"exploring {plural(len(found), 'run')} at {server.address}\nstop with Ctrl-C")
    if browser:
        server.open_browser()
    server.serve_forever(poll_interval=0.2)


def video(
    run: RunPath,
    members: Annotated[str, arg(metavar="N,N,..."), UNSET] = "",
    fresh: Count = 0,
    generation: MaybeCount = None,
    seed: MaybeCount = None,
    speed: float = 1.0,
    output: Annotated[Path, arg(metavar="FILE")] = Path("video.mp4"),
    trust: bool = False,
) -> None:
    """Make a video of mutations walking, several in one scene.

    Without a window: members of a recorded generation, or fresh mutations of its center.

    Args:
        run: The run folder.
        members: Which members of the generation, by number, at most 16.
        fresh: How many fresh mutations to show instead.
        generation: Which generation; default: the last whose center was kept.
        seed: Which seed of a run with several; default: the first.
        speed: How fast the video plays: 1 as in the simulation, 2 twice as fast.
        output: The file to write, ending in .mp4 or .gif.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    indices = parse_numbers(members, "--members")
    if bool(indices) == bool(fresh) or not 0 <= fresh <= MAX_ROBOTS or len(indices) > MAX_ROBOTS:
        raise ConfigError(
            f"ees video: give --members 0,17,400 (which of a generation) or --fresh 8 (how many new mutations), not "
            f"both, {MAX_ROBOTS} at most; got {len(indices)} members and {fresh} new mutations."
        )
    found = open_runs([run], trust=trust)[0]
    from evolvability.explorer.videos import draw_without_window, make_video

    # Before anything imports MuJoCo, which chooses how to draw at that moment.
    draw_without_window()
    stage, motions = _cast(found, indices, fresh, generation, found.seeds[0] if seed is None else seed)
    with progress_bar("drawing") as tell:
        made = make_video(stage, motions, output.suffix.lower().removeprefix("."), speed=speed, progress=tell)
    write_output(output, made)
    print_text(f"wrote {output}")


def _cast(
    run: "Run", indices: tuple[int, ...], fresh: int, generation: int | None, seed: int
) -> "tuple[Stage, list[Recording]]":
    """Who is shown: the stage, and each one's motion."""
    from evolvability.studies.rebuild import fresh_one, members, parent_of, replay, watchable_task

    if seed not in run.seeds:
        raise ConfigError(f"{run.path} has the seeds {run.seeds.start} to {run.seeds.stop - 1}, but not {seed}.")
    if not run.rebuildable:
        raise ConfigError(f"{run.path}: its centers were left out, so there is nothing to draw mutations around.")
    task = watchable_task(run)
    if task.stage is None or (task.stage.model is None and task.stage.simulator is None):
        why = "does not draw itself (no render mode rgb_array)" if task.simulator else "has no robot to show in a video"
        raise ConfigError(f"Task '{task.name}' {why}. Its behaviors: {command_line('figure', 'behaviors', run.path)}")
    if generation is None:
        # A checkpoint is ahead of what was recorded: its members may never have been evaluated.
        kept = [known for known in run.rebuildable if fresh or known in run.recorded]
        if not kept:
            raise ConfigError(f"{run.path}: no recorded generation's center was kept. Show fresh ones: --fresh 8.")
        generation = kept[-1]
    parent = parent_of(run, task, generation, run.seeds.index(seed))
    broods = [members(parent, indices)] if indices else [fresh_one(parent, index) for index in range(fresh)]
    motions = []
    with progress_bar("simulating") as tell:
        for brood in broods:
            motions.append(replay(task, parent, brood))
            tell(len(motions), len(broods))
    return task.stage, motions
