"""One sentence of the paper is often several statements, of both methods or both robots: it is judged once.

It holds where all of its statements do, in part where some do, and does not where none does. That all of several
differences are significant needs no correction; that all of several are not does: of many tests some find a
difference by chance. So p-values of statements that find none are corrected first, by Holm's method.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evolvability.reproduction.claims.claim import NOT_JUDGED, Claim, Verdict, no_difference
from evolvability.studies.comparison import p_text
from evolvability.studies.statistics import corrected


@dataclass(frozen=True)
class Sentence:
    """What the paper says, and the statements that it became here."""

    verdict: Verdict
    claims: dict[str, Claim]  # by name

    @property
    def count(self) -> str:
        """How many of its statements hold, where there are several."""
        number = sum(claim.verdict == "holds" for claim in self.claims.values())
        return f"{number} of {len(self.claims)}" if len(self.claims) > 1 else ""


def judged_together(claims: Mapping[str, Claim]) -> dict[str, Claim]:
    """The same statements; those of a sentence that finds no difference by p-values corrected for their number."""
    found = dict(claims)
    for names in _families(claims).values():
        same = [name for name in names if claims[name].enough and claims[name].p is not None]
        if len(same) < 2:
            continue
        for name, p in zip(same, corrected([claims[name].p for name in same], "holm"), strict=True):
            assert p is not None  # for type checkers: those without were left out
            verdict, reason = no_difference(p, claims[name].num_runs, claims[name].enough)
            by = f"p = {p_text(p)}, corrected for the {len(same)} tests of this sentence"
            found[name] = replace(claims[name], verdict=verdict, reason="; ".join(filter(None, (by, reason))))
    return found


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
