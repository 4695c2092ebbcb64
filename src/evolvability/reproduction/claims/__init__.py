"""The paper's statements, held against run folders: `CLAIMS` has them all, by name."""

# Importing these two modules enters their statements into CLAIMS.
from evolvability.reproduction.claims import training as training
from evolvability.reproduction.claims import uses as uses
from evolvability.reproduction.claims.claim import CLAIMS as CLAIMS
