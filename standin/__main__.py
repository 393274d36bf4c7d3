"""`python -m standin --port P --book FILE [--host H]`: run the stand-in until SIGTERM or SIGINT.

Prints `listening http://HOST:PORT` once it answers; port 0 takes any free one. Exit codes: 0 stopped, 1 could
not start.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from standin.book import Damaged
from standin.server import Vendor


def main() -> int:
    """Serve until a signal ends it. Returns the exit code: 0 stopped, 1 could not start."""
    parser = argparse.ArgumentParser(
        prog="standin", description="A vendor stand-in with a book of what really moved."
    )
    parser.add_argument("--port", type=int, required=True, help="0 takes any free port")
    parser.add_argument("--book", type=Path, required=True, help="the file that keeps what really moved")
    parser.add_argument("--host", default="127.0.0.1")
    options = parser.parse_args()
    try:
        vendor = Vendor((options.host, options.port), options.book)
    except (OSError, OverflowError, Damaged) as bad:
        print(f"standin: can't start: {bad}", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: vendor.stop())
    print(f"listening http://{options.host}:{vendor.server_address[1]}", flush=True)
    vendor.serve_forever(poll_interval=0.1)
    vendor.server_close()
    vendor.book.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
