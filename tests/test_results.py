"""The run folders in results/: what the pages say can be done with them can be done."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import jax
import pytest
from draw_figures import FROM_RUNS, VARIANTS
from judge_again import read_claims, rewritten

from evolvability import Run, cli
from evolvability.explorer.service import Explorer
from evolvability.runs.checkpoints import checkpoint_generations, intact
from evolvability.studies.rebuild import fresh_one, parent_of
from evolvability_paper.claims.claim import Answer, Claim, judged_by
from evolvability_paper.claims.sentences import judged_together
from tests.browsing import draws_here

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
RUNS = sorted(path.parent for path in RESULTS.rglob("config.toml"))
WITH_CENTER = [path for path in RUNS if checkpoint_generations(path)]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(RESULTS.rglob("README.md"))]


def test_every_path_in_results_that_a_page_names_is_there() -> None:
    named = {name.rstrip(".") for page in PAGES for name in re.findall(r"\bresults/[\w./*-]+", page.read_text())}
    assert {"results/mutations-h200", "results/paper-bodies-h200/text/report.md"} < named
    assert len(named) > 10
    assert sorted(name for name in named if not list(ROOT.glob(name))) == []


def test_every_figure_that_is_made_from_results_finds_its_runs_and_is_there() -> None:
    shown = {name: patterns for name, (_, patterns) in FROM_RUNS.items()}
    shown |= {name: tuple(f"mutations-h200/cheetah-{one}" for one in own.values()) for name, own in VARIANTS.items()}
    for name, patterns in shown.items():
        assert (ROOT / "docs" / "assets" / name).is_file(), name
        assert all(list(RESULTS.glob(f"{pattern}/config.toml")) for pattern in patterns), name


@pytest.mark.parametrize("name", ["text", "released"])
def test_reports_and_the_page_have_the_verdicts_that_the_rules_of_today_give(name: str) -> None:
    folder = RESULTS / "paper-bodies-h200" / name
    kept = read_claims(json.loads((folder / "claims.json").read_text()))
    alone = {
        one: replace(claim, **judged_by(_answer(claim), finds_none=claim.kind == "no difference")._asdict())
        if claim.bound is not None
        else claim
        for one, claim in kept.items()
    }
    again = judged_together(alone)
    assert {one: claim.verdict for one, claim in again.items()} == {one: own.verdict for one, own in kept.items()}
    report = (folder / "report.md").read_text()
    text, line = rewritten(report, kept)
    assert text == report
    numbers = [int(number) for number in re.findall(r"\d+", line)]
    total, holding, *kinds, in_part, not_shown, refuted, missing = numbers
    assert (holding, missing) == (sum(kinds), 0)
    row = f"{total} (`{folder.relative_to(ROOT)}/report.md`) | " + " | ".join(
        map(str, [*kinds, in_part, not_shown, refuted])
    )
    assert row in (ROOT / "docs" / "results.md").read_text()


def _answer(claim: Claim) -> Answer:
    assert claim.value is not None
    fields = {field: getattr(claim, field) for field in Answer._fields if field != "reason"}
    return Answer(**fields)


def test_centers_are_where_the_page_says() -> None:
    text = (RESULTS / "README.md").read_text()
    folders = ("paper-h200", "robots-h200")
    assert "The runs in `{}` and `{}` have their last center too".format(*folders) in text
    said = [path for path in RUNS if path.relative_to(RESULTS).parts[0] in folders]
    assert said == WITH_CENTER
    for path in WITH_CENTER:
        assert all(intact(path, generation) for generation in checkpoint_generations(path))


def test_every_run_can_be_shown_and_explored(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["show", *map(str, RUNS)])
    shown = capsys.readouterr().out
    assert all(f"{path}: " in shown for path in RUNS)
    for path in RUNS:
        explorer = Explorer([Run(path)])
        about = json.loads(explorer.answer("overview"))["runs"][0]
        assert explorer.answer(f"cloud?run=0&seed=0&generation={about['recorded'][-1]}")


@pytest.mark.parametrize(
    "path",
    [*WITH_CENTER[:1], *(pytest.param(path, marks=pytest.mark.full) for path in WITH_CENTER[1:])],
    ids=lambda path: path.name,
)
def test_a_run_with_a_center_has_all_that_adapting_and_filming_take(path: Path) -> None:
    run = Run(path)
    task = run.task
    assert len(run.parents()) == len(run.seeds)
    one = fresh_one(parent_of(run, task, run.rebuildable[-1]), 0).sample.members()
    assert one.shape == (1, *jax.eval_shape(task.init, jax.random.key(0)).shape)


@pytest.mark.full
def test_the_ant_on_the_front_page_is_adapted_and_filmed(tmp_path: Path) -> None:
    if not draws_here():
        pytest.skip("MuJoCo cannot draw: install Debian's libegl1 and libgl1-mesa-dri, or libosmesa6")
    shown = "ees video results/paper-h200/ant-max_entropy --fresh 16"
    assert shown in (ROOT / "README.md").read_text()
    copy = tmp_path / "ant"
    shutil.copytree(RESULTS / "paper-h200" / "ant-max_entropy", copy)  # adapting keeps what it finds in the folder
    cli.main(["adapt", str(copy), "--mutations", "2", "--repeats", "1"])
    assert (copy / "adaptations" / "right.json").is_file()
    cli.main(["video", str(copy), "--fresh", "1", "--speed", "100", "--output", str(tmp_path / "ant.gif")])
    assert (tmp_path / "ant.gif").read_bytes().startswith(b"GIF8")
    with pytest.raises(SystemExit):  # what the page says is left out
        cli.main(["video", str(copy), "--members", "0", "--output", str(tmp_path / "ant.gif")])
