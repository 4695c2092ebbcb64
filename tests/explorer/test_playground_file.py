"""The playground's file without a browser: who gets one, what is in it, and what it may do."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from evolvability import Run, evolve, function_task
from evolvability.cli import main as ees
from evolvability.config.schema import layered
from evolvability.explorer.page import bundle, playground_html
from evolvability.explorer.playground import make_tab, packed, why_not


@pytest.fixture(scope="module")
def point_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("runs") / "<b>point"
    options = {"num_steps": 5, "hidden": 4}
    values = {"generations": 2, "population_size": 8, "objective": "max_variance", "task_options": options}
    evolve("point", layered("point", values=values), output=path)
    return Run(path)


def table_of(path: Path) -> Any:
    found = re.search(r'<script type="application/json" id="table">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_export_writes_a_page_with_center_and_setup(point_run: Run, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        ees(["export", str(point_run.path), "--playground", str(tmp_path / "page.html"), "--members", "3"])
    ees(["export", str(point_run.path), "--playground", str(tmp_path / "page.html")])
    assert "wrote" in capsys.readouterr().out
    html = (tmp_path / "page.html").read_text()
    assert "<b>" not in html
    (tab,) = table_of(tmp_path / "page.html")["tabs"]
    assert "<b>point" in tab["about"]
    assert tab["setup"]["num_steps"] == 5
    assert tab["centers"][0]["population"]["size"] == point_run.centers.size
    assert "Content-Security-Policy\" content=\"default-src 'none'" in html


def test_what_a_page_cannot_simulate_is_refused_with_the_reason(tmp_path: Path, capsys: Any) -> None:
    task = function_task(jnp.tanh, start=jnp.zeros(2), name="mine")
    evolve(task, generations=1, population_size=4, objective="max_variance", output=tmp_path / "mine")
    with pytest.raises(SystemExit, match="2"):
        ees(["export", str(tmp_path / "mine"), "--playground", str(tmp_path / "page.html")])
    assert "task 'python:mine' cannot be simulated" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "page.html").exists()


def test_what_a_page_cannot_simulate_is_named(point_run: Run) -> None:
    assert why_not(point_run) == ""
    assert "dimensions" in why_not(Run(point_run.path, (0,)))
    other: Any = SimpleNamespace(config=SimpleNamespace(task="gymnasium", task_options=None))
    assert "'gymnasium' cannot be simulated" in why_not(other)
    unknown = (
        ("point", {"policy": "gru"}, "its network is not an mlp with tanh"),
        ("maze", {"activation": "relu"}, "its network is not an mlp with tanh"),
        ("cheetah", {"policy": "brains:mine"}, "its network is your own"),
    )
    for task, options, reason in unknown:
        other = SimpleNamespace(config=layered(task, values={"task_options": options}))
        assert reason in why_not(other)


def test_a_playground_is_of_one_run_and_a_page(point_run: Run, tmp_path: Path, capsys: Any) -> None:
    for words in ([str(point_run.path)] * 2, [str(point_run.path)]):
        with pytest.raises(SystemExit) as stopped:
            ees(["export", *words, "--playground", str(tmp_path / ("page.html" if len(words) > 1 else "page.txt"))])
        assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "give one run folder, got 2" in said
    assert ".html" in said


def test_centers_of_sixteen_bits_stay_so_and_others_are_whole(point_run: Run) -> None:
    (center,) = make_tab("point", [point_run])["centers"]
    assert center["center"]["type"] == "float32"
    assert packed(np.zeros(3, np.float16))["type"] == "float16"


def test_a_bundle_has_every_module_once_and_before_it_is_used() -> None:
    text = bundle("playground/worker", "playground/members")
    names = re.findall(r"^modules\['(playground/\w+)'\] =", text, re.MULTILINE)
    assert sorted(set(names)) == sorted(names)
    assert names.index("playground/random") < names.index("playground/members") < names.index("playground/worker")
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)


def test_a_table_cannot_change_the_page() -> None:
    html = playground_html({"title": "</script><script>/*POLICY*/ /*SCRIPT*/", "tabs": []})
    assert html.count("</script>") == playground_html({"title": "", "tabs": []}).count("</script>")
    assert "/*POLICY*/ /*SCRIPT*/" in html
