"""The paper's statements, held against run folders: `CLAIMS` has them all, by name."""

# Importing these two modules enters their statements into CLAIMS.
from evolvability_paper.claims import training as training
from evolvability_paper.claims import uses as uses
from evolvability_paper.claims.claim import CLAIMS as CLAIMS
