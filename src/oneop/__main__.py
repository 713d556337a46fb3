"""`python -m oneop` is the `oneop` command."""

import sys

from oneop.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
