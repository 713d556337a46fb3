"""Coverage of the tests: lines and branches of Python and of the C++ core. See `python -m tests.measure --help`."""
