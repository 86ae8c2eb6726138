"""python -m agon VERB ..., and the script `agon`."""

import signal
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this comes before any newer syntax is read
    sys.exit(
        "agon needs Python 3.11 or newer; this is {}.{}. Run `make repro` with PYTHON=python3.11".format(
            *sys.version_info[:2]
        )
    )


def run() -> int:
    """One command of this process. Ctrl-C and SIGTERM end it in a line at any time, with exit code 130 and 143."""
    from agon.errors import interruption_message

    signals = []

    def end(number: int, _: object) -> None:
        signals.append(number)
        # a shell ignores SIGINT for commands in the background
        if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)  # as Ctrl-C does, in an event loop too

    signal.signal(signal.SIGTERM, end)
    try:
        from agon.cli import main

        code = main()
    except KeyboardInterrupt:
        sys.stderr.write(f"agon: {interruption_message(sys.argv[1:])}\n")
        code = 130
    return 143 if signals and code == 130 else code


if __name__ == "__main__":
    sys.exit(run())
