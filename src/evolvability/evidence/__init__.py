"""What run folders say: groups of seeds, statistics, and the paper's statements held against them."""
