#!/usr/bin/env python3
"""The page's talk with a language model, on the processors of this machine.

    tests/page/chat.py BUILD_FOLDER

Ends with 77 where there is no Chromium (`apt-get install chromium`)."""

import http.client
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "daemon"), str(TESTS / "e2e/language")]
from accessible import check_accessible  # noqa: E402
from browser import Browser, eventually, find_browser  # noqa: E402
from harness import Daemon, Sluice, prove, same  # noqa: E402
from page import check_in_all_sizes  # noqa: E402
from tiny_models import make, save  # noqa: E402

LETTERS = [chr(code) for code in range(32, 127)]
TEMPLATE = ("{% for message in messages %}{% if message.content == 'raise' %}{{ raise_exception('not that') }}{% endif %}"
            "[{{ message.role }}] {{ message.content }} {% endfor %}")


def make_model(folder: Path) -> None:
    """One that writes letters."""
    vocabulary = {letter: i for i, letter in enumerate(LETTERS)}
    save(make("llama", vocab_size=len(LETTERS) + 1, eos_token_id=len(LETTERS), max_position_embeddings=1200), folder)
    (folder / "tokenizer.json").write_text(json.dumps(
        {"version": "1.0", "model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "decoder": {"type": "Fuse"}}))
    (folder / "chat_template.jinja").write_text(TEMPLATE)


@contextmanager
def talking(folder: Path) -> Iterator[tuple[Daemon, Browser]]:
    """A browser that shows the model."""
    make_model(folder / "letters")
    (folder / "models").mkdir()
    Sluice().text("compile", str(folder / "letters"), "-o", str(folder / "models/letters.sluice"))
    flags = ("--http", "localhost:0", "--repository", str(folder / "models"))
    with Daemon(folder / "d", *flags, is_simulated=False) as daemon, Browser() as browser:
        browser.open(f"http://{daemon.door('http')}/")
        browser.wait_for("document.querySelector('tbody th a') !== null")
        browser.run("document.querySelector('tbody th a').click()")
        browser.wait_for("document.querySelector('form.try textarea') !== null")
        yield daemon, browser
        same(browser.problems, [])


def settle(browser: Browser, **settings: object) -> None:
    """Opens the settings, and fills those that are named by their labels."""
    browser.run("document.querySelector('form.try details').open = true")
    for name, value in settings.items():
        browser.run(f"""[...document.querySelectorAll('form.try label')].find((one) =>
          one.textContent.includes({name!r})).nextElementSibling.value = {str(value)!r}""")


def write(browser: Browser, text: str) -> None:
    browser.run("document.querySelector('form.try textarea').focus()")
    browser.type(text)
    browser.press("Enter")


def entries(browser: Browser) -> list[str]:
    return browser.run("[...document.querySelectorAll('.talk li p')].map((one) => one.textContent)")


def wait_for_answer(browser: Browser) -> str:
    browser.wait_for("/ a second/.test(document.querySelector('form.try [role=status]').textContent)")
    return entries(browser)[-1]


def ask(daemon: Daemon, path: str, **body: object) -> dict:
    connection = http.client.HTTPConnection(daemon.door("http"))
    connection.request("POST", path, json.dumps({"model": "letters", "temperature": 0, "max_tokens": 40, **body}))
    return json.loads(connection.getresponse().read())["choices"][0]


def page_talks_as_the_door_of_openai_answers(folder: Path) -> None:
    with talking(folder) as (daemon, browser):
        settle(browser, Temperature=0, many=40, know="Be brief.")
        talk = [{"role": "system", "content": "Be brief."}]
        for text in ("Hello there", "And again"):
            write(browser, text)
            talk.append({"role": "user", "content": text})
            expected = ask(daemon, "/v1/chat/completions", messages=talk)["message"]["content"]
            same(wait_for_answer(browser), expected)
            talk.append({"role": "assistant", "content": expected})
        same(entries(browser), [one["content"] for one in talk[1:]])
        check_in_all_sizes(browser)
        browser.run("[...document.querySelectorAll('form.try button')].at(-1).click()")
        same(entries(browser), [])


def page_goes_on_with_a_text(folder: Path) -> None:
    with talking(folder) as (daemon, browser):
        settle(browser, Temperature=0, many=40)
        browser.run("document.querySelector('form.try select').value = 'A text to go on with'")
        write(browser, "Once upon")
        same(wait_for_answer(browser), ask(daemon, "/v1/completions", prompt="Once upon")["text"])


def answer_is_stopped(folder: Path) -> None:
    with talking(folder) as (_, browser):
        settle(browser, Temperature=0, many=1100)
        # At the first piece of the answer. A browser that gets no turn meanwhile stops too late, and tries again.
        browser.run("""new MutationObserver(() => {
          if ([...document.querySelectorAll('.talk li.assistant p')].at(-1)?.textContent)
            document.querySelectorAll('form.try button')[1].click();
        }).observe(document.querySelector('.talk'), {childList: true, subtree: true, characterData: true})""")
        status = "document.querySelector('form.try [role=status]').textContent"

        def is_stopped() -> bool:
            browser.run(f"[...document.querySelectorAll('form.try button')].at(-1).click(); {status} = ''")  # a new talk
            write(browser, "Hello")
            browser.wait_for(f"{status} === 'Stopped.' || / a second/.test({status})")
            return browser.run(status) == "Stopped."

        eventually(is_stopped)
        assert 0 < len(entries(browser)[-1]) < 1100


def mistakes_and_refusals_are_said(folder: Path) -> None:
    said = "document.querySelector('form.try [role=status]').textContent.includes({})"
    with talking(folder) as (_, browser):
        write(browser, "")
        browser.wait_for(said.format("'Write a message first'"))
        settle(browser, many=0)
        write(browser, "Hello")
        browser.wait_for(said.format("'from 1 to'"))
        settle(browser, many=5)
        browser.run("document.querySelector('form.try textarea').value = ''")
        write(browser, "raise")
        browser.wait_for(said.format("'not that'"))
        same(entries(browser), [])
        same(browser.run("document.querySelector('form.try textarea').value"), "raise")
        check_accessible(browser)
        browser.problems = [one for one in browser.problems if "400" not in one]  # the browser's line of the refusal


if __name__ == "__main__":
    if find_browser() is None:
        print("skipped: there is no Chromium; apt-get install chromium")
        sys.exit(77)
    sys.exit(prove([page_talks_as_the_door_of_openai_answers, page_goes_on_with_a_text, answer_is_stopped,
                    mistakes_and_refusals_are_said]))
