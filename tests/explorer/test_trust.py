"""Run folders and requests of somebody else's: they execute nothing, read nothing else, and leave the page alive."""

import json
import os
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from email.message import Message
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolvability import cli
from evolvability.config.schema import layered
from evolvability.core.errors import ConfigError, RunFolderError
from evolvability.explorer import data
from evolvability.explorer.server import is_own, owner
from evolvability.explorer.service import Explorer, Question
from evolvability.runs.folder import Run
from evolvability.runs.sealed import to_bytes, to_json
from evolvability.runs.writer import RunWriter
from tests.browsing import until
from tests.explorer.serving import arrays, serving
from tests.synthetic import made_up

MARK = "window.executed = true"
HTML = f"<img src=x onerror='{MARK}'></script><script>{MARK}</script>"


def run_of(path: Path, task: str = "point", number: int = 50, **values: Any) -> Run:
    config = layered(task, values={"generations": 2, "population_size": number, **values})
    behavior = np.random.default_rng(0).normal(size=(config.seeds, number, 2))
    return made_up(path, config, behavior, variance=np.ones((config.seeds, 2)), entropy=np.ones((config.seeds, 2)))


@pytest.mark.parametrize(
    ("task", "options", "named"),
    [
        ("runs.evil:task", {}, "runs.evil:task"),
        ("gymnasium", {"env": "runs.evil:CartPole-v1"}, "runs.evil:CartPole-v1"),
        ("gymnasium", {"env": "CartPole-v1", "behavior": "runs.evil:measure"}, "runs.evil:measure"),
        ("gymnasium", {"env": "CartPole-v1", "fitness": "runs.evil:measure"}, "runs.evil:measure"),
    ],
)
def test_code_that_a_run_names_is_imported_only_if_trusted(
    task: str, options: dict[str, str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("runs", "runs.evil"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    run = run_of(tmp_path / "run", task, task_options=options)
    Path("runs").mkdir()
    Path("runs/evil.py").write_text("from pathlib import Path\nPath('executed').touch()\nmeasure = task = None\n")
    explorer = Explorer([run])
    assert json.loads(explorer.answer("overview"))["runs"][0]["behavior"] == ["behavior 0", "behavior 1"]
    assert len(arrays(explorer, "cloud?run=0&seed=0&generation=1")["index"]) == 50
    member = "run=0&seed=0&generation=1&member=0"
    for question in ("robot?run=0", f"replay?{member}", f"policy?{member}", "center?run=0&seed=0&generation=1"):
        with pytest.raises(ConfigError, match=f"names code, '{named}'.*trust=True"):
            explorer.answer(question)
    assert not Path("executed").exists()
    with suppress(Exception):  # it is imported, and no task
        Explorer([Run(run.path, trust=True)]).answer("robot?run=0")
    assert Path("executed").exists()  # so that this test would notice


def test_arguments_and_endless_episodes_are_refused(tmp_path: Path) -> None:
    given = {"env": "HalfCheetah-v5", "env_arguments": '{"xml_file": "/etc/passwd"}', "behavior": "observation:0,1"}
    with pytest.raises(ConfigError, match=r"names arguments.*passwd"):
        Explorer([run_of(tmp_path / "a", "gymnasium", task_options=given)]).answer("robot?run=0")
    endless = run_of(tmp_path / "b", "ant", task_options={"num_steps": 10**9})
    with pytest.raises(ConfigError, match="1,000,000,000 steps"):
        Explorer([endless]).answer("robot?run=0")


def outside(run: Run, name: str) -> None:
    secret = run.path.parent / "secret.json"
    secret.write_text('{"password": "1234"}')
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to(secret)


def folder_elsewhere(run: Run, name: str) -> None:
    shutil.rmtree(run.path / name)
    (run.path / name).symlink_to("/etc")


def giant(run: Run, name: str) -> None:
    with (run.path / name).open("ab") as file:
        file.truncate(1 << 42)  # sparse: it takes no room


CRAFTED: dict[str, tuple[Callable[[Run], Any], str]] = {
    "a link to another file": (lambda run: outside(run, "environment.json"), "is a link"),
    "a link among the behaviors": (lambda run: outside(run, "behaviors/000000.safetensors"), "is a link"),
    "a link to a folder": (lambda run: folder_elsewhere(run, "centers"), "is a link"),
    "a link that leads nowhere": (lambda run: (run.path / "behaviors/000000.safetensors").symlink_to("x"), "is a link"),
    "a pipe": (lambda run: os.mkfifo(run.path / "behaviors/000000.safetensors"), "not an ordinary file"),
    "a giant file of metrics": (lambda run: giant(run, "metrics.jsonl"), "4,398 GB"),
    "a giant configuration": (lambda run: giant(run, "config.toml"), "4,398 GB"),
    "a nested configuration": (
        lambda run: (run.path / "config.toml").write_text("format = 1\nx = " + "[" * 100_000),
        r"nested too deeply|cannot be read",
    ),
}


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_folder_is_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    craft, words = CRAFTED[kind]
    run = run_of(tmp_path / "run")
    craft(run)
    with pytest.raises(RunFolderError, match=words):
        Run(run.path)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["explore", str(run.path), "--no-browser"])
    assert stopped.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_folder_that_is_itself_a_link_is_opened(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    (tmp_path / "link").symlink_to(run.path)
    assert Run(tmp_path / "link").recorded == [1]


def test_a_billion_seeds_are_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    text = (run.path / "config.toml").read_text()
    (run.path / "config.toml").write_text(text.replace("seeds = 1", "seeds = 1000000000"))
    with pytest.raises(RunFolderError, match="1,000,000,000 seeds"):
        Run(run.path)


def test_names_that_are_no_generations_are_passed_over(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    for name in ("abc", "²²²²²²", "-00001", "1e3", "7", "0000007", "99999999999999999999", "..", "000001 "):
        shutil.copy(run.path / "behaviors" / "000001.safetensors", run.path / "behaviors" / f"{name}.safetensors")
    assert Run(run.path).recorded == [1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: to_bytes(whole, {"generation": "000001"})[:-7],
        lambda whole: b"\xff" * 100,
        lambda whole: b"",
        lambda whole: to_bytes({"fitness": whole["fitness"]}, {"generation": "000001"}),
        lambda whole: to_bytes(whole | {"behavior": whole["behavior"][0]}, {"generation": "000001"}),
        lambda whole: to_bytes(whole | {"behavior": whole["behavior"][..., :0]}, {"generation": "000001"}),
        lambda whole: to_bytes(whole | {"valid": whole["valid"][:, :3]}, {"generation": "000001"}),
        lambda whole: (1 << 62).to_bytes(8, "little") + b"{}",
    ],
    ids=["truncated", "garbage", "empty", "lacking", "flat", "no dimensions", "of other sizes", "a giant header"],
)
def test_a_damaged_generation_is_said_and_others_are_shown(damage: Any, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    whole = run.behaviors(1)
    RunWriter(run.path).record("behaviors", 0, whole)
    (run.path / "behaviors" / "000001.safetensors").write_bytes(damage(whole))
    explorer = Explorer([run])
    with pytest.raises(RunFolderError, match="damaged"):
        explorer.answer("cloud?run=0&seed=0&generation=1")
    assert len(arrays(explorer, "cloud?run=0&seed=0&generation=0")["index"]) == 50


def test_a_damaged_environment_is_said_and_not_guessed_around(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    file = run.path / "environment.json"
    file.write_text(file.read_text().replace('"packages"', '"packagez"'))
    with pytest.warns(UserWarning, match=r"environment\.json is damaged"):
        assert "environment.json is damaged" in data.environment(run)["damaged"]
    robot = run_of(tmp_path / "robot", "cheetah")
    (robot.path / "environment.json").write_bytes(file.read_bytes())
    with pytest.warns(UserWarning, match=r"environment\.json is damaged"):
        assert data.trained_on(robot) == "an unknown engine (environment.json is damaged)"


@pytest.mark.parametrize("number", ["-1", "4294967296", "1e3", "", " 1", "\N{SUPERSCRIPT TWO}"])
def test_numbers_that_nothing_has_are_refused(number: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="generation must be an integer from 0"):
        Explorer([run_of(tmp_path / "run")]).answer(f"cloud?run=0&seed=0&generation={number or 'x'}")
    with pytest.raises(ConfigError, match="fresh must be an integer from 0"):
        Question({"fresh": number}).integer("fresh")


def test_a_run_without_recordings_says_so(tmp_path: Path) -> None:
    run = made_up(tmp_path / "run", layered("point", values={"generations": 2}), variance=np.ones((1, 2)))
    with pytest.raises(RunFolderError, match="none was recorded"):
        Explorer([run]).answer("history?run=0&seed=0")


def test_what_is_not_finite_is_left_out(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    whole = run.behaviors(1)
    whole["behavior"][0, :3] = [[np.nan, 0], [np.inf, 0], [3e38, 3e38]]
    RunWriter(run.path).record("behaviors", 1, whole)
    assert list(data.cloud(run, 1, 0)["index"]) == list(range(3, 50))
    assert data.reach(run) < 10
    table = json.loads(Explorer([run]).answer("overview"), parse_constant=pytest.fail)
    assert table["runs"][0]["reach"] < 10


def test_of_a_giant_population_some_are_shown(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", number=300_000)
    found = data.cloud(run, 1, 0)
    assert (len(found["index"]), found["members"][0]) == (data.MAX_NUMBERS // 2, 300_000)


@pytest.mark.parametrize("text", ["{", "[1, 2]", "[" * 100_000, '"text"', ""])
def test_damaged_notes_do_not_keep_a_run_from_being_shown(text: str, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    (run.path / "environment.json").write_text(text)
    (run.path / "metrics.jsonl").write_text(text + "\n")
    explorer = Explorer([run])
    with pytest.warns(UserWarning, match=r"environment\.json is damaged"):
        assert json.loads(explorer.answer("overview"))["runs"][0]["environment"].keys() == {"damaged"}
    try:
        explorer.answer("curves?run=0")
    except RunFolderError as error:
        assert "metrics.jsonl is damaged" in str(error)  # noqa: PT017 (some of these read as no metrics)


@pytest.mark.parametrize(
    ("headers", "host", "let_in"),
    [
        ({"Host": "127.0.0.1:80"}, "127.0.0.1", True),
        ({"Host": "localhost:80", "Sec-Fetch-Site": "same-origin"}, "127.0.0.1", True),
        ({"Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:80"}, "127.0.0.1", True),
        ({}, "127.0.0.1", False),
        ({"Host": "["}, "127.0.0.1", False),
        ({"Host": "rebound.example:80"}, "127.0.0.1", False),
        ({"Host": "127.0.0.1.rebound.example:80"}, "127.0.0.1", False),
        ({"Host": "127.0.0.1:80", "Origin": "http://other.example"}, "127.0.0.1", False),
        ({"Host": "127.0.0.1:80", "Origin": "null"}, "127.0.0.1", False),
        ({"Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:81"}, "127.0.0.1", False),
        ({"Host": "127.0.0.1:80", "Sec-Fetch-Site": "cross-site"}, "127.0.0.1", False),
        ({"Host": "127.0.0.1:80", "Sec-Fetch-Site": "same-site"}, "127.0.0.1", False),
        ({"Host": "192.168.1.7:80"}, "127.0.0.1", False),
        ({"Host": "192.168.1.7:80"}, "0.0.0.0", True),
        ({"Host": "rebound.example:80"}, "0.0.0.0", False),
        ({"Host": "lab.example:80"}, "lab.example", True),
    ],
)
def test_only_the_pages_own_requests_are_answered(headers: dict[str, str], host: str, let_in: bool) -> None:
    message = Message()
    for name, value in headers.items():
        message[name] = value
    assert is_own(message, host) is let_in


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of a run whose every name is HTML."""
    run = run_of(tmp_path_factory.mktemp("hostile") / "run", f"{HTML}:task")
    about = dict.fromkeys(("python", "platform", "commit"), HTML)
    table = {"packages": {HTML: HTML}, "devices": [HTML], HTML: {HTML: HTML}}
    (run.path / "environment.json").write_text(to_json(about | table))
    RunWriter(run.path).write_table("behavior.json", {"names": [HTML, HTML]})
    with serving(run) as address:
        yield address


def test_answers_may_not_be_read_or_framed_by_other_pages(hostile: str) -> None:
    with urllib.request.urlopen(f"{hostile}ask/overview") as response:
        headers = response.headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("path", ["../../../etc/passwd", "ask/../config.toml", "ask/cloud?run=../x", "page.css"])
def test_there_are_no_other_files(hostile: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(hostile + path)
    assert caught.value.code in (404, 422)


def test_html_in_names_is_text(opened: Any, hostile: str) -> None:
    opened.goto(hostile)
    until(opened, "window.explorer?.frames > 0 && window.explorer.state.runs[0].playable === false")
    assert "<img src=x" in opened.inner_text("#status")
    assert "names code" in opened.inner_text("#remark")
    opened.mouse.click(400, 300)
    assert "cannot be evaluated here" in opened.inner_text("#message")
    opened.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert "<img src=x" in opened.inner_text("#config")
    assert opened.evaluate("window.executed") is None
    assert opened.evaluate("document.querySelectorAll('img').length") == 0


def test_who_asks_from_this_machine_is_known_and_other_users_are_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []

    def noted(client: tuple[str, int]) -> int | None:
        asked.append(owner(client))
        return asked[-1] if len(asked) == 1 else 12345  # somebody else, from the second request on

    monkeypatch.setattr("evolvability.explorer.server.owner", noted)
    with serving(run_of(tmp_path / "run")) as address:
        urllib.request.urlopen(address).close()
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            urllib.request.urlopen(address)
    assert asked[0] in (os.getuid(), None if sys.platform != "linux" else os.getuid())
