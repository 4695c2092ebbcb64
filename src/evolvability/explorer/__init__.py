"""The page on which a person clicks a mutation and watches it; videos."""
