"""The command reproduce."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.table import Table
from tyro.conf import Positional, arg

from evolvability.cli.arguments import Folder, parse_numbers
from evolvability.cli.printing import console, plural, print_text, say
from evolvability.cli.runs import watch_works
from evolvability.config.schema import UNSET
from evolvability.runs.files import user_folder

if TYPE_CHECKING:
    from evolvability_paper.items import Item
    from evolvability_paper.plan import Work
    from evolvability_paper.scales import Scale


def reproduce(
    items: Annotated[tuple[str, ...], Positional, arg(metavar="[ITEM ...]"), UNSET] = (),
    scale: Literal["smoke", "laptop", "gpu", "paper"] = "laptop",
    preset: Annotated[Literal["released-code"] | None, arg(metavar="NAME"), UNSET] = None,
    stage: Literal["all", "train", "report"] = "all",
    batches: Annotated[str, arg(metavar="N[,N...]"), UNSET] = "",
    output: Folder = None,
    dry_run: bool = False,
    quiet: bool = False,
) -> None:
    """Repeat the paper's experiments, draw its figures, and judge each of its claims. Finished work is skipped.

    Args:
        items: Which parts: figure1, cheetah, adaptation, maml, ant, evolution, mixtures, graphs; default: all of
            these. Not in the paper, but why a population loses a side: bodies, left, legs.
        scale: How large: smoke (two minutes), laptop (three hours on two cores), gpu (12 seeds, population
            1,000: about an hour of one large GPU), paper (12 seeds, population 10,000: some hours).
        preset: Other settings: released-code, what the authors' published program did where it differs from the
            paper's text.
        stage: Only train, which needs no matplotlib, or only report, from the run folders that are there.
        batches: Only these batches of seeds, counted from 1: of the paper's scale two seeds each.
        output: The folder for run folders and report; default: runs/reproduce-SCALE, with the preset's name.
        dry_run: Only tell what would be done.
        quiet: Print nothing but the result.
    """
    from evolvability_paper.items import items_named
    from evolvability_paper.plan import plan
    from evolvability_paper.scales import SCALES

    chosen, size = items_named(items), replace(SCALES[scale], preset=preset)
    folder = output or Path("runs") / "-".join(filter(None, ("reproduce", scale, preset)))
    if stage != "report":
        _train(plan(chosen, size, folder, parse_numbers(batches, "--batches")), size, folder, dry_run, quiet)
    if stage == "report" and dry_run:
        print_text(f"would make report.html, report.md, claims.json and figures of the run folders in {folder}")
    elif stage != "train" and not dry_run:
        _report(chosen, scale, size, folder)


def compile_quickly() -> None:
    """Without optimizing, and what several runs have in common once."""
    import jax

    jax.config.update("jax_disable_most_optimizations", True)
    # A cache that the user has set up is left as it is.
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        # Never in the output folder, which is passed around: what is compiled is executed.
        jax.config.update("jax_compilation_cache_dir", str(user_folder("cache") / "compiled"))
        # By default JAX keeps only what took a second or more to compile.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def _train(works: "Sequence[Work]", scale: "Scale", output: Path, dry_run: bool, quiet: bool) -> None:
    from evolvability_paper.plan import conduct

    left = [work for work in works if work.status() != "done"]
    count = f"{plural(len(works), 'piece')} of work, {len(works) - len(left)} of them done, in {output}"
    say(quiet, count if works else "no runs are needed")
    if left and (dry_run or not quiet):
        print_text(f"all of it: {scale.summary}")
    if dry_run:
        table = Table("item", "piece of work", "state")
        for work in works:
            table.add_row(work.item, work.name, work.status())
        console.print(table)
        return
    if scale.quick_compilation:
        compile_quickly()
    conduct(works, output, watch_works(len(left), quiet))


def _report(items: "Sequence[Item]", name: str, scale: "Scale", output: Path) -> None:
    from evolvability.config.schema import PRESETS
    from evolvability_paper.markdown import verdict_line
    from evolvability_paper.report import make_report
    from evolvability_paper.scales import are_of
    from evolvability_paper.write import write_report

    settings = f". Preset {scale.preset}: {PRESETS[scale.preset][0]}" if scale.preset else ""
    report = make_report(items, output, f"Scale {name}: {scale.summary}{settings}", scale)
    if not are_of([run.config for run in report.runs], scale):
        asked = f"scale {name}" + (f" with preset {scale.preset}" if scale.preset else "")
        other = f"Runs of other sizes or settings than those of {asked}; they are listed at the end"
        report = replace(report, summary=other)
    written = write_report(report, output)
    print_text(verdict_line(report))
    print_text(f"wrote {', '.join(map(str, written))}")
