"""One sentence of the paper is often several statements, of both methods or both robots: it is judged once.

It holds where all of its statements do, in part where some do, and does not where none does. That all of several
differences are significant needs no correction. That all of several are not does, and so does any one that is the other
way round: of many tests some find a difference by chance. These p-values are corrected first, by Holm's method.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evolvability.studies.comparison import p_text
from evolvability.studies.statistics import SIGNIFICANT, corrected
from evolvability_paper.claims.claim import NOT_JUDGED, REVERSED, Claim, Verdict, no_difference, significant


@dataclass(frozen=True)
class Sentence:
    """What the paper says, and the statements that it became here."""

    verdict: Verdict
    """The verdict of all of its statements together."""
    claims: dict[str, Claim]
    """Its statements, by name."""

    @property
    def count(self) -> str:
        """How many of its statements hold, where there are several."""
        number = sum(claim.verdict == "holds" for claim in self.claims.values())
        return f"{number} of {len(self.claims)}" if len(self.claims) > 1 else ""


def judged_together(claims: Mapping[str, Claim]) -> dict[str, Claim]:
    """The same statements; those that one of several tests could refute, by p-values corrected for their number."""
    found = dict(claims)
    for names in _families(claims).values():
        tested = [name for name in names if claims[name].p is not None]
        for finds_none in (True, False):
            group = [name for name in tested if claims[name].finds_no_difference == finds_none]
            for name, p in zip(group, corrected([claims[name].p for name in group], "holm"), strict=True):
                assert p is not None  # for type checkers: those without were left out
                if len(group) > 1 and (finds_none or claims[name].is_reversed):
                    found[name] = _judged_again(claims[name], p, len(group))
    return found


def _judged_again(claim: Claim, p: float, number: int) -> Claim:
    """A statement by the corrected p-value of one of so many tests."""
    verdict, reason = significant(p, claim.num_runs)
    if claim.finds_no_difference:
        verdict, reason = no_difference(p, claim.num_runs, claim.enough)
    elif p < SIGNIFICANT:
        verdict, reason = "does not hold", REVERSED
    by = f"p = {p_text(p)}, corrected for the {number} tests of this sentence"
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
    return "does not hold" if {*judged} == {"does not hold"} else "holds in part"
