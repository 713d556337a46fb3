"""Pages that people look at, in a real browser."""
