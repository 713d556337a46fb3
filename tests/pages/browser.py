"""Chromium, driven over a pair of pipes: a page at a width and in a colour scheme, and what is wrong with how it looks.

python -m tests.pages.browser PAGE FOLDER     pictures of a page, 400 and 1600 px wide, light and dark
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

WIDTHS = (400, 1600)
SCHEMES = ("light", "dark")
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
LOOK = (Path(__file__).parent / "look.js").read_text()


class Browser:
    """A browser with one tab. Use it in a `with` statement."""

    def __init__(self, program: str) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to_write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe())
        self.from_read, from_write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe())
        command = [program, *FLAGS.split(), "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        # The browser reads from descriptor 3 and writes to 4.
        places = [(os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, from_write, 4)]
        places += [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
        self.process = os.posix_spawn(program, [*command, "about:blank"], os.environ, file_actions=places)
        os.close(to_read)
        os.close(from_write)
        self.number = 0
        self.rest = b""
        self.session = ""
        tab = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        self.send("Page.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.to_write)
        os.close(self.from_read)
        self.profile.cleanup()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Have one command done; return its result."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            piece = os.read(self.from_read, 1 << 20)
            assert piece, "the browser ended"
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def open(self, page: Path, width: int, scheme: str) -> None:
        """Show a page, on a screen as high as the page."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._resize(width, 900)
        self.send("Page.navigate", url=page.absolute().as_uri())
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            pass
        self._resize(width, min(self.run("document.documentElement.scrollHeight"), 16000))

    def _resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page; return its value."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def faults(self, page: Path, width: int, scheme: str) -> list[str]:
        """Return what is wrong with how a page looks."""
        self.open(page, width, scheme)
        laid_out = self.run("innerWidth")
        narrow = [] if laid_out == width else [f"laid out for {laid_out} px: it has no viewport"]
        return [*narrow, *self.run(LOOK)]

    def picture(self, page: Path, width: int, scheme: str) -> bytes:
        """Return a picture of a page, as PNG."""
        self.open(page, width, scheme)
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])


def find_browser() -> str | None:
    """Return the path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def main(page: Path, folder: Path) -> None:
    """Write pictures of a page, and print what is wrong with it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = find_browser()
    assert program is not None, "needs chromium"
    with Browser(program) as browser:
        for width in WIDTHS:
            for scheme in SCHEMES:
                path = folder / f"{page.stem}_{width}_{scheme}.png"
                path.write_bytes(browser.picture(page, width, scheme))
                print(path, *browser.faults(page, width, scheme), sep="\n  ")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
