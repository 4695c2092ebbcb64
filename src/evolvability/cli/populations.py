"""The commands that use a trained population: adapt, race, evolve-from, split."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from rich.text import Text
from tyro.conf import arg

from evolvability.cli.arguments import (
    NOTHING_ASKED,
    AskedCircumstances,
    Count,
    File,
    Folder,
    Goals,
    RunPath,
    RunPaths,
    circumstances_for,
    given_circumstances,
    open_runs,
)
from evolvability.cli.printing import SEVERAL_SEEDS, console, finish, plural, print_text, say, spread
from evolvability.cli.runs import watch_works
from evolvability.config.schema import UNSET
from evolvability.core.errors import UserError
from evolvability.runs.files import command_line, slug
from evolvability.tasks.circumstances import Circumstances

if TYPE_CHECKING:
    from evolvability.runs.folder import Run
    from evolvability.studies.adaptation import Adaptation


def adapt(
    runs: RunPaths,
    direction: Goals = ("right",),
    mutations: Annotated[int, arg(metavar="N", aliases=["-k"])] = 40,
    episodes: Count = 1,
    repeats: int = 10,
    circumstances: AskedCircumstances = NOTHING_ASKED,
    save: Folder = None,
    output: File = None,
    trust: bool = False,
) -> None:
    """Pick the best of several mutations for a direction.

    Each center is mutated, and the mutation that does best is evaluated again in other circumstances.

    Args:
        runs: Run folders, or slim exports of them.
        direction: What is asked for, one or more: right, left, an angle in degrees, point:X,Y or fitness.
        mutations: How many mutations of each center.
        episodes: By the mean of how many each is judged. Where start states differ, 10 mutations in 4 episodes are
            often a better pick than 40 in one, which is the paper's, at the same cost.
        repeats: Further evaluations of each mutation, whose mean is reported.
        circumstances: What differs between further evaluations, of robots; default: as in training, but --start-noise
            0.1 where there was none.
        save: Write each seed's pick into this folder, NAME-GOAL-SEED.safetensors: all that load_policy needs to act.
        output: A picture of how performance grows with the number of mutations.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    found_runs = open_runs(runs, trust=trust)
    from evolvability.studies.adaptation import adapt as adapt_run

    if save is not None:
        _check_places(found_runs, save)
    table = Table("run", "direction", "seeds", "one mutation", f"best of {mutations}")
    for run in found_runs:
        settings: Any = {"mutations": mutations, "episodes": episodes, "repeats": repeats}
        for found in adapt_run(run, direction, circumstances=circumstances_for(run, circumstances), **settings):
            one = spread(found.growth()[:, 0])
            name, seeds = run.path.resolve().name, str(len(found.performance))
            table.add_row(Text(name, overflow="fold"), found.goal, seeds, one, spread(found.performance))
            if save is not None:
                _save_policies(run, found, save / f"{name}-{slug(found.goal)}")
    console.print(table)
    given = _listed(circumstances) or "different start states"
    print_text(f"the pick's mean over {plural(repeats, 'evaluation')} with {given}; {SEVERAL_SEEDS}")
    _draw("adaptation", found_runs, output)


def _listed(asked: Circumstances) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in given_circumstances(asked).items())


def _check_places(runs: "Sequence[Run]", folder: Path) -> None:
    """Before anything is evaluated: every pick has a file of its own."""
    names = [run.path.resolve().name for run in runs]
    if len(set(names)) < len(names):
        raise UserError(f"Several runs are named {max(names, key=names.count)}: save each to a folder of its own.")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--save must be a folder, and {folder} is a file.")


def _save_policies(run: "Run", found: "Adaptation", stem: Path) -> None:
    picked: Any = found.parameters
    for seed, parent, parameters in zip(run.seeds, run.parents(), picked, strict=True):
        path = Path(f"{stem}-{seed}.safetensors")
        parent.policy(parameters).save(path)
        print_text(f"wrote {path}")


def race(
    runs: RunPaths,
    direction: Goals = ("right",),
    adapters: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]"), UNSET] = (),
    episodes: Count = 40,
    repeats: int = 10,
    output: File = None,
    trust: bool = False,
) -> None:
    """Race ways of adapting, by performance over episodes used.

    Args:
        runs: Run folders of one task, or slim exports of them.
        direction: What is asked for, one or more: right, left, an angle in degrees, or point:X,Y.
        adapters: How to adapt: mutations, gradient; default: gradient for runs of MAML and mutations for others, as
            the paper did.
        episodes: The budget of each adaptation.
        repeats: Evaluations with different start states, whose mean is reported.
        output: A picture of performance over episodes used.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    found_runs = open_runs(runs, trust=trust)
    from evolvability.studies.races import race as race_run

    table = Table("run", "direction", "adapter", "before", f"after {episodes} episodes")
    for run in found_runs:
        for course in race_run(run, direction, adapters, episodes=episodes, repeats=repeats):
            before, after = course.performance[:, 0], course.performance[:, -1]
            table.add_row(Text(str(run.path)), course.goal, course.adapter, spread(before), spread(after))
    console.print(table)
    print_text(f"means over {plural(repeats, 'evaluation')} with different start states; {SEVERAL_SEEDS}")
    _draw("race", found_runs, output)


def evolve_from(
    runs: RunPaths,
    direction: Annotated[str, arg(metavar="GOAL")] = "right",
    generations: Count = 21,
    random: bool = True,
    output: Folder = None,
    quiet: bool = False,
    trust: bool = False,
) -> None:
    """Evolve trained populations further by standard ES, and a random one for comparison. Finished runs are skipped.

    Args:
        runs: Trained populations: run folders of one task, or slim exports of them.
        direction: What counts as fitness: right, left, an angle in degrees, point:X,Y or fitness.
        generations: How many; the last, 20, is the population after 20 updates.
        random: Whether to evolve from a random start as well, with the configuration of the first run.
        output: The folder for the run folders from-NAME and from-random; default: runs/evolved-DIRECTION.
        quiet: Print nothing but the result.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    found_runs = open_runs(runs, trust=trust)
    from evolvability.studies.comparison import compare_runs, to_terminal
    from evolvability.studies.sweeps import conduct, plan_further_evolution

    planned = plan_further_evolution(found_runs, direction, generations=generations, random=random)
    folder = output or Path("runs") / f"evolved-{slug(direction)}"
    made = conduct(planned, folder, watch_works(len(planned), quiet))
    console.print(to_terminal(compare_runs(made, "fitness_mean")))
    print_text(f"figures: {command_line('figure', 'evolution', folder)}/*")


def split(
    run: RunPath,
    components: int = 2,
    generations: Count = 20,
    output: Folder = None,
    quiet: bool = False,
    trust: bool = False,
) -> None:
    """Split a trained population into species at independent samples of it, and evolve on with its objective.

    Args:
        run: The trained population: a run folder, or a slim export of one.
        components: How many species.
        generations: How many more generations.
        output: The new run folder; default: runs/NAME-split-COMPONENTS.
        quiet: Print nothing but the result.
        trust: Import the code that a run names as its task, now and later: only if you trust it.
    """
    found = open_runs([run], trust=trust)[0]
    from evolvability.studies.sweeps import Planned, conduct, plan_split

    planned = plan_split(found, components=components, generations=generations)
    path = output or Path("runs") / planned.name
    # As a sweep of one: begun, it is resumed; finished, it is left as it is.
    conduct([Planned(path.name, planned.config)], path.parent, watch_works(1, quiet))
    finish(path, is_watchable=found.task.stage is not None)
    say(quiet, f"        {command_line('figure', 'components', run, path)}")


def _draw(name: str, runs: "Sequence[Run]", output: Path | None) -> None:
    if output is not None:
        from evolvability.figures.registry import draw_figure  # which takes a second to load

        print_text(f"wrote {draw_figure(name, runs, output)}")
