"""`voxring`, and `python -m pipeline`: what runs before the command line is even imported."""

import signal
import sys


def main() -> int:
    """Run the command line; an interrupt while it is imported ends the program without a word."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pipeline.cli import main as run

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


if __name__ == "__main__":
    sys.exit(main())
