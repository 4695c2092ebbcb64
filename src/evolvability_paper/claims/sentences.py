"""One sentence of the paper is often several statements, of both methods or both robots: it is judged once.

It holds where all of its statements do, in part where some do, and does not where none does. Of many tests some find a
difference by chance, so there is one rule of correction: where one of several tests would be enough for a verdict,
p-values are first corrected for their number by Holm's method, whichever way they speak. That some differences are as
the paper says, that one is the other way round, and that one is found where the paper finds none, are such verdicts.
That all of several agree with the paper takes every one of them, and no correction, which would make no difference
easier to find.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evolvability.studies.comparison import p_text
from evolvability.studies.statistics import corrected
from evolvability_paper.claims.claim import NOT_JUDGED, Claim, Kind, Verdict, by_pairs, difference, no_difference


@dataclass(frozen=True)
class Sentence:
    """What the paper says, and the statements that it became here."""

    verdict: Verdict
    """The verdict of all of its statements together."""
    claims: dict[str, Claim]
    """Its statements, by name."""

    @property
    def kind(self) -> Kind:
        """What it is if it holds: its statements are of one kind."""
        return next(iter(self.claims.values())).kind

    @property
    def count(self) -> str:
        """How many of its statements hold, where there are several."""
        number = sum(claim.verdict == "holds" for claim in self.claims.values())
        return f"{number} of {len(self.claims)}" if len(self.claims) > 1 else ""


def judged_together(claims: Mapping[str, Claim]) -> dict[str, Claim]:
    """The same statements; where one of several tests would decide, by p-values corrected for their number."""
    found = dict(claims)
    for names in _families(claims).values():
        tests = {name: claims[name] for name in names if claims[name].p is not None and claims[name].bound is not None}
        if len(tests) < 2 or all(claim.verdict == "holds" for claim in tests.values()):
            continue
        p = corrected([claim.p for claim in tests.values()], "holm")
        pairs = corrected([by_pairs(claim) for claim in tests.values()], "holm")
        found |= {name: _judged_again(tests[name], *own) for name, *own in zip(tests, p, pairs, strict=True)}
    return found


def _judged_again(claim: Claim, p: float | None, pairs: float | None) -> Claim:
    """A statement by the corrected p-values of one of several tests."""
    assert p is not None  # for type checkers: those without were left out
    rule = no_difference if claim.kind == "no difference" else difference
    verdict, reason = rule(claim, p, pairs)
    by = f"p = {p_text(p)}, corrected for the tests of this sentence"
    return replace(claim, verdict=verdict, reason="; ".join(filter(None, (by, reason))))


def sentences(claims: Mapping[str, Claim]) -> dict[str, Sentence]:
    """By name, which is the first part of its statements'."""
    families = _families(claims)
    return {
        family: Sentence(_verdict([claims[name].verdict for name in names]), {name: claims[name] for name in names})
        for family, names in families.items()
    }


def _families(claims: Mapping[str, Claim]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in claims:
        found.setdefault(name.split("/")[0], []).append(name)
    return found


def _verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Of a sentence, from those of its statements."""
    if len({*verdicts}) == 1:  # all of them hold, or none, or none is judged
        return verdicts[0]
    judged = [verdict for verdict in verdicts if verdict not in ("not enough runs", NOT_JUDGED)]
    if not {*judged} <= {"refuted", "not shown"}:
        return "holds in part"
    return "refuted" if "refuted" in judged else "not shown"
