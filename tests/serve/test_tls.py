#!/usr/bin/env python3
"""serve over TLS: good and bad certificates, clients that speak something else or nothing, renewal, and what options say of mistakes."""

import contextlib
import http.client
import json
import os
import random
import re
import shutil
import socket
import ssl
import subprocess
import time
import unittest

import daemon

TARGET = "127.0.0.1:1"


@unittest.skipUnless(shutil.which("openssl"), "no openssl")
class Case(unittest.TestCase):
    def setUp(self):
        self.shop = daemon.Workshop()
        self.addCleanup(self.shop.close)
        self.authority("ca")
        self.certificate("server", "ca")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.shop.folder, check=True, capture_output=True, timeout=60)

    def authority(self, name):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-out", name + ".pem",
                     "-days", "2", "-subj", "/CN=" + name)

    def certificate(self, name, authority):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-out", name + ".csr",
                     "-subj", "/CN=" + name)
        self.shop.path("ext", "subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", authority + ".pem", "-CAkey", authority + ".key", "-CAcreateserial", "-days", "1",
                     "-extfile", "ext", "-out", name + ".pem")

    def serve(self, *args):
        return self.shop.goodput("--tls-cert", self.shop.path("server.pem"), "--tls-key", self.shop.path("server.key"), *args, TARGET)

    def context(self, authority="ca", client=None):
        context = ssl.create_default_context(cafile=self.shop.path(authority + ".pem"))
        if client:
            context.load_cert_chain(self.shop.path(client + ".pem"), self.shop.path(client + ".key"))
        return context

    def connection(self, s, **kwargs):
        return http.client.HTTPSConnection("127.0.0.1", s.port, timeout=60, context=self.context(**kwargs))

    def get(self, s, path, method="GET", body=None, headers=None, **kwargs):
        c = self.connection(s, **kwargs)
        try:
            c.request(method, path, body=body, headers=headers or {})
            answer = c.getresponse()
            return answer.status, answer.read()
        finally:
            c.close()


class Good(Case):
    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_curl(self):
        s = self.serve()
        url = "https://localhost:%d/api/v1/query?query=1" % s.port

        def curl(*args):
            return subprocess.run(["curl", "-sS", "--noproxy", "*", "--max-time", "60", *args], capture_output=True, text=True, check=False, cwd=self.shop.folder)
        done = curl("--cacert", "ca.pem", url, url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count('"scalar"'), 2)
        for version in ("--tlsv1.2 --tls-max 1.2", "--tlsv1.3"):
            self.assertEqual(curl("--cacert", "ca.pem", *version.split(), url).returncode, 0, version)
        self.assertEqual(curl("--cacert", "ca.pem", "--http1.0", url).returncode, 0)
        self.authority("other")
        self.assertEqual(curl("--cacert", "other.pem", url).returncode, 60)
        self.assertEqual(curl("--cacert", "ca.pem", "--tls-max", "1.1", url).returncode, 35)
        self.assertIn("API on https://", s.log())

    def test_long_answers(self):
        """More than a socket takes at once, to a client that reads slowly, and several requests behind each other."""
        s = self.serve()
        query = "/api/v1/query?time=1000000&query=count_values_without_end".replace("count_values_without_end", "vector(1)%5B200000s:1s%5D")
        status, body = self.get(s, query)
        self.assertEqual(status, 200)
        self.assertEqual(len(json.loads(body)["data"]["result"][0]["values"]), 200000)
        with socket.create_connection(("127.0.0.1", s.port), timeout=60) as plain, self.context().wrap_socket(plain, server_hostname="localhost") as c:
            c.sendall((b"GET " + query.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n") * 2 + b"GET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = bytearray()
            while part := c.recv(100000):
                got += part
                if len(got) < 1000000:
                    time.sleep(0.01)
        self.assertEqual(got.count(b"HTTP/1.1 200 OK"), 3)
        self.assertEqual(got.count(body), 2)
        self.assertTrue(got.endswith(b"goodput is ready.\n"))

    def test_events(self):
        s = self.serve()
        c = self.connection(s)
        c.request("GET", "/api/goodput/v1/events")
        answer = c.getresponse()
        self.assertEqual(answer.status, 200)
        status, _ = self.get(s, "/api/goodput/v1/annotations", "POST", '{"text":"out"}', {"Content-Type": "application/json"})
        self.assertEqual(status, 204)
        while b"annotation" not in answer.readline():
            pass
        c.close()

    def test_asked_by_itself(self):
        s = self.serve()
        run = subprocess.run([daemon.PROGRAM, "query", "1+1", "--prometheus", "https://127.0.0.1:%d" % s.port, "--ca-file", self.shop.path("ca.pem")],
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((run.returncode, run.stdout.split()[-1:]), (0, ["2"]), run.stderr)

    def test_client_certificates(self):
        self.authority("clients")
        self.certificate("alice", "clients")
        self.certificate("mallory", "ca")
        s = self.serve("--tls-client-ca", self.shop.path("clients.pem"), "--host", "0.0.0.0")
        self.assertEqual(self.get(s, "/api/v1/query?query=1", client="alice")[0], 200)
        for client in (None, "mallory"):
            with self.assertRaises(OSError):
                self.get(s, "/api/v1/query?query=1", client=client)
        self.assertEqual(self.get(s, "/api/v1/query?query=1", client="alice")[0], 200)

    def test_web_config_and_renewal(self):
        os.mkdir(self.shop.path("web"))
        for name in ("server.pem", "server.key"):
            shutil.copy(self.shop.path(name), self.shop.path("web/" + name))
        config = self.shop.path("web/web.yml", "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  min_version: TLS13\n")
        s = self.shop.goodput("--web-config-file", config, TARGET)
        self.assertEqual(self.get(s, "/-/ready")[0], 200)
        with self.assertRaises(ssl.SSLError):
            context = self.context()
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
                context.wrap_socket(c, server_hostname="localhost")
        old = ssl.get_server_certificate(("127.0.0.1", s.port))
        c = self.connection(s)
        c.request("GET", "/-/ready")
        c.getresponse().read()
        self.authority("next")
        self.certificate("renewed", "next")
        # Half of it only: the key is of another certificate, and everything stays as it was.
        shutil.copy(self.shop.path("renewed.pem"), self.shop.path("web/server.pem"))
        status, body = self.get(s, "/-/reload", "POST")
        self.assertEqual(status, 500)
        self.assertIn(b"server.key", body)
        self.assertEqual(ssl.get_server_certificate(("127.0.0.1", s.port)), old)
        shutil.copy(self.shop.path("renewed.key"), self.shop.path("web/server.key"))
        self.assertEqual(self.get(s, "/-/reload", "POST")[0], 200)
        self.assertEqual(self.get(s, "/-/ready", authority="next")[0], 200)
        c.request("GET", "/-/ready")  # a connection from before goes on
        self.assertEqual(c.getresponse().status, 200)
        c.close()


class Bad(Case):
    def hello(self, s):
        """The first message of a client."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            self.context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()

    def test_plain_requests(self):
        s = self.serve()
        answer = s.ask("/api/v1/query?query=1")
        self.assertEqual(answer.status, 400)
        self.assertIn("https://", answer.text)

    def test_slow_and_half_open(self):
        s = self.serve()
        hello = self.hello(s)
        idle = []
        for i in range(200):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=60)
            c.sendall(hello[:i * len(hello) // 200] if i % 4 else hello)
            idle.append(c)
        for _ in range(10):
            self.assertEqual(self.get(s, "/api/v1/query?query=1")[0], 200)
        self.assertGreater(int(re.search(r"goodput_connections (\d+)", self.get(s, "/metrics")[1].decode()).group(1)), 200)
        # One byte at a time is a handshake too.
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
            def step(do):
                while True:
                    try:
                        done = do()
                    except ssl.SSLWantReadError:
                        done = None
                    for byte in outgoing.read():
                        c.sendall(bytes([byte]))
                    if done is not None:
                        return done
                    incoming.write(c.recv(7))
            step(lambda: session.do_handshake() or True)
            step(lambda: session.write(b"GET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
            got = b""
            while b"ready" not in got:
                got += step(lambda: session.read(1000))
        for c in idle:
            c.close()
        s.wait(lambda: "goodput_connections 1\n" in self.get(s, "/metrics")[1].decode(), what="the end of the connections")

    def test_nonsense(self):
        """Broken in every place: the connection ends, nobody else notices."""
        s = self.serve()
        hello = self.hello(s)
        draw = random.Random(3)
        for _ in range(200):
            data = bytearray(hello + bytes(draw.randrange(256) for _ in range(draw.randrange(60))))
            for _ in range(draw.randrange(1, 6)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
                c.sendall(data)
                if draw.random() < 0.5:
                    c.shutdown(socket.SHUT_WR)
                    while c.recv(65536):
                        pass
        for size in (1, 16, 5000, 100000):
            # A record that nobody sealed, in the middle of a request.
            c = socket.create_connection(("127.0.0.1", s.port), timeout=60)
            raw = c.dup()
            raw.settimeout(60)
            with raw, self.context().wrap_socket(c, server_hostname="localhost") as t:
                t.sendall(b"GET /-/ready HTTP/1.1\r\n")
                with contextlib.suppress(OSError):
                    raw.sendall(b"\x17\x03\x03" + bytes(size % 256 for _ in range(size)))
                    raw.shutdown(socket.SHUT_WR)
                    while raw.recv(65536):
                        pass
        self.assertEqual(self.get(s, "/api/v1/query?query=1")[0], 200)

    def test_gone_in_the_middle(self):
        s = self.serve()
        for i in range(60):
            with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c, self.context().wrap_socket(c, server_hostname="localhost") as t:
                t.sendall(b"GET /api/v1/query?time=1000000&query=vector(1)%5B50000s:1s%5D HTTP/1.1\r\nHost: x\r\n\r\n")
                if i % 3:
                    t.recv(1 + i * 100)
        s.wait(lambda: "goodput_connections 1\n" in self.get(s, "/metrics")[1].decode(), what="the end of the connections")

    def refused(self, status, *words, args):
        run = subprocess.run([daemon.PROGRAM, "serve", "--port", "0", *args, TARGET], capture_output=True, text=True, timeout=60, check=False, cwd=self.shop.folder)
        self.assertEqual(run.returncode, status, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)

    def test_options(self):
        self.certificate("second", "ca")
        self.openssl("ec", "-in", "server.key", "-aes128", "-passout", "pass:x", "-out", "locked.key")
        both = ("--tls-cert", "server.pem", "--tls-key")
        self.refused(64, "--tls-key", args=("--tls-cert", "server.pem"))
        self.refused(64, "--tls-cert", args=("--tls-key", "server.key"))
        self.refused(65, "nothing.key", "No such file", args=(*both, "nothing.key"))
        self.refused(65, "second.key", "mismatch", args=(*both, "second.key"))
        self.refused(65, "locked.key", args=(*both, "locked.key"))
        self.refused(65, "ext", args=("--tls-cert", "ext", "--tls-key", "server.key"))
        self.refused(64, "--web-token-file", args=(*both, "server.key", "--host", "0.0.0.0"))
        for text, *words in (("tls_server_config:\n  cert: x\n", "web.yml:2", "cert_file"), ("basic_auth_users: {a: b}\n", "web.yml:1", "--web-token-file"),
                             ("tls_server_config: {cert_file: server.pem}\n", "web.yml:1", "key_file"), ("{}\n", "web.yml", "tls_server_config"),
                             ("tls_server_config: {cert_file: server.pem, key_file: server.key, client_auth_type: RequestClientCert}\n", "RequestClientCert"),
                             ("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  min_version: TLS10\n", "web.yml:4", "TLS12")):
            self.refused(65, *words, args=("--web-config-file", self.shop.path("web.yml", text)))


if __name__ == "__main__":
    daemon.side_by_side.main()
