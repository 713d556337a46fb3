"""The core in this process: loading it, loading libraries, op and function objects."""
