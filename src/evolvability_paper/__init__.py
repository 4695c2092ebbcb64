"""The paper, item by item: plan, runs, claims, report."""
