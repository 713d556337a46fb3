"""Coverage of the tests: lines and branches of Python, lines of the C++ core. See `python -m tests.measure --help`."""
