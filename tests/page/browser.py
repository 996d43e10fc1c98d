"""Headless Chromium, driven over a pair of pipes by its DevTools protocol."""

from __future__ import annotations

import atexit
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from eventually import eventually  # noqa: E402

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """The program. All browsers of this process share it: it takes more to start than a tab takes for most claims."""

    _shared: Chromium | None = None

    @classmethod
    def shared(cls) -> Chromium:
        if cls._shared is None:
            cls._shared = cls()
            atexit.register(cls._shared.close)
        return cls._shared

    def __init__(self) -> None:
        self.listeners: dict[str, Callable[[str, dict], None]] = {}  #: of what a session tells, by its name
        self._profile = tempfile.TemporaryDirectory(prefix="sluice-browser-", ignore_cleanup_errors=True)
        self._replies: dict[int, dict] = {}
        self._next = 0
        self._unread = b""
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # Chromium reads commands from descriptor 3 and writes to 4.
        hand_over = f'exec 3<&{to_read} 4>&{to_write}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", hand_over, "bash", find_browser() or "chromium", "--headless=new", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=[to_read, to_write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict:
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        eventually(self._has_reply, why=f"the browser does not answer {method}")
        reply = self._replies.pop(self._next)
        assert "error" not in reply, f"{method}: {reply}"
        return reply["result"]

    def _has_reply(self) -> bool:
        while self._next not in self._replies and select.select([self._read], [], [], 0.5)[0]:
            self._take()
        return self._next in self._replies

    def _take(self) -> None:
        data = os.read(self._read, 1 << 20)
        assert data, "the browser ended"
        *whole, self._unread = (self._unread + data).split(b"\0")
        for one in whole:
            message = json.loads(one)
            if "id" in message:
                self._replies[message["id"]] = message
            elif listener := self.listeners.get(message.get("sessionId", "")):
                listener(message["method"], message.get("params", {}))


class Browser:
    """One tab with storage of its own. Keeps what the page logs, what it throws and what it asks for."""

    def __init__(self, width: int = 1280, height: int = 900) -> None:
        self.problems: list[str] = []
        self._is_cut = False  # something was not loaded because of others
        self.asked: list[str] = []
        self._program = Chromium.shared()
        self._context = self._program.call("Target.createBrowserContext")["browserContextId"]
        target = self._program.call("Target.createTarget", url="about:blank", browserContextId=self._context,
                                    width=width, height=height)["targetId"]
        self._session = self._program.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._program.listeners[self._session] = self._note
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        del self._program.listeners[self._session]
        self._program.call("Target.disposeBrowserContext", browserContextId=self._context)

    def _call(self, method: str, **parameters: object) -> dict:
        return self._program.call(method, self._session, **parameters)

    def _note(self, method: str, about: dict) -> None:
        if method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(one.get("value", one)) for one in about["args"]))
        elif method == "Log.entryAdded" and "ERR_NETWORK_CHANGED" in about["entry"]["text"]:
            self._is_cut = True
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])

    def resize(self, width: int, height: int, *, is_phone: bool = False) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=2 if is_phone else 1, mobile=is_phone)

    def prefer(self, scheme: str) -> None:
        """"dark" or "light"."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url: str) -> None:
        """Again if another test added or removed a network interface meanwhile: Chromium then drops what it loads."""
        self._is_cut = True
        while self._is_cut:
            self._is_cut = False
            self._call("Page.navigate", url=url)
            self.wait_for("document.readyState === 'complete'")

    def run(self, script: str):
        """The value of an expression in the page; of a promise, what it resolves to."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        eventually(lambda: self.run(condition), why=lambda: f"{condition}\n{self.problems}\n{self.text()}")

    def text(self) -> str:
        """What the page shows."""
        return self.run("document.body ? document.body.innerText : ''") or ""

    def press(self, key: str, *, shift: bool = False) -> None:
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowRight": 39, "-": 189}
        about = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "modifiers": 8 if shift else 0}
        if key == "Enter":
            about["text"] = "\r"
        self._call("Input.dispatchKeyEvent", type="keyDown", **about)
        self._call("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        self._call("Input.insertText", text=text)

    def choose_files(self, selector: str, *files: Path) -> None:
        root = self._call("DOM.getDocument")["root"]["nodeId"]
        node = self._call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self._call("DOM.setFileInputFiles", nodeId=node, files=[str(file) for file in files])

    def accessibility_tree(self) -> list[dict]:
        return self._call("Accessibility.getFullAXTree")["nodes"]

    def screenshot(self, path: Path, *, scale: float = 1) -> None:
        """Writes a picture of the whole page."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                          clip={**size, "scale": scale})["data"]
        path.write_bytes(base64.b64decode(data))
