#!/usr/bin/env python3
"""Serves the pages of cases to a scraper, one page after another, at /CASE/TARGET/metrics.

    tests/replay/serve.py [--port N] [--live] CASE_FOLDER...

A page is what the target sent, byte for byte, with the case's own time written behind each sample (milliseconds; seconds on an OpenMetrics
page), so that a scraper that honours time stamps takes hours in seconds: each GET moves a target one page on; after the last the answer is
an empty page. With --live (or Case.live) pages have no time stamps and a target repeats its page until POST /advance/CASE moves the whole
case. Status 0 is no answer: the connection stays silent until the client gives up. Listens on 127.0.0.1; GET /state tells how far each target
is."""

import argparse
import json
import os
import select
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from caselib.cases import read_case  # noqa: E402

SILENCE_S = 30.0
TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def end_of_series(line):
    """Offset behind name and labels of a sample line. A brace inside a quoted value does not end the labels."""
    brace = line.find(b"{")
    space = line.find(b" ")
    if brace < 0 or 0 <= space < brace:
        return space
    quoted = escaped = False
    for i in range(brace, len(line)):
        c = line[i : i + 1]
        if escaped:
            escaped = False
        elif c == b"\\":
            escaped = True
        elif c == b'"':
            quoted = not quoted
        elif c == b"}" and not quoted:
            return i + 1
    return -1


def stamp_line(line, stamp):
    """The line with the time behind its value. What is no sample stays as it is, as does a sample that has a time already."""
    if not line.strip() or line.startswith(b"#"):
        return line
    end = end_of_series(line)
    if end < 0:
        return line
    rest, mark, exemplar = line[end:].partition(b" # ")
    if len(rest.split()) != 1:
        return line
    return line[:end] + rest.rstrip() + b" " + stamp + (mark + exemplar if mark else b"")


def stamp_page(body, content_type, t_s):
    stamp = (f"{t_s:.3f}" if content_type.startswith("application/openmetrics-text") else f"{round(t_s * 1000)}").encode()
    return b"\n".join(stamp_line(line, stamp) for line in body.split(b"\n"))


class Page:
    def __init__(self, case, scrape):
        self.time_s = float(scrape["time_unix"])
        self.status = int(scrape["http_status"])
        self.content_type = scrape["content_type"] if scrape["content_type"] not in ("", "-") else TEXT_TYPE
        self.body = b""
        if scrape["file"] not in ("", "-"):
            with open(os.path.join(case.folder, scrape["file"]), "rb") as f:
                self.body = f.read()


class Replay:
    """Pages of one case and how far each target has come. Thread-safe."""

    def __init__(self, folder, live=False, shift_s=0.0):
        self.case = read_case(folder)
        self.name, self.live, self.shift_s = self.case.name, live, shift_s
        self.moments = list(self.case.whens())
        self.pages = {t: [] for t in self.case.targets()}
        for scrape in sorted(self.case.scrapes, key=lambda s: float(s["time_unix"])):
            self.pages[scrape["target"]].append((scrape["when"], Page(self.case, scrape)))
        self.lock = threading.Lock()
        self.open = not live  # closed: empty pages
        self.moment = 0  # of a live case
        self.next = dict.fromkeys(self.pages, 0)  # of the others: pages taken
        self.seen = {}  # (moment, target) -> time the answer was over, of a live case

    def take(self, target):
        """(page or None, moment) that this GET gets."""
        with self.lock:
            if not self.open:
                return None, None
            pages = self.pages[target]
            if self.live:
                when = self.moments[self.moment]
                return next((page for name, page in pages if name == when), None), when
            i = self.next[target]
            self.next[target] = min(i + 1, len(pages) + 1)
            return (pages[i][1], None) if i < len(pages) else (None, None)

    def over(self, target, when):
        with self.lock:
            self.seen.setdefault((when, target), time.time())

    def body(self, page):
        return page.body if self.live else stamp_page(page.body, page.content_type, page.time_s + self.shift_s)

    def done(self):
        """Has the scraper stored all pages (live: had all answers of this moment)? It has once it comes for one more."""
        with self.lock:
            if not self.live:
                return all(self.next[t] > len(p) for t, p in self.pages.items())
            when = self.moments[self.moment]
            return all((when, t) in self.seen for t, p in self.pages.items() if any(name == when for name, _ in p))

    def again(self):
        """Once more from the first page."""
        with self.lock:
            self.next = dict.fromkeys(self.pages, 0)

    def advance(self):
        with self.lock:
            self.open = True
            self.moment = min(self.moment + 1, len(self.moments) - 1)

    def state(self):
        with self.lock:
            return {"live": self.live, "moment": self.moments[self.moment] if self.live else None,
                "taken": {t: f"{min(self.next[t], len(p))}/{len(p)}" for t, p in self.pages.items()}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if 300 <= status < 400:
            self.send_header("Location", "/login")
        self.end_headers()
        self.wfile.write(body)

    def stay_silent(self):
        """Until the client hangs up."""
        end = time.monotonic() + SILENCE_S
        while time.monotonic() < end:
            ready, _, _ = select.select([self.connection], [], [], 0.1)
            if ready and not self.connection.recv(1):
                break
        self.close_connection = True

    def do_GET(self):
        parts = self.path.strip("/").split("/")
        if parts == ["state"]:
            states = {name: r.state() for name, r in self.server.replays.items()}
            return self.answer(200, "application/json", json.dumps(states).encode())
        replay = self.server.replays.get(parts[0])
        if len(parts) != 3 or not replay or parts[1] not in replay.pages:
            return self.answer(404, "text/plain", b"no such case or target\n")
        page, when = replay.take(parts[1])
        try:
            if page is None:
                self.answer(200, TEXT_TYPE, b"")
            elif page.status == 0:
                self.stay_silent()
            else:
                self.answer(page.status, page.content_type, replay.body(page))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        if when is not None:
            replay.over(parts[1], when)

    def do_POST(self):
        parts = self.path.strip("/").split("/")
        replay = self.server.replays.get(parts[-1])
        if parts[0] != "advance" or not replay:
            return self.answer(404, "text/plain", b"POST /advance/CASE\n")
        replay.advance()
        self.answer(200, "application/json", json.dumps(replay.state()).encode())


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, replays, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.replays = {r.name: r for r in replays}

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self.server_address[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("folders", nargs="+", metavar="CASE_FOLDER")
    arguments = parser.parse_args()
    server = Server([Replay(folder, arguments.live) for folder in arguments.folders], arguments.port)
    for replay in server.replays.values():
        replay.open = True
        for target in replay.pages:
            print(f"http://127.0.0.1:{server.server_address[1]}/{replay.name}/{target}/metrics", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
