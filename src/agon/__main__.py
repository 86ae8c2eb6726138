"""python -m agon VERB [hydra overrides]."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - said before anything newer is read
    sys.exit(
        "agon needs Python 3.11 or newer; this is {}.{}. Run `make repro` with PYTHON=python3.11".format(
            *sys.version_info[:2]
        )
    )

from agon.cli import main

if __name__ == "__main__":
    sys.exit(main())
