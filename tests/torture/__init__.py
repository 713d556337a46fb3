"""Random work that looks for wrong results, crashes and hangs: `make torture`."""
