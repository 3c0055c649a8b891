"""Starts servers for the tests: goodput serve, Prometheus, and pages to scrape. All listen on free ports of 127.0.0.1."""

import contextlib
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import side_by_side  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("GOODPUT", "build/goodput"))


free_port = side_by_side.free_ports


class Pages:
    """An HTTP server whose pages are texts that a test may change; None: no answer."""

    def __init__(self):
        self.pages, self.hits, self.delay = {}, {}, 0.0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.split("?")[0]
                outer.hits[path] = outer.hits.get(path, 0) + 1
                time.sleep(outer.delay)
                page = outer.pages.get(path)
                if page is None:
                    self.send_error(500)
                    return
                body = page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *args):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class Server:
    """A process with an HTTP API."""

    def __init__(self, port, process, log):
        self.port, self.process, self.log_path = port, process, log

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.port

    def ask(self, path, params=None, method="GET", headers=None, body=None, timeout=60):
        """`params` go into the query of a GET, into the form of a POST."""
        encoded = urllib.parse.urlencode(params or [], doseq=True)
        headers = dict(headers or {})
        if method == "POST" and body is None and params is not None:
            body = encoded.encode()
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        elif encoded:
            path += "?" + encoded
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, body=body, headers=headers)
            r = c.getresponse()
            return Answer(r.status, r.headers, r.read())
        finally:
            c.close()

    def api(self, path, method="GET", **params):
        params = {k.replace("match", "match[]") if k == "match" else k: v for k, v in params.items()}
        return self.ask("/api/v1/" + path, params, method)

    def query(self, text, at=None):
        """The result of an instant query."""
        answer = self.api("query", query=text, **({"time": at} if at is not None else {}))
        if answer.status != 200:
            raise AssertionError("%s: %s" % (text, answer.text))
        return answer.json["data"]["result"]

    def value(self, text):
        result = self.query(text)
        return float(result[0]["value"][1]) if result else None

    def wait(self, test, timeout=60, what="the server"):
        end = time.time() + timeout
        while time.time() < end:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
                value = test()
                if value:
                    return value
            if self.process.poll() is not None:
                raise AssertionError("ended early:\n" + self.log())
            time.sleep(0.05)
        raise AssertionError("waited in vain for %s\n%s" % (what, self.log()[-2000:]))

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def end(self, number=signal.SIGTERM, timeout=120):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


class Workshop:
    """A folder, and everything started in it, ended together."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="goodput-serve-")
        self.servers, self.pages, self.count = [], [], 0

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".new", path)
        return path

    def serve_pages(self):
        self.pages.append(Pages())
        return self.pages[-1]

    def start(self, command, port):
        self.count += 1
        log = self.path("log-%d" % self.count)
        with open(log, "wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, cwd=self.folder)
        server = Server(port, process, log)
        self.servers.append(server)
        return server

    def goodput(self, *args, port=0):
        server = self.start([PROGRAM, "serve", "--port", str(port), *args], port)
        found = server.wait(lambda: re.search(r"API on https?://[^:]+:(\d+)", server.log()), what="the port")
        server.port = int(found.group(1))
        return server

    def sim(self, *args, replicas=1):
        """On successive ports, outside those that the system hands out; tried again when somebody has one of them."""
        for last in (False, False, False, True):
            port = side_by_side.free_ports(replicas)
            sim = self.start([PROGRAM, "sim", "--port", str(port), "--replicas", str(replicas), *args], port)
            try:
                sim.wait(lambda s=sim: s.ask("/health").status == 200, what="the simulator")
                return sim
            except AssertionError:
                if last:
                    raise
        return None

    def prometheus(self, config, *flags):
        port = free_port()
        server = self.start(["prometheus", "--config.file=" + config, "--storage.tsdb.path=" + self.path("tsdb-%d" % port),
                             "--web.listen-address=127.0.0.1:%d" % port, "--log.level=warn", *flags], port)
        server.wait(lambda: server.ask("/-/ready").status == 200, what="Prometheus")
        return server

    def close(self):
        """Ours must end in order. Others are killed: a Prometheus whose remote write finds nobody would take a minute to end."""
        for server in self.servers:
            if server.process.poll() is None:
                server.process.send_signal(signal.SIGTERM if server.process.args[0] == PROGRAM else signal.SIGKILL)
        late = []
        for server in self.servers:
            try:
                server.process.wait(60)
            except subprocess.TimeoutExpired:
                late.append(" ".join(server.process.args) + "\n" + server.log())
                server.process.kill()
                server.process.wait()
        for pages in self.pages:
            pages.close()
        logs = [server.log() for server in self.servers]
        shutil.rmtree(self.folder, ignore_errors=True)
        for log in logs:
            if "Sanitizer" in log or "runtime error" in log:
                raise AssertionError(log[:4000])
        if late:
            raise AssertionError("no end after SIGTERM: " + late[0])
