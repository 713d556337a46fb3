"""One module for each area; each has `run_round(seed)`, which raises AssertionError if a result is wrong."""
