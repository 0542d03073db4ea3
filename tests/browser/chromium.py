# SPDX-License-Identifier: BSD-2-Clause
"""
A headless Chromium that tests can ask, over the DevTools protocol on two pipes: no port, no packages.

    with Chromium() as browser:
        page = browser.open("page.html", 1200, 800)
        page.run("document.title")
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = ["chromium", "chromium-browser", "google-chrome"]
FLAGS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio",
         "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe"]
LIMIT = 60  # seconds for an answer


def find():
    return next((p for p in map(shutil.which, PROGRAMS) if p), None)


class Chromium:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        flags = list(FLAGS)
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # which Chromium has for other users only
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        command = [find(), *flags, f"--user-data-dir={self.folder}"]
        # The descriptors are 3 and 4, as Chromium wants them.
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self.process = subprocess.Popen(["bash", "-c", shell, "chromium", *command], pass_fds=[to_read, to_write],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            self.ask("Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                raise EOFError("Chromium does not answer")
            piece = os.read(self.read, 1 << 20)
            if not piece:
                raise EOFError("Chromium has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, session=None, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        until = time.monotonic() + LIMIT
        while True:
            answer = self.message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1280, height=900, dark=False, touch=False):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        page.ask("Page.enable")
        page.ask("Runtime.enable")
        page.ask("Log.enable")
        page.ask("Network.enable")
        page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        page.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.load("file://" + os.path.abspath(path))
        page.run("new Promise((done) => { const look = () => document.documentElement.dataset.ready || "
                 "!document.getElementById('data') ? done() : requestAnimationFrame(look); look(); })")
        return page


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session

    def ask(self, method, **params):
        return self.browser.ask(method, self.session, **params)

    def load(self, url):
        self.ask("Page.navigate", url=url)
        until = time.monotonic() + LIMIT
        while not any(e.get("sessionId") == self.session and e["method"] == "Page.loadEventFired"
                      for e in self.browser.events):
            self.browser.events.append(self.browser.message(until))

    def run(self, script):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def key(self, key, modifiers=0, code=None):
        names = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        number = names.get(key, ord(key.upper()) if len(key) == 1 else 0)
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or "", modifiers=modifiers,
                 windowsVirtualKeyCode=number, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or "", modifiers=modifiers,
                 windowsVirtualKeyCode=number)

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, modifiers=0):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1, modifiers=modifiers)

    def screenshot(self, path, whole=False):
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def complaints(self):
        """What the browser has reported: errors of scripts, violations of the content security policy."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    def requests(self):
        """The addresses that the page has asked for, but for itself."""
        return [event["params"]["request"]["url"] for event in self.browser.events
                if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"
                and event["params"].get("type") != "Document"]
