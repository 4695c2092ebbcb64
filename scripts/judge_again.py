"""Judge the archived runs of the paper's size by the rules of today, and write the verdicts into their reports.

    python scripts/judge_again.py

Runs that are not kept, those of the interference pattern, have the values that their report had. Figures, times and
tables of other experiments stay as they are.
"""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evolvability import Run
from evolvability.runs.files import json_text
from evolvability.studies.statistics import Paired
from evolvability_paper.claims import CLAIMS
from evolvability_paper.claims.claim import Claim
from evolvability_paper.claims.sentences import judged_together
from evolvability_paper.items import ITEMS
from evolvability_paper.markdown import CLAIM_COLUMNS, NOTE, claim_table, sentence_table, verdict_line
from evolvability_paper.report import Report, finished

RESULTS = Path(__file__).parents[1] / "results" / "paper-bodies-h200"
MAML = RESULTS / "text" / "runs" / "cheetah" / "maml"
"""It has none of the program's settings: both reports compare with it."""


def main() -> None:
    """Judge both reports again."""
    for name in ("text", "released"):
        folder = RESULTS / name
        claims = judged(folder)
        (folder / "claims.json").write_text(json_text({name: asdict(claim) for name, claim in claims.items()}))
        report = folder / "report.md"
        text, line = rewritten(report.read_text(), claims)
        report.write_text(text)
        print(f"{name}: {line}")


def judged(folder: Path) -> dict[str, Claim]:
    """The claims of a report, of its runs; where these are not kept, as its `claims.json` has them."""
    kept = json.loads((folder / "claims.json").read_text())
    known, before = {name.split("/")[0] for name in kept}, read_claims(kept)
    paths = {path.parent for path in (folder / "runs").rglob("config.toml")} | {MAML}
    runs = finished([Run(path) for path in sorted(paths)])
    found = {name: claim(runs) for name, claim in CLAIMS.items() if name.split("/")[0] in known}
    return judged_together({name: before[name] if own.value is None else own for name, own in found.items()})


def read_claims(kept: dict[str, Any]) -> dict[str, Claim]:
    """The claims of a `claims.json`, as far as there are such statements still."""
    return {name: _claim(name, own) for name, own in kept.items() if name in CLAIMS}


def _claim(name: str, kept: dict[str, Any]) -> Claim:
    tuples = {field: tuple(kept[field]) for field in ("num_runs", "medians")}
    pairs = kept["pairs"] and Paired(*kept["pairs"])
    return replace(CLAIMS[name].claim, **{**kept, **tuples, "pairs": pairs, "kind": CLAIMS[name].claim.kind})


def rewritten(markdown: str, claims: dict[str, Claim]) -> tuple[str, str]:
    """A report with these claims, and its line of verdicts."""
    items = {item: {name: own for name, own in claims.items() if CLAIMS[name].item == item} for item in ITEMS}
    report = Report("", [], [], {}, items)
    line = verdict_line(report)
    head, _, rest = markdown.partition("\n## ")
    summary = re.sub(r"Of \d+ sentences of the paper:.*", f"{line}.", head.split("\n\n")[1])
    parts = [head.split("\n\n")[0], summary, sentence_table(report), NOTE]
    sections = rest.split("\n## ")
    titles = {item.title: claim_table(items[name]) for name, item in ITEMS.items() if items[name]}
    for place, section in enumerate(sections):
        if table := titles.get(section.partition("\n")[0]):
            start = section.index(f"| {' | '.join(CLAIM_COLUMNS)} |")
            sections[place] = section[:start] + table + "\n"
    return "\n\n".join(parts) + "\n\n## " + "\n## ".join(sections), line


if __name__ == "__main__":
    main()
