"""Reproducing the paper: the plan, what is skipped and resumed, the report."""

import html.parser
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from evolvability import ConfigError, Run, RunFolderError, cli
from evolvability.config.schema import PRESETS, to_table
from evolvability.config.tables import flat
from evolvability.runs.sealed import to_json
from evolvability.studies.sweeps import Planned
from evolvability.training.evolution import Evolution
from evolvability_paper import command, plan, why
from evolvability_paper.claims import CLAIMS
from evolvability_paper.items import ITEMS, Training, items_named
from evolvability_paper.markdown import verdict_line
from evolvability_paper.pictures import PICTURES
from evolvability_paper.plan import StudyWork, conduct, times
from evolvability_paper.report import finished, make_report, of_scale, unfinished
from evolvability_paper.scales import SCALES, are_of
from evolvability_paper.write import to_html, write_report
from tests.paper.test_claims import ring, scores
from tests.patience import PATIENCE
from tests.synthetic import config, made_up

RESULTS = Path(__file__).parents[2] / "results"
PAPER_FIGURES = {*map(str, range(1, 8)), *(f"S{number}" for number in range(1, 12))}


def test_every_claim_and_every_figure_of_the_paper_belongs_to_one_item() -> None:
    figures = Counter(number for item in ITEMS.values() for number in item.figures)
    assert set(figures.values()) == {1}
    assert {claim.item for claim in CLAIMS.values()} == {item.name for item in items_named([])} - {"graphs"}
    assert set(figures) == set(PICTURES)
    assert set(PICTURES) >= PAPER_FIGURES


def test_pages_list_every_claim_item_and_scale() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "reproduce.md").read_text() + (docs / "claims.md").read_text()
    names = {name.split("/")[0] for name in CLAIMS} | set(ITEMS) | set(SCALES)
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("scale", SCALES)
def test_each_run_of_a_plan_starts_from_one_before_it_that_has_its_seeds(scale: str) -> None:
    seen: dict[str, range] = {}
    works = plan.plan(list(ITEMS.values()), SCALES[scale], Path("out"))
    assert len({(work.name, work.path) for work in works}) == len(works)
    for work in works:
        if isinstance(work, StudyWork):
            assert str(work.path) in seen
            continue
        own = work.config
        seeds = range(own.seed, own.seed + own.seeds)
        seen[str(work.path)] = seeds
        assert not own.start_from or set(seeds) <= set(seen[own.start_from])


def test_main_comparisons_have_the_papers_seeds_at_gpu_and_paper_scale() -> None:
    for name, size in (("gpu", 1000), ("paper", 10_000)):
        runs = [work for work in plan.plan(items_named([]), SCALES[name], Path("out")) if isinstance(work, Planned)]
        seeds: Counter[str] = Counter()
        for work in runs:
            seeds[work.name.split("_seeds")[0]] += work.config.seeds
            if work.config.task != "interference" and work.config.objective != "maml":
                assert (work.config.population_size, work.config.task_options.num_steps) == (size, 1000)
        assert {seeds[name] for name in seeds if "species" in name or "split" in name} == {6}
        assert {seeds[name] for name in seeds if "species" not in name and "split" not in name} == {12}


def test_a_batch_of_seeds_of_everything_comes_before_the_next_and_can_be_done_alone() -> None:
    items, scale = items_named(["ant", "evolution", "adaptation"]), SCALES["paper"]
    whole = [work.name for work in plan.plan(items, scale, Path("out"))]
    parts = [[work.name for work in plan.plan(items, scale, Path("out"), [number])] for number in range(1, 7)]
    assert [name for part in parts for name in part] == whole
    assert [len(part) for part in parts] == [9] * 6  # 5 runs of ants, 2 of cheetahs, 2 of picks
    assert all("seeds-2-3" in name for name in parts[1])
    with pytest.raises(ConfigError, match=r"from 1 to 6.*got 7"):
        plan.plan(items, scale, Path("out"), [7])
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "--batches", "a", "--dry-run"])


def test_what_is_not_in_the_paper_is_done_only_if_named() -> None:
    assert "legs" not in {item.name for item in items_named([])}
    works = plan.plan(items_named(["legs"]), SCALES["paper"], Path("out"))
    shapings = {work.name: work.config.options["behavior_shaping"] for work in works if isinstance(work, Planned)}
    assert shapings["cheetah/ranked-then-standardized"] == "standardize"
    assert shapings["cheetah/standardized-then-standardized"] == "standardize"
    cells = plan.plan(items_named(["bodies"]), SCALES["paper"], Path("out"))
    sizes = {
        (
            work.config.objective,
            work.config.task_options.body,
            work.config.options.get("behavior_shaping"),
            work.config.population_size,
        )
        for work in cells
        if isinstance(work, Planned)
    }
    assert len({cell for cell in sizes if cell[0] == "max_variance"}) == 8
    assert len({cell[:2] + cell[3:] for cell in sizes if cell[0] == "mean_fitness"}) == 4
    assert {work.config.task_options.num_steps for work in cells if isinstance(work, Planned)} == {1000}
    starts = {work.name: Path(work.config.start_from).name for work in works if isinstance(work, Planned)}
    assert starts["cheetah/ranked-then-standardized"] == "first-ranked"


def test_the_report_has_what_experiments_outside_of_the_paper_found(tmp_path: Path) -> None:
    seeds = {"seeds": 2, "generations": 2, "population_size": 4}
    for name, reach in (
        ("mean_fitness", [9.0, 9, 9, 9]),
        ("left", [-8.0, -8, -8, -8]),
        ("max_variance", [-6.0, 3, 6, 0]),
    ):
        goal = "left" if name == "left" else ""
        objective = "max_variance" if name == "max_variance" else "mean_fitness"
        cloud = np.tile(np.array(reach)[:, None], (2, 1, 1))
        made = config("cheetah", objective=objective, goal=goal, **seeds)
        distance = np.full((2, 2), np.abs(reach).mean())
        made_up(tmp_path / "cheetah" / f"{name}_seeds-0-1", made, cloud, distance=distance, seconds=distance)
    found = make_report(items_named(["left"]), tmp_path, "").findings["left"]
    assert found == [
        ("mean_fitness", "2", "9.0: 9.0, 9.0", "100 %", "", "0.0 and 9.0", "0 of 2"),
        ("max_variance", "2", "3.8: 3.8, 3.8", "42 %", "", "6.0 and 4.5", "2 of 2"),
        ("left", "2", "8.0: 8.0, 8.0", "89 %", "", "8.0 and 0.0", "0 of 2"),
    ]


def test_a_slim_run_is_done_and_starts_others_but_cannot_go_on(tmp_path: Path) -> None:
    made = config("point", generations=2, population_size=4, checkpoint_seconds=0.0)
    first = Planned("first", made, tmp_path, slim=True)
    first.conduct(lambda rows: None)
    assert first.status() == "done"
    assert {file.stem for file in (first.path / "checkpoints").iterdir()} == {"000002"}
    assert not any(name.startswith("optimizer") for name in Run(first.path).checkpoint())
    Planned("second", replace(made, start_from=str(first.path)), tmp_path).conduct(lambda rows: None)
    with pytest.raises(RunFolderError, match="slim export"):
        Planned("first", replace(made, generations=3), tmp_path).conduct(lambda rows: None)


def test_an_item_needs_no_other_and_an_unknown_one_is_refused() -> None:
    works = plan.plan(items_named(["evolution"]), SCALES["smoke"], Path("out"))
    assert {"ant/max_entropy", "ant/further-max_entropy"} <= {work.name for work in works}
    with pytest.raises(ConfigError, match="cheetah"):
        items_named(["cheeta"])


# Interrupted and gone on with


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Counter[tuple[str, int]]]:
    """Counts every generation that is computed, and interrupts after each so many of them."""
    computed: Counter[tuple[str, int]] = Counter()
    limit = [0]
    real = Evolution.generations

    def generations(self: Evolution, state: Any) -> Iterator[Any]:
        for done in real(self, state):
            computed[self.config.objective, done[1][0]["generation"]] += 1
            yield done
            if limit[0] and computed.total() % limit[0] == 0:
                raise KeyboardInterrupt

    monkeypatch.setattr(Evolution, "generations", generations)

    def start(every: int) -> Counter[tuple[str, int]]:
        limit[0] = every
        return computed

    return start


def test_interrupted_anywhere_and_run_again_it_computes_nothing_twice(
    tmp_path: Path, counted: Callable[[int], Counter[tuple[str, int]]]
) -> None:
    computed = counted(25)  # falls into the middle of runs of 30 generations, and between them
    works = plan.plan(items_named(["figure1"]), SCALES["smoke"], tmp_path)
    interrupts = 0
    while any(work.status() != "done" for work in works):
        try:
            conduct(works, tmp_path)
        except KeyboardInterrupt:
            interrupts += 1
    conduct(works, tmp_path)
    assert interrupts == 3
    assert set(computed.values()) == {1}
    assert computed.total() == 3 * 30
    assert len(times(tmp_path)) == 6  # three runs, each of which was interrupted once


def test_a_study_is_done_once_and_only_its_own_folder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(plan, "adapt", lambda run, goals, **sizes: asked.append(run.path.name))
    looked_at: dict[str, int | None] = {"max_variance": None, "max_entropy": None}

    def load(run: Run, goal: str) -> SimpleNamespace:
        if run.path.name not in asked:
            raise RunFolderError("There is none.")
        return SimpleNamespace(generation=looked_at[run.path.name])

    monkeypatch.setattr(plan, "load_adaptation", load)
    works = plan.plan(items_named(["adaptation"]), SCALES["smoke"], tmp_path)
    for work in works:
        if isinstance(work, Planned):
            made_up(work.path, work.config)
    monkeypatch.setattr(Run, "is_complete", True)
    for _ in range(2):
        conduct(works, tmp_path)
    assert asked == ["max_variance", "max_entropy"]
    looked_at["max_entropy"] = 1  # of centers that have been trained further since
    monkeypatch.setattr("evolvability.studies.result_files.checkpoint_generations", lambda path: [1, 2])
    conduct(works, tmp_path)
    assert asked == ["max_variance", "max_entropy", "max_entropy"]


def test_folders_may_be_moved_but_not_be_of_another_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "is_complete", True)
    here, there = (plan.plan(items_named(["evolution"]), SCALES["gpu"], Path(root)) for root in (tmp_path, "elsewhere"))
    for work, before in zip(here, there, strict=True):
        assert isinstance(before, Planned)
        made_up(work.path, before.config)
    again = plan.plan(items_named(["evolution"]), SCALES["gpu"], tmp_path)
    assert {work.status() for work in again} == {"done"}
    with pytest.raises(RunFolderError, match="population_size is 1000 there and 10000 here"):
        conduct(
            plan.plan(items_named(["ant"]), replace(SCALES["gpu"], tasks=SCALES["paper"].tasks), tmp_path), tmp_path
        )


# What a dry run tells


def test_a_dry_run_tells_what_is_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = plan.plan(items_named(["figure1"]), SCALES["smoke"], tmp_path)[0]
    assert isinstance(first, Planned)
    made_up(first.path, first.config)
    cli.main(["reproduce", "figure1", "--scale", "smoke", "--output", str(tmp_path), "--dry-run"])
    lines = capsys.readouterr().out.splitlines()
    states = {name: line for line in lines for name in ("mean_fitness", "max_entropy") if f"/{name}" in line}
    assert "begun" in states["mean_fitness"]
    assert "new" in states["max_entropy"]


# The report


class Links(html.parser.HTMLParser):
    """What a page would load, and the text it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.text: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_report_has_a_verdict_for_every_claim_and_loads_nothing(tmp_path: Path) -> None:
    own: dict[str, Any] = {"seeds": 6, "generations": 21}
    for objective, level in (("mean_fitness", 30.0), ("max_entropy", 25.0)):
        made = config("ant", objective=objective, **own)
        metrics: dict[str, Any] = {name: scores(level) for name in ("distance", "variance", "entropy", "fitness_mean")}
        made_up(tmp_path / "runs" / "ant" / objective, made, ring(), seconds=scores(1.0), **metrics)
    report = make_report(list(ITEMS.values()), tmp_path, "Scale made up")
    assert sum(report.verdicts.values()) == 26
    assert sum(map(len, report.claims.values())) == len(CLAIMS)
    assert report.verdicts["not enough runs"] > report.verdicts["holds in part"] > 0  # of MaxEnt on the ant alone
    pages = write_report(report, tmp_path)
    assert [page.name for page in pages] == ["report.html", "report.md", "claims.json"]
    page = Links()
    page.feed(pages[0].read_text())
    images = [source for source in page.loaded if source.startswith("data:image/png;base64,")]
    assert len(images) == 3 + 6  # figure 4, of one seed and of all, S2, and the graphs, which need no runs
    assert all(source.startswith(("data:", "#")) for source in page.loaded)
    assert "url(" not in pages[0].read_text().split("</style>")[0]
    text = " ".join(page.text)
    for item in ITEMS.values():
        assert item.title in text
    shown = json.loads(pages[2].read_text())
    assert shown["distance-share/ant/max_entropy"]["value"] == pytest.approx(83.3, abs=0.1)
    assert all(claim["statement"] in text for claim in shown.values())
    markdown = pages[1].read_text()
    assert all(claim["statement"] in markdown for claim in shown.values())
    assert "(figures/figure-4.png)" in markdown
    assert "There are no runs of 'cheetah' trained by MAML" in text


@pytest.mark.parametrize("text", ["{", "{}", '{"packages": 1, "devices": 2}', "[]"])
def test_a_folder_that_cannot_be_read_is_left_out_and_named(text: str, tmp_path: Path) -> None:
    for name in ("good", "foreign"):
        made_up(tmp_path / name, config("ant"), ring()[:1, :4], seconds=scores(1.0, 2)[:1])
    (tmp_path / "foreign" / "environment.json").write_text(text)
    with pytest.warns(UserWarning, match="foreign is left out"):
        report = make_report([], tmp_path, "")
    assert [run.path.name for run in report.runs] == ["good"]


def test_names_from_run_folders_are_text_on_the_page(tmp_path: Path) -> None:
    """Neither HTML nor Markdown: a folder's name and a machine's description may have any characters."""
    name = "a|b <img src=x> *c* _d_ [e](http:f) `g` &lt; \\| ~~h~~"
    run = made_up(tmp_path / name, config("ant"), ring()[:1, :4], seconds=scores(1.0, 2)[:1])
    environment = run.environment | {"platform": "# <script>alert(1)</script>"}
    (run.path / "environment.json").write_text(to_json(environment))
    page = Links()
    page.feed(write_report(make_report([], tmp_path, name), tmp_path)[0].read_text())
    shown = "".join(page.text)
    assert shown.count(name) == 2  # in the summary, and in the table of runs
    assert "# <script>alert(1)</script>" in shown
    assert page.loaded == []
    assert not page.tags & {"script", "img", "em", "a", "del"}


def test_a_page_of_markdown_colors_verdicts(tmp_path: Path) -> None:
    page = to_html("## A title (5.2)\n\n| a | verdict |\n| --- | --- |\n| 1 | **holds in part** |\n", tmp_path)
    assert '<h2 id="a-title-52">' in page
    assert "<td>1</td>" in page
    assert '<strong class="holds-in-part">' in page


def test_training_needs_no_matplotlib(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from evolvability.cli import main\n"
        f"main(['reproduce', 'graphs', '--scale', 'gpu', '--stage', 'train', '--output', {str(tmp_path)!r}])\n"
        f"main(['reproduce', '--scale', 'gpu', '--dry-run', '--output', {str(tmp_path)!r}])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_report_alone_is_made_from_whatever_folders_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["reproduce", "graphs", "figure1", "--stage", "report", "--output", str(tmp_path)])
    assert "not enough runs 1" in capsys.readouterr().out
    assert (tmp_path / "figures" / "figure-S9.png").stat().st_size > 5000
    assert times(tmp_path) == []


def test_runs_of_a_smoke_test_are_not_judged(tmp_path: Path) -> None:
    """They are shown, and neither their Markdown nor their page says that anything holds or not."""
    scale = SCALES["smoke"]
    for objective, far in (("mean_fitness", 2.0), ("max_entropy", 1.0)):
        small = replace(scale.config(Training("cheetah", objective)), generations=2)
        metrics: dict[str, Any] = dict.fromkeys(("distance", "variance", "entropy", "fitness_mean"), scores(far, 2)[:5])
        made_up(tmp_path / objective, small, seconds=scores(1.0, 2)[:5], **metrics)
    judged = make_report(items_named(["cheetah"]), tmp_path, "made up")
    assert judged.verdicts["refuted"]
    report = make_report(items_named(["cheetah"]), tmp_path, "made up", scale)
    number = len({name.split("/")[0] for name in report.claims["cheetah"]})
    assert report.verdicts == {"not judged": number}
    assert verdict_line(report) == f"Of {number} sentences of the paper: not judged {number}"
    page, markdown, _ = (path.read_text() for path in write_report(report, tmp_path))
    assert '<strong class="not-judged">' in page
    assert "refuted" not in markdown
    # Runs of another size are judged, whatever scale was asked for.
    assert make_report(items_named(["cheetah"]), tmp_path, "made up", SCALES["gpu"]).verdicts == judged.verdicts


def test_report_says_which_runs_are_not_done_and_keeps_other_items(tmp_path: Path) -> None:
    begun = config("cheetah", objective="maml", seeds=2, generations=5)
    names = ("distance", "seconds", "fitness_mean", "fitness_before", "divergence", "action_std")
    metrics: dict[str, Any] = {name: scores(1.0, 3)[:2] for name in names}
    made_up(tmp_path / "runs" / "cheetah" / "maml", begun, **metrics)
    row = {"item": "maml", "work": "cheetah/maml", "began": 0.0, "seconds": 45.0, "devices": ["gpu: H200"]}
    (tmp_path / "times.jsonl").write_text(f"{json.dumps(row)}\n" * 2)
    report = make_report(items_named(["graphs"]), tmp_path, "Scale made up")
    assert [item.name for item in report.items] == ["maml", "graphs"]
    html_page, markdown, _ = (path.read_text() for path in write_report(report, tmp_path))
    for text in (html_page, markdown):
        assert "cheetah/maml has 3 of 5 generations." in text
        assert "maxvar-adapts-like-maml" in text
        assert "90 s on GPU" in text
    flat = np.concatenate([np.linspace(0, 9, 50), np.full(50, 9.0)])[None]
    for name, course, grows in (("grows", np.linspace(0, 9, 100)[None], True), ("flat", flat, False)):
        made = config("cheetah", objective="maml", generations=100)
        run = made_up(tmp_path / "other" / name, made, fitness_mean=course)
        assert bool(unfinished(ITEMS["maml"], [run])) == grows
    with pytest.raises(RunFolderError, match="There is no folder"):
        make_report(items_named(["graphs"]), tmp_path / "nowhere", "Scale made up")


def test_a_report_is_written_through_no_link_and_reads_torn_times(tmp_path: Path) -> None:
    row = {"item": "maml", "work": "cheetah/maml", "began": 0.0, "seconds": 45.0, "devices": ["gpu: H200"]}
    torn = (json.dumps(row)[:20], "[1]", json.dumps(row | {"seconds": "x"}), "[" * 10_000)
    (tmp_path / "times.jsonl").write_text("\n".join((*torn, json.dumps(row))))
    with pytest.warns(UserWarning, match=r"times\.jsonl is damaged"):
        assert [found["seconds"] for found in times(tmp_path)] == [45.0]
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "report.md").symlink_to(tmp_path / "mine")
    for begin in (lambda: make_report(items_named(["graphs"]), tmp_path, "made up"), lambda: conduct([], tmp_path)):
        with pytest.raises(RunFolderError, match=r"report\.md is a link"):
            begin()


def test_seeds_that_are_not_done_count_only_where_none_are(tmp_path: Path) -> None:
    runs = []
    for seed, generations in ((0, 5), (2, 3)):
        own = config("ant", seeds=2, seed=seed, generations=5)
        runs.append(made_up(tmp_path / f"ant_seeds-{seed}", own, distance=scores(1.0, generations)[:2]))
    begun = made_up(tmp_path / "cheetah", config("cheetah", generations=5), distance=scores(1.0, 3)[:1])
    assert finished([*runs, begun]) == [runs[0], begun]


def test_runs_of_another_size_or_preset_are_not_called_by_the_scale() -> None:
    small, large = (config("ant", population_size=size) for size in (1000, 10_000))
    assert are_of([small, config("ant", objective="maml")], SCALES["gpu"])
    assert not are_of([small, large], SCALES["gpu"])
    assert are_of([large], SCALES["paper"])
    assert are_of([], SCALES["paper"])
    as_code = replace(SCALES["paper"], preset="released-code")
    assert not are_of([large], as_code)
    assert are_of([as_code.config(Training("ant", "max_entropy"))], as_code)
    typed = config("ant", population_size=10_000, behavior_shaping="centered_ranks", bandwidth=0.7071, l2=0.005)
    assert are_of([typed], as_code)


def test_of_runs_with_different_settings_those_asked_for_are_judged(tmp_path: Path) -> None:
    as_text, as_code = SCALES["gpu"], replace(SCALES["gpu"], preset="released-code")
    made = {"code": as_code, "text": as_text, "large": SCALES["paper"]}
    runs = [made_up(tmp_path / name, scale.config(Training("ant", "max_entropy"))) for name, scale in made.items()]
    other = made_up(tmp_path / "other", as_code.config(Training("ant", "max_variance")))
    assert of_scale([*runs, other], as_code) == [runs[0], other]
    assert of_scale([*runs, other], as_text) == [runs[1], other]  # there is no other run of MaxVar
    assert of_scale(runs, SCALES["laptop"]) == runs


def test_a_preset_changes_populations_and_leaves_maml_alone() -> None:
    """So that MAML's folder serves both settings."""
    as_text, as_code = SCALES["gpu"], replace(SCALES["gpu"], preset="released-code")
    changed = set()
    for item in items_named([]):
        for training in item.trainings:
            one, other = (dict(flat(to_table(scale.config(training)))) for scale in (as_text, as_code))
            if differences := {name for name in one if one[name] != other[name]}:
                assert {name.rpartition(".")[2] for name in differences} <= set(PRESETS["released-code"][1])
                changed.add(training.kind)
    assert changed == {"train", "species", "further", "split"}


def test_a_preset_has_a_folder_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    before = jax.config.read("jax_disable_most_optimizations")
    cli.main(["reproduce", "cheetah", "--scale", "smoke", "--preset", "released-code", "--dry-run"])
    cli.main(["reproduce", "cheetah", "--scale", "smoke", "--stage", "report", "--dry-run"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "in runs/reproduce-smoke-released-code" in printed
    assert "of the run folders in runs/reproduce-smoke" in printed
    # Without optimization all that comes after would be slow.
    assert jax.config.read("jax_disable_most_optimizations") == before
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "--scale", "smoke", "--preset", "laptop"])
    assert "released-code" in capsys.readouterr().err


def test_experiments_are_compared_over_the_seeds_that_both_have() -> None:
    runs = [Run(path) for path in sorted((RESULTS / "paper-bodies-h200" / "text").glob("*/cheetah/*"))]
    found = {row[0]: dict(zip(why.COLUMNS, row, strict=True)) for row in why.rows(ITEMS["left"], runs)}
    # Standard ES has twelve seeds, and goes 51 m in the two that were also asked to go left, to 57 and 49 m.
    assert (found["mean_fitness"]["seeds"], found["left"]["seeds"]) == ("12", "2")
    assert found["left"]["mean distance (m), and by seed"] == "53.1: 57.2, 49.0"
    assert found["left"]["in % of standard ES's"] == "103 %"
    assert found["max_variance"]["both sides"] == "10 of 12"
    # In the order of seeds, though the folder of seeds 10 and 11 comes second.
    tenth = Run(RESULTS / "paper-bodies-h200" / "text" / "runs" / "cheetah" / "max_variance_seeds-10-11")
    by_seed = found["max_variance"]["mean distance (m), and by seed"].partition(": ")[2].split(", ")
    assert by_seed[10] == f"{tenth.metrics['distance'][0, -1]:.1f}"


def test_experiments_tell_the_p_value_of_distances_by_pairs_of_seeds(tmp_path: Path) -> None:
    generator, settings = np.random.default_rng(0), {"generations": 2, "population_size": 4}
    standardized = generator.uniform(20, 30, 8)
    ranked = standardized + generator.uniform(-2, 9, 8)
    for name, distances in {"standardized": standardized, "ranked": ranked}.items():
        made = config("cheetah", objective="max_variance", seeds=8, **settings)
        cloud = np.tile([[[-3.0], [3], [-3], [3]]], (8, 1, 1))
        made_up(tmp_path / "cheetah" / f"paper-tenth-{name}", made, cloud, distance=np.tile(distances[:, None], 2))
    runs = [Run(path) for path in sorted((tmp_path / "cheetah").iterdir())]
    found = {row[0]: row[why.COLUMNS.index("p by pairs")] for row in why.rows(ITEMS["bodies"], runs)}
    expected = stats.wilcoxon(ranked, standardized).pvalue
    assert found == {"paper-tenth-standardized": "", "paper-tenth-ranked": f"{expected:.2g}"}


def test_experiments_outside_of_the_paper_count_for_none_of_its_claims(tmp_path: Path) -> None:
    for name in ("mean_fitness_seeds-0-1", "left_seeds-0-1", "first-ranked"):
        made_up(tmp_path / "cheetah" / name, config("cheetah", seeds=2), distance=np.ones((2, 1)))
    assert [run.path.name for run in make_report([], tmp_path, "", SCALES["paper"]).runs] == ["mean_fitness_seeds-0-1"]


def test_compiled_programs_are_kept_by_the_user_not_in_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, Any] = {}
    config = SimpleNamespace(jax_compilation_cache_dir=None, update=kept.__setitem__)
    monkeypatch.setattr(jax, "config", config)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command.compile_quickly()
    assert Path(kept["jax_compilation_cache_dir"]).is_relative_to(tmp_path / "cache")
