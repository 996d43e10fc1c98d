#!/usr/bin/env python3
"""Log settings of a running sluiced: what the log says afterwards, and who may change them.

    tests/daemon/doors/settings.py BUILD_FOLDER
"""

import json
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Daemon, at, eventually, holds, prove, same  # noqa: E402


def logging(address: str, change: dict[str, object] | None = None, token: str = "") -> tuple[int, dict[str, object]]:
    """Reads the settings, or changes some."""
    data = None if change is None else json.dumps(change).encode()
    fields = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://{address}/v2/logging", data, fields)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def levels_change_what_the_log_has(folder: Path) -> None:
    with Daemon(folder / "d", "--http", "localhost:0", level="5") as daemon:
        address, sluice = daemon.door("http"), at(daemon)

        def lines(event: str) -> int:
            """So many more lines of the event after a client came and went."""
            before = daemon.said().count(event)
            sluice.json("models")
            status, settings = logging(address)
            same((status, settings["log_file"]), (200, ""))
            return daemon.said().count(event) - before

        same(lines("connection.open"), 0)
        same(logging(address, {"log_verbose_level": 1})[0], 200)
        holds(daemon.said(), "daemon.log_level from=5 to=6")
        assert lines("connection.open") > 0, daemon.said()
        same(logging(address, {"log_verbose_level": 0, "log_info": False, "log_warning": False})[0], 200)
        same(lines("connection.open"), 0)
        # A reload of the same settings leaves it.
        same(logging(address, {"log_verbose_level": 1, "log_info": True, "log_warning": True})[0], 200)
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "daemon.reload changed=" in daemon.said(), why=daemon.said)
        same(logging(address)[1]["log_verbose_level"], 1)


def reading_needs_a_monitor_and_changing_control(folder: Path) -> None:
    (folder / "tokens").write_text("watcher monitor\nsender inference\nowner\n")
    with Daemon(folder / "d", "--http", "localhost:0", "--token-file", str(folder / "tokens")) as daemon:
        address = daemon.door("http")
        same([logging(address, token=token)[0] for token in ("", "sender", "watcher", "owner")], [401, 403, 200, 200])
        change = {"log_verbose_level": 2}
        same([logging(address, change, token)[0] for token in ("", "sender", "watcher")], [401, 403, 403])
        same(logging(address, token="owner")[1]["log_verbose_level"], 1)
        same(logging(address, change, "owner")[1]["log_verbose_level"], 2)


if __name__ == "__main__":
    sys.exit(prove([levels_change_what_the_log_has, reading_needs_a_monitor_and_changing_control]))
