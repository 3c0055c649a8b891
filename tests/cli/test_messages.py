#!/usr/bin/env python3
"""What a stranger meets: mistakes of every kind, and what each command says to them."""

import contextlib
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

from program import COMMANDS, PROGRAM, CliTest, goodput, main


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802
        body, kind = self.server.page
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def web_page(body=b"<html><body>Sign in</body></html>", kind="text/html"):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.page = body, kind
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


class Help(CliTest):
    def test_each_thing_is_said_once(self):
        for command in COMMANDS:
            text = " ".join(goodput(command, "--help").out.split())
            self.assertNotRegex(text.lower(), r"can be given again\W+can be given again", command)
            self.assertNotIn(".;", text, command)
            options = re.findall(r"^(?: {6}|  -\w, )(--[a-z0-9-]+)", goodput(command, "--help").out, re.M)
            self.assertEqual(sorted(options), sorted(set(options)), command)

    def test_version_fits(self):
        for line in goodput("version", env={"COLUMNS": "80"}).out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.failed(goodput("version", "x"), 64, "no operands")


class Mistakes(CliTest):
    def test_did_you_mean(self):
        self.failed(goodput("help", "chek"), 64, "did you mean check?")
        self.failed(goodput("man", "bnch"), 64, "did you mean bench?")

    def test_groups_once(self):
        result = goodput("signals", "--group", "nosuch")
        groups = result.err.split("groups: ")[1].strip().split(", ")
        self.assertEqual(len(groups), len(set(groups)), groups)

    def test_nothing_to_send(self):
        self.failed(goodput("bench", "http://127.0.0.1:1", "-n", "0"), 64, "--num-prompts", "at least 1")
        self.failed(goodput("bench", "http://127.0.0.1:1", "-d", "0"), 64, "--duration")

    def test_outputs_are_checked_before_the_load(self):
        with tempfile.TemporaryDirectory() as folder:
            for option in ("--html", "--junit", "--prompts"):
                self.failed(goodput("bench", "http://127.0.0.1:1", "-n", "1", option, folder), 65, folder, "Is a directory")
                self.failed(goodput("bench", "http://127.0.0.1:1", "-n", "1", option, folder + "/no/x"), 65, folder, "No such file")
            self.failed(goodput("bench", "report", "requests.tsv", "--html", "x.html"), 64, "report sends and writes nothing")

    def test_demo_of_a_taken_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            result = goodput("demo", "-p", str(taken.getsockname()[1]), "--for", "5s")
            self.assertEqual(result.status, 69, result.err)
            self.assertRegex(result.err, r"^goodput: goodput serve ended: cannot listen on .* in use\n  hint: another program has the port[^?]*$")

    def test_folder_for_a_store(self):
        with tempfile.TemporaryDirectory() as folder:
            self.failed(goodput("store", "verify", folder), 65, "this is a folder")

    def test_web_page_recorded(self):
        with tempfile.TemporaryDirectory() as folder, web_page() as port:
            self.failed(goodput("record", os.path.join(folder, "r"), "127.0.0.1:%d" % port, "--for", "1s", "--every", "1s"), 69, "0 with a page")

    def test_webhook(self):
        self.failed(goodput("serve", "127.0.0.1:1", "-p", "0", "--webhook", "alerts"), 64, "--webhook \"alerts\"", "http://")


class Silence(CliTest):
    """A target that gives nothing is named, with the reason, whatever was asked of it."""

    def test_dead_port(self):
        with socket.socket() as taken:  # bound, not listening
            taken.bind(("127.0.0.1", 0))
            target = "127.0.0.1:%d" % taken.getsockname()[1]
            for arguments in (("signals", "--coverage", target), ("workload", "freeze", "-w", "1s", target)):
                self.failed(goodput(*arguments), 69, target, "refused", "Nothing listens")
            result = goodput("query", "up", target)
            self.assertEqual((result.status, result.out.split()[-1]), (0, "0"))
            self.assertIn("refused", result.err)

    def test_no_page(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            with open(page, "w", encoding="utf-8") as file:
                file.write("<html><body>Sign in</body></html>\n")
            for arguments in (("signals", "--coverage", page), ("workload", "freeze", page)):
                self.failed(goodput(*arguments), 69, "page.html", "web page")


class Interrupted(CliTest):
    """One Ctrl-C ends a command that waits for a server that took the connection and says nothing."""

    def test_mute_server(self):
        for arguments in (("check", "--prometheus", "{}"), ("query", "up", "--prometheus", "{}"), ("bench", "{}"), ("top", "--once", "{}"),
                          ("compare", "--before", "-2h..-1h", "--after", "-1h..now", "--prometheus", "{}")):
            with socket.create_server(("127.0.0.1", 0)) as mute:
                mute.settimeout(60)
                url = "http://127.0.0.1:%d" % mute.getsockname()[1]
                process = subprocess.Popen([PROGRAM, *(a.format(url) for a in arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                try:
                    connection, _ = mute.accept()
                    with connection:
                        process.send_signal(signal.SIGINT)
                        out, err = process.communicate(timeout=60)
                finally:
                    process.kill()
                self.assertEqual((process.returncode, out), (130, ""), (arguments, err))
                self.assertIn("interrupted", err)


    def test_reader_that_goes_away(self):
        page = b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"m\"} 1\n"
        with web_page(page, "text/plain") as port:
            process = subprocess.Popen([PROGRAM, "top", "--json", "-i", "500ms", "127.0.0.1:%d" % port], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
            try:
                self.assertIn("goodput.top/1", process.stdout.readline())
                process.stdout.close()
                self.assertIn(process.wait(timeout=60), (0, 1, 2, 3))
            finally:
                process.kill()


class Pages(CliTest):
    def fits(self, *arguments):
        result = goodput(*arguments, env={"COLUMNS": "80"})
        for line in result.out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        return result

    def test_width(self):
        here = os.path.dirname(os.path.abspath(__file__))
        self.fits("signals", "--coverage", os.path.join(here, "..", "..", "demo", "trouble"))
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "requests.tsv")
            with open(table, "w", encoding="utf-8") as file:
                file.write("id\tstart_s\tttft_ms\te2e_ms\toutput_tokens\toutcome\n")
                for i in range(100):
                    file.write("%d\t%.1f\t%.1f\t%.1f\t%d\tok\n" % (i, i / 10, 100 + i * 1.3, 2000 + i * 17.7, 80 + i))
            self.assertRegex(self.fits("bench", "report", table, "--goodput", "ttft:150").out, r"ms, or tokens .*\n  ttft +100 ")

    def test_documents_have_a_schema(self):
        with tempfile.TemporaryDirectory() as folder:
            store, page = os.path.join(folder, "s.db"), os.path.join(folder, "page")
            with open(page, "w", encoding="utf-8") as file:
                file.write("a_total 1 1700000000000\n")
            self.assertEqual(goodput("store", "import", store, page).status, 0)
            for action in ("stats", "verify"):
                self.assertRegex(json.loads(goodput("store", action, store, "--json").out)["schema"], r"^goodput\.store-%s/1$" % action)


class Collect(CliTest):
    def test_action_alone(self):
        for action in ("init", "clean", "fold"):
            self.failed(goodput("collect", action), 64, "which directory?")
        self.failed(goodput("collect", "mark-dead"), 64, "mark-dead DIR PID")

    def test_listens_on_this_machine_only(self):
        """And a directory of which no file can be read is no page without traffic."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "counter_1.db"), "wb") as file:
                file.write(b"\xff\xff\xff\x0f" + b"x" * 96)
            result = goodput("collect", folder)
            self.assertEqual(result.status, 3, result.err)
            self.assertIn("counter_1.db", result.err)
            process = subprocess.Popen([PROGRAM, "collect", "--listen", ":0", folder], stderr=subprocess.PIPE, text=True)
            try:
                line = process.stderr.readline()
                self.assertIn("http://127.0.0.1:", line)
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(line.split(" on ")[1].strip(), timeout=60)
                self.assertEqual(refused.exception.code, 503)
                refused.exception.close()
            finally:
                process.terminate()
                process.communicate(timeout=60)


if __name__ == "__main__":
    main()
