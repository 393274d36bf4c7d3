"""`manage.py up`: everything on one machine. The door to `local`, which the engine itself never uses."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = "Start everything on this machine, print one address, and stop it all on Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=int, default=8000, help="first port to try for the pages (default 8000)"
        )
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument(
            "--data", type=Path, help="data folder (default: INTERLOCK_DATA, else .interlock)"
        )
        parser.add_argument("--no-demo", action="store_true", help="no demo people, no demo runs")
        parser.add_argument(
            "--check",
            action="store_true",
            help="start on an empty data folder, put the product to the test, print what was found, stop",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ends the process with the supervisor's exit code."""
        from local.supervisor import AlreadyRunning, Options, Supervisor

        check = options["check"]
        data = options["data"] or (
            Path(tempfile.mkdtemp(prefix="interlock-")) if check else settings.INTERLOCK_DATA
        )
        wanted = Options(data.resolve(), options["host"], options["port"], not options["no_demo"], check)
        try:
            code = Supervisor(wanted).run()
        except AlreadyRunning as running:
            self.stdout.write(f"{running}. Nothing was started.")
            return
        if check and not options["data"]:
            if code == 0:
                shutil.rmtree(data, ignore_errors=True)
            else:
                self.stdout.write(f"What it left for you to look at: {data}")
        sys.exit(code)
