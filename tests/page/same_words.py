#!/usr/bin/env python3
"""The page and `sluice top` show the same numbers in the same words.

    tests/page/same_words.py BUILD_FOLDER

Ends with 77 where there is no Chromium (`apt-get install chromium`)."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/daemon"))
from browser import eventually, find_browser  # noqa: E402
from harness import BUILD, Daemon, Sluice, at, compile_digits, holds, prove, same, set_sensors  # noqa: E402
from page import shown  # noqa: E402

SECOND = "0000:00:11.0"
EXAMPLES = json.loads((ROOT / "tests/page/words.json").read_text())

# By caption: the titles, and the rows by their first cell.
TABLES = """Object.fromEntries([...document.querySelectorAll('table')].map((table) => [table.caption.textContent, {
  titles: [...table.tHead.rows[0].cells].map((cell) => cell.textContent),
  rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) =>
    (cell.querySelector('a') ?? cell).innerText.trim()))}]))"""


def numbers_are_written_alike(folder: Path) -> None:
    """The C++ test of figures.h has the same examples."""
    with shown(folder) as (_, browser):
        wrong = browser.run(f"""import('/page/format.js').then((format) => Object.entries({json.dumps(EXAMPLES)})
          .flatMap(([as, all]) => Object.entries(all).map(([text, value]) => [as, text, format[as](...[value].flat())]))
          .filter(([as, text, written]) => text !== written))""")
        same(wrong, [])


def sections(frame: str) -> dict[str, list[list[str]]]:
    """The tables of a frame of `sluice top`, titles first, by the first title."""
    found = {}
    for part in frame.split("\n\n")[1:]:
        lines = [re.split(r" {2,}", line.strip()) for line in part.splitlines()]
        found[lines[0][0]] = lines
    return found


@contextmanager
def session(daemon: Daemon) -> Iterator[None]:
    with subprocess.Popen([str(BUILD / "bin/sluice"), "timeline", "--seconds", "3600", "--address", daemon.socket, "-o",
                           str(daemon.folder / "timeline.json")], stdout=subprocess.DEVNULL) as holder:
        try:
            eventually(lambda: len(at(daemon).json("sessions")) == 1, why=daemon.said)
            yield
        finally:
            holder.terminate()


def eventually_agree(compare_both: Callable[[], None]) -> None:
    """The page and top look at different moments: until both saw the same."""
    wrong = ""

    def agree() -> bool:
        nonlocal wrong
        try:
            compare_both()
        except (AssertionError, LookupError, ValueError) as error:  # a table may be missing, too, or have fewer rows
            wrong = repr(error)
            return False
        return True

    eventually(agree, why=lambda: wrong)


def compare(top: list[list[str]], page: dict) -> None:
    same([title.lower() for title in page["titles"]], [title.lower() for title in top[0]])
    changing = [top[0].index(title) for title in ("AGE",) if title in top[0]]
    rows = [["-" if cell == "–" else cell for cell in row] for row in page["rows"]]
    assert rows, "nothing to compare"
    for mine, other in zip(rows, top[1:], strict=True):
        assert len(mine) == len(other), (mine, other)
        for i, (a, b) in enumerate(zip(mine, other, strict=True)):
            if i not in changing:
                same((top[0][i], a), (top[0][i], b))


def tables_are_those_of_top(folder: Path) -> None:
    """The daemon is idle after some requests, so that both see the same."""
    with shown(folder, "--isolation", "process") as (daemon, browser), session(daemon):
        sluice = at(daemon)
        sluice.text("deploy", str(compile_digits(folder)), "--name", "small")
        for model in ("digits", "small", "digits"):
            sluice.text("infer", model, "--input", "image=zeros")
        browser.resize(1900, 900)
        wide = Sluice("--address", daemon.socket, environment={"COLUMNS": "400"})
        is_quiet = "[...document.querySelectorAll('.plot b')][0].textContent === '0'"
        browser.wait_for(f"document.body.innerText.includes('small') && {is_quiet}")

        def compare_both() -> None:
            frames, tables = sections(wide.text("top", "--once", "--interval", "0.3")), browser.run(TABLES)
            compare(frames["MODEL"], tables["Models and functions"])
            compare(frames["GROUP"], tables["Core groups"])
            compare(frames["SESSION"], tables["Sessions"])

        eventually_agree(compare_both)


def troubles_are_those_of_top(folder: Path) -> None:
    sysfs = folder / "sysfs"
    set_sensors(sysfs, SECOND, temp1_crit=100_000, temp1_input=101_000)
    with shown(folder, "--sysfs", str(sysfs), "--isolation", "process") as (daemon, browser):
        [group] = at(daemon).json("groups")
        os.kill(group["worker_process"], signal.SIGKILL)
        browser.wait_for("document.body.innerText.includes('has taken its place')")
        wide = Sluice("--address", daemon.socket, environment={"COLUMNS": "400"})

        def compare_both() -> None:
            listed = browser.run("[...document.querySelectorAll('.troubles li')].map((one) => [...one.children].map("
                                 "(part) => part.textContent))")
            [_, *rows] = sections(wide.text("top", "--once", "--interval", "0.3"))["ERROR"]
            same(listed, rows)
            assert len(rows) >= 2, rows

        eventually_agree(compare_both)


def devices_are_those_of_top(folder: Path) -> None:
    sysfs = folder / "sysfs"
    set_sensors(sysfs, SECOND, temp1_crit=100_000, power1_average=84_000_000, temp1_input=71_400)
    with shown(folder, "--sysfs", str(sysfs), "--sensor-seconds", "1") as (daemon, browser):
        wide = Sluice("--address", daemon.socket, environment={"COLUMNS": "400"})
        browser.wait_for("document.body.innerText.includes('71 °C, 84 W')")

        def compare_both() -> None:
            [titles, *rows] = sections(wide.text("top", "--once", "--interval", "0.3"))["DEVICE"]
            cards = browser.run("[...document.querySelectorAll('.device')].map((card) => card.innerText)")
            for row, card in zip(rows, cards, strict=True):
                of = dict(zip(titles, row, strict=True))
                words = card.replace("–", "-")
                for part in (f"Device {of['DEVICE']} {of['KIND']}", of["HEALTH"], f"{of['RESERVED']} cores reserved",
                             f"{of['BUSY']} busy", f"Memory {of['MEMORY']}", f"Sensors {of['SENSORS']}"):
                    holds(words, part)

        eventually_agree(compare_both)


def hot_device_is_said_on_the_page(folder: Path) -> None:
    sysfs = folder / "sysfs"
    set_sensors(sysfs, SECOND, temp1_crit=100_000, temp1_input=50_000)
    with shown(folder, "--sysfs", str(sysfs), "--sensor-seconds", "1") as (_, browser):
        browser.wait_for("document.body.innerText.includes('50 °C')")
        set_sensors(sysfs, SECOND, temp1_input=101_000)
        browser.wait_for("document.querySelectorAll('.device')[1].innerText.includes('failed')")
        browser.wait_for("document.body.innerText.includes('Device 1: it is at 101 °C, its limit is 100 °C')")
        set_sensors(sysfs, SECOND, temp1_input=60_000)
        browser.wait_for("document.querySelectorAll('.device')[1].innerText.includes('healthy')")
        browser.wait_for("document.body.innerText.includes('No errors.')")


if __name__ == "__main__":
    if find_browser() is None:
        print("skipped: there is no Chromium; apt-get install chromium")
        sys.exit(77)
    sys.exit(prove([numbers_are_written_alike, tables_are_those_of_top, troubles_are_those_of_top,
                    devices_are_those_of_top, hot_device_is_said_on_the_page]))
