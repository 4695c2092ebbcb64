"""One sentence of the paper is often several statements, of both methods or both robots: it is judged once.

It holds where all of its statements do, in part where some do, and does not where none does. That all of several
differences are significant needs no correction. That all of several are not does, and so does any one that is the other
way round: of many tests some find a difference by chance. These p-values are corrected first, by Holm's method.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evolvability.reproduction.claims.claim import NOT_JUDGED, REVERSED, Claim, Verdict, no_difference, significant
from evolvability.studies.comparison import p_text
from evolvability.studies.statistics import SIGNIFICANT, corrected


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
    """The same statements, refuted only by p-values that are corrected for the number of their sentence's tests."""
    found = dict(claims)
    families = _families(claims).values()
    for names, is_alike in itertools.product(families, (True, False)):  # those that find no difference, then the others
        tested = [name for name in names if claims[name].p is not None and bool(claims[name].enough) == is_alike]
        if len(tested) < 2:
            continue
        for name, p in zip(tested, corrected([claims[name].p for name in tested], "holm"), strict=True):
            assert p is not None  # for type checkers: those without were left out
            claim = claims[name]
            if is_alike:
                verdict, reason = no_difference(p, claim.num_runs, claim.enough)
            elif claim.reason == REVERSED and p >= SIGNIFICANT:
                verdict, reason = significant(p, claim.num_runs)
            else:
                continue
            by = f"p = {p_text(p)}, corrected for the {len(tested)} tests of this sentence"
            found[name] = replace(claim, verdict=verdict, reason="; ".join(filter(None, (by, reason))))
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
