"""The explorer: a page on which a person sees a run's mutations, clicks one, and watches what it does."""
