#!/usr/bin/env python3
"""The daemon's page in a headless Chromium, as a person with a mouse, a keyboard or a screen reader has it.

    tests/page/page.py BUILD_FOLDER

Ends with 77 where there is no Chromium (`apt-get install chromium`)."""

import http.client
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/daemon"))
from accessible import check_accessible  # noqa: E402
from browser import Browser, eventually, find_browser  # noqa: E402
from harness import Daemon, at, compile_digits, holds, prove, same  # noqa: E402

ZEROS = {"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [0] * 64}]}


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[tuple[Daemon, str]]:
    """A daemon with the model digits, and the address of its page."""
    package = compile_digits(folder)
    with Daemon(folder / "d", "--http", "localhost:0", *flags) as daemon:
        at(daemon).text("load", str(package))
        yield daemon, f"http://{daemon.door('http')}/"


@contextmanager
def shown(folder: Path, *flags: str) -> Iterator[tuple[Daemon, Browser]]:
    """The same in a browser that has heard from the daemon. At the end the page has said nothing to the console,
    and asked no other host."""
    with served(folder, *flags) as (daemon, url), Browser() as browser:
        browser.open(url)
        browser.wait_for("document.querySelector('#state').textContent === 'ready'")
        yield daemon, browser
        same(browser.problems, [])
        same([asked for asked in browser.asked if not asked.startswith(url)], [])


@contextmanager
def load(daemon: Daemon) -> Iterator[None]:
    """Requests one after another, until the end."""
    is_over = threading.Event()

    def send() -> None:
        connection = http.client.HTTPConnection(daemon.door("http"))
        while not is_over.is_set():
            connection.request("POST", "/v2/models/digits/infer", json.dumps(ZEROS))
            connection.getresponse().read()

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        is_over.set()
        sender.join()


def overview_shows_what_the_daemon_has(folder: Path) -> None:
    with shown(folder) as (daemon, browser):
        at(daemon).text("deploy", str(compile_digits(folder)), "--name", "small")
        browser.wait_for("document.body.innerText.includes('small')")
        text = browser.text()
        for part in ("digits", "function", "Device 3", "no session", "No errors.", "of 16"):
            holds(text, part)
        same(browser.run("document.querySelectorAll('.cores i:not(.free)').length"), 2)
        same(browser.run("document.querySelectorAll('.cores i').length"), 16)


def empty_daemon_has_no_empty_tables(folder: Path) -> None:
    with Daemon(folder / "d", "--http", "localhost:0") as daemon, Browser() as browser:
        browser.open(f"http://{daemon.door('http')}/")
        browser.wait_for("document.body.innerText.includes('No model is loaded.')")
        for part in ("No core group", "No model holds memory.", "Nothing is recorded yet.", "No open session."):
            holds(browser.text(), part)
        same(browser.run("[...document.querySelectorAll('table, .stack + .legend')].filter((one) => one.checkVisibility()).length"), 0)
        check_in_all_sizes(browser)
        same(browser.problems, [])


def long_names_and_many_models_fit(folder: Path) -> None:
    with shown(folder) as (daemon, browser):
        sluice, package = at(daemon), str(folder / "digits.sluice")
        for i in range(30):
            sluice.text("load", package, "--name", f"{i} of-many-words{'-and-words' * i}{'x' * 3 * i}"[:250])
        browser.wait_for("document.querySelectorAll('tbody')[0].rows.length === 31")
        same(browser.run("[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"), 0)
        assert browser.run("document.querySelector('.scroll').clientHeight") < 800
        check_in_all_sizes(browser)


def overview_moves_under_load(folder: Path) -> None:
    with shown(folder) as (daemon, browser):
        rate = "Number(document.querySelector('.plot b').textContent.replace(',', ''))"
        same(browser.run(rate), 0)
        line = "document.querySelector('path.line.rate').getAttribute('d')"
        before = browser.run(line)
        with load(daemon):
            browser.wait_for(f"{rate} > 0")
            browser.wait_for("document.body.innerText.includes(' us') || document.body.innerText.includes('ms')")
            assert browser.run(line) != before
            for width in (1280, 1024, 960, 959, 390):
                browser.resize(width, 900)
                same(browser.run("[...document.querySelectorAll('.plot')].filter((one) => one.scrollWidth > one.clientWidth).length"), 0)
        browser.wait_for(f"{rate} === 0")


def killed_worker_is_seen(folder: Path) -> None:
    with shown(folder, "--isolation", "process") as (daemon, browser):
        [group] = at(daemon).json("groups")
        browser.wait_for(f"document.body.innerText.includes('{group['worker_process']}')")
        os.kill(group["worker_process"], signal.SIGKILL)
        browser.wait_for("document.body.innerText.includes('The worker of group 1 died of signal 9')")
        browser.wait_for("document.body.innerText.includes(', 1 restart')")


def open_model(browser: Browser) -> None:
    """By its link."""
    browser.run("document.querySelector('tbody th a').click()")
    browser.wait_for("document.querySelector('h1').textContent === 'digits'")
    browser.wait_for("document.querySelector('form.try') !== null")


def model_shows_its_signature_and_where_time_goes(folder: Path) -> None:
    with shown(folder) as (daemon, browser), load(daemon):
        open_model(browser)
        text = browser.text()
        for part in ("FP32 N × 1 × 8 × 8", "probabilities", "Core group", "version 1"):
            holds(text, part)
        assert browser.run("document.activeElement.tagName") == "H1", "a reader starts at the title"
        browser.wait_for("/[1-9]/.test(document.querySelector('.legend b').textContent)")
        shares = browser.run("[...document.querySelectorAll('.legend b')].map((one) => "
                             "parseFloat(one.textContent.split('(')[1]))")
        assert 98 <= sum(shares) <= 102, shares
        browser.run("location.hash = '#/model/1'")
        browser.wait_for("document.body.innerText.includes('no such model')")


def graph_is_drawn_and_listed(folder: Path) -> None:
    with shown(folder) as (daemon, browser):
        open_model(browser)
        browser.wait_for("document.querySelector('.graph g') !== null")
        boxes = browser.run("document.querySelectorAll('.graph g').length")
        assert boxes > 2, boxes
        same(browser.run("document.querySelectorAll('.graph-part tbody tr').length"), min(boxes, 12))
        holds(browser.text(), f"{boxes} operations")
        browser.run("document.querySelector('.graph-part button').click()")
        browser.wait_for("document.querySelector('.graph-part [role=status]').textContent.includes('had no request')")
        with load(daemon):
            record(browser, ".graph-part button",
                   "document.querySelector('.graph-part [role=status]').textContent.includes('does not time')")


def record(browser: Browser, button: str, is_enough: str) -> None:
    """Clicks until a recording of two seconds has caught enough: on a slow machine some catch little."""
    def is_caught() -> bool:
        browser.run(f"document.querySelector({button!r}).click()")
        browser.wait_for(f"!document.querySelector({button!r}).disabled")
        return browser.run(is_enough)

    eventually(is_caught, why=browser.text)


def timeline_shows_queue_and_segments(folder: Path) -> None:
    with shown(folder) as (daemon, browser):
        status = "document.querySelector('.recorder [role=status]').textContent"
        browser.run("document.querySelector('.recorder button').click()")
        browser.wait_for(f"{status}.includes('There was no request')")
        with load(daemon):
            # More than the drawing shows at first.
            record(browser, ".recorder button", f"Number((/([0-9,]+) spans/.exec({status})?.[1] ?? '0').replaceAll(',', '')) > 100")
        tracks = browser.run("[...document.querySelectorAll('.tracks li')].map((one) => one.textContent)")
        same(tracks, ["digits: queue", "digits: segment 1"])  # on devices without memory of their own
        rows = browser.run("[...document.querySelectorAll('.recorder tbody tr')].map((row) => row.lastElementChild.textContent)")
        same(len(rows), len(tracks))
        same([row for row, track in zip(rows, tracks) if "queue" in track], ["–"])
        assert all(row.endswith(" %") for row, track in zip(rows, tracks) if "queue" not in track), rows
        drawn = "document.querySelectorAll('.timeline g').length"
        few = browser.run(drawn)
        assert few > 10, few
        browser.run("document.querySelector('.recorder .drawing').focus()")
        for _ in range(3):
            browser.press("-")
        assert browser.run(drawn) > few, "wider, so more is in view"
        browser.press("ArrowLeft")
        check_in_all_sizes(browser)


def timeline_goes_on_as_long_as_somebody_wants(folder: Path) -> None:
    with shown(folder) as (daemon, browser), load(daemon):
        browser.run("document.querySelector('.recorder input').click()")
        browser.wait_for("document.querySelector('.timeline') !== null")
        browser.run("window.first = document.querySelector('.timeline')")
        browser.wait_for("document.querySelector('.timeline') !== window.first")
        browser.run("document.querySelector('.recorder input').click()")
        browser.wait_for("!document.querySelector('.recorder button').disabled")


def answers(browser: Browser) -> list[tuple[str, float]]:
    return browser.run("""[...document.querySelectorAll('.bars li')].map((row) =>
      [row.children[0].textContent, parseFloat(row.children[2].textContent)])""")


def typed_numbers_are_answered_as_the_protocol_answers(folder: Path) -> None:
    with shown(folder) as (daemon, browser):
        open_model(browser)
        pixels = [(7 * i) % 17 for i in range(64)]
        connection = http.client.HTTPConnection(daemon.door("http"))
        request = {"inputs": [{**ZEROS["inputs"][0], "data": pixels}]}
        connection.request("POST", "/v2/models/digits/infer", json.dumps(request))
        scores = json.loads(connection.getresponse().read())["outputs"][0]["data"]
        choose(browser, "Values")
        browser.run("document.querySelector('textarea').focus()")
        browser.type(json.dumps(pixels))
        browser.run("document.querySelector('form.try button').click()")
        browser.wait_for("document.querySelector('.bars') !== null")
        shown_scores = answers(browser)
        best = max(range(10), key=lambda i: scores[i])
        same(shown_scores[0][0], f"class {best}")
        same(shown_scores[0][1], round(100 * scores[best], 1))
        browser.choose_files("form.try > .labelled input[type=file]", text_file(folder, "labels.txt", "zero one two "
                             "three four five six seven eight nine".replace(" ", "\n")))
        browser.wait_for("document.querySelector('.bars li').textContent.match(/^[a-z]+[0-9]/) !== null")


def choose(browser: Browser, way: str) -> None:
    browser.run(f"""(() => {{
      const field = document.querySelector('form.try select');
      field.value = {way!r};
      field.dispatchEvent(new Event('change'));
    }})()""")


def text_file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def mistakes_say_what_to_change(folder: Path) -> None:
    with shown(folder) as (_, browser):
        open_model(browser)
        for way, typed, answer in (("Picture", "", "choose one first"), ("Values", "1 2 3", "64 are needed, there are 3"),
                                   ("Values", "1 a", '"NaN" is no number'), ("Values", '["b"]', '"b" is no number')):
            choose(browser, way)
            if typed:
                browser.run("document.querySelector('textarea').focus()")
                browser.type(typed)
            browser.run("document.querySelector('form.try button').click()")
            browser.wait_for(f"document.querySelector('form.try [role=status]').textContent.includes({json.dumps(answer)})")


# A canvas as a file in the field: what a user who chooses a picture does. A white ring on black is a zero.
CHOOSE_PICTURE = """(async () => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext('2d');
  pen.fillRect(0, 0, 64, 64);
  pen.strokeStyle = 'white';
  pen.lineWidth = 8;
  pen.ellipse(32, 32, 15, 24, 0, 0, 7);
  pen.stroke();
  const blob = await new Promise((resolve) => { canvas.toBlob(resolve); });
  const transfer = new DataTransfer();
  transfer.items.add(new File([blob], 'zero.png', {type: 'image/png'}));
  HOW
})()"""


def picture_is_resized_and_answered(folder: Path) -> None:
    with shown(folder) as (_, browser):
        open_model(browser)
        drops = "document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true}));"
        browser.run(CHOOSE_PICTURE.replace("HOW", drops))
        browser.wait_for("document.querySelector('.preview').getAttribute('aria-label').includes('zero.png')")
        same(browser.run("[document.querySelector('.preview').width, document.querySelector('.preview').height]"), [8, 8])
        browser.run("document.querySelector('form.try button').click()")
        browser.wait_for("document.querySelector('.bars') !== null")
        same(answers(browser)[0][0], "class 0")


def lost_daemon_is_said_and_found_again(folder: Path) -> None:
    with served(folder) as (daemon, url), Browser() as browser:
        browser.open(url)
        browser.wait_for("document.querySelector('#state').textContent === 'ready'")
        daemon.kill()
        browser.wait_for("document.querySelector('#state').textContent === 'lost'")
        browser.wait_for("document.querySelector('#announce').textContent.includes('Connection lost')")


def page_asks_for_a_token_where_one_is_needed(folder: Path) -> None:
    tokens = folder / "tokens"
    tokens.write_text("secret monitor,inference alice\nblind inference bob\n")
    with served(folder, "--token-file", str(tokens)) as (_, url), Browser() as browser:
        browser.open(url)
        for secret, answer in (("wrong", "token"), ("blind", "monitor")):
            browser.wait_for("document.activeElement.id === 'token'")
            browser.type(secret)
            browser.press("Enter")
            browser.wait_for(f"document.querySelector('[role=alert]')?.textContent.includes('{answer}')")
            browser.wait_for("document.querySelector('#token').value === ''")
        check_accessible(browser)
        browser.run("document.querySelector('#token').focus()")
        browser.type("secret")
        browser.press("Enter")
        browser.wait_for("document.body.innerText.includes('digits')")
        assert "secret" not in browser.text() and all("secret" not in asked for asked in browser.asked)


def page_is_gone_where_it_is_off(folder: Path) -> None:
    with served(folder, "--page=false") as (daemon, _):
        for path, status in (("/", 404), ("/page/app.js", 404), ("/page/state", 404), ("/v2/health/live", 200)):
            connection = http.client.HTTPConnection(daemon.door("http"))
            connection.request("GET", path)
            same(connection.getresponse().status, status)


def check_in_all_sizes(browser: Browser) -> None:
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        for width in (1280, 390):
            browser.resize(width, 844)
            check_accessible(browser)


def every_view_is_accessible(folder: Path) -> None:
    with shown(folder) as (daemon, browser), load(daemon):
        browser.wait_for("document.body.innerText.includes(' us') || document.body.innerText.includes('ms')")
        check_in_all_sizes(browser)
        open_model(browser)
        choose(browser, "Random")
        browser.run("document.querySelector('form.try button').click()")
        browser.wait_for("document.querySelector('.bars') !== null")
        check_in_all_sizes(browser)
        choose(browser, "Picture")
        check_in_all_sizes(browser)


if __name__ == "__main__":
    failed = prove([page_is_gone_where_it_is_off])
    if find_browser() is None:
        print("skipped: there is no Chromium; apt-get install chromium")
        sys.exit(failed or 77)
    sys.exit(failed or prove([
        overview_shows_what_the_daemon_has,
        empty_daemon_has_no_empty_tables,
        long_names_and_many_models_fit,
        overview_moves_under_load,
        killed_worker_is_seen,
        model_shows_its_signature_and_where_time_goes,
        graph_is_drawn_and_listed,
        timeline_shows_queue_and_segments,
        timeline_goes_on_as_long_as_somebody_wants,
        typed_numbers_are_answered_as_the_protocol_answers,
        mistakes_say_what_to_change,
        picture_is_resized_and_answered,
        lost_daemon_is_said_and_found_again,
        page_asks_for_a_token_where_one_is_needed,
        every_view_is_accessible,
    ]))
