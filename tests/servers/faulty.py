#!/usr/bin/env python3
"""A server that answers wrongly in every way that the client must tell apart; the path says how.

Prints "NAME VALUE" lines (ports, the TLS certificate), then "ready"; ends when its standard input does. Listens on 127.0.0.1 only.
"""
import gzip
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

PAGE = b"# TYPE up_to gauge\nup_to 1\n"
connections = 0


def head(status=200, length=None, **headers):
    lines = ["HTTP/1.1 %d X" % status]
    if length is not None:
        lines.append("Content-Length: %d" % length)
    lines += ["%s: %s" % (name.replace("_", "-"), value) for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(body, status=200, **headers):
    headers.setdefault("Content_Type", "text/plain; version=0.0.4")
    return head(status, len(body), **headers) + body


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drip(connection):
    connection.sendall(head(200, 1000))
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def bomb(connection):
    """1 GiB of zeros in about 1 MiB."""
    connection.sendall(head(Content_Encoding="gzip"))
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for _ in range(1024):
        connection.sendall(packer.compress(bytes(1 << 20)))
    connection.sendall(packer.flush())


def endless(connection):
    connection.sendall(head())
    while True:
        connection.sendall(bytes(65536))


def answer(connection, path, headers, ports):
    """True: the connection stays open."""
    global connections
    packed = gzip.compress(PAGE * 1000)
    fixed = {
        "/metrics": whole(PAGE, Server="faulty/1"),
        "/gzip": whole(packed, Content_Encoding="gzip"),
        "/gzip-two": whole(gzip.compress(PAGE) + gzip.compress(PAGE), Content_Encoding="x-gzip"),
        "/gzip-broken": whole(b"\x1f\x8b\x08" + b"not gzip" * 20, Content_Encoding="gzip"),
        "/gzip-short": whole(packed[:-20], Content_Encoding="gzip"),
        "/gzip-empty": whole(b"", Content_Encoding="gzip"),
        "/brotli": whole(b"abc", Content_Encoding="br"),
        "/empty": whole(b""),
        "/no-content": head(204),
        "/401": whole(b"who are you", 401),
        "/404": whole(b"404 page not found", 404),
        "/html": whole(b"<html><title>Sign in</title></html>", Content_Type="text/html"),
        "/json": whole(b'{"a": 1}', Content_Type="application/json"),
        "/loop": whole(b"", 302, Location="/loop"),
        "/to-metrics": whole(b"moved", 302, Location="/metrics"),
        "/to-echo": whole(b"", 307, Location="/echo"),
        "/to-other": whole(b"", 302, Location="http://127.0.0.1:%d/echo" % ports["other"]),
        "/to-plain": whole(b"", 302, Location="http://127.0.0.1:%d/metrics" % ports["plain"]),
        "/to-file": whole(b"", 302, Location="file:///etc/hostname"),
        "/cut": head(200, 1000) + PAGE,
        "/cut-chunked": head(Transfer_Encoding="chunked") + b"1b\r\n" + PAGE[:20],
        "/cut-gzip": head(200, len(packed), Content_Encoding="gzip") + packed[: len(packed) // 2],
        "/cut-head": b"HTTP/1.1 200 OK\r\nContent-Le",
        "/bad-chunk": head(Transfer_Encoding="chunked") + b"zz\r\nnonsense\r\n",
        "/chunked": head(Transfer_Encoding="chunked") + b"1b\r\n" + PAGE + b"\r\n0\r\n\r\n",
        "/until-close": head() + PAGE,
        "/ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
        "/large": head(200, 200 << 20) + bytes(1 << 20),
        "/close": b"",
        "/overloaded": whole(b'{"status":"error","errorType":"timeout","error":"query timed out"}', 503),
        "/429": whole(b"", 429),
    }
    path = path.split("?")[0].split("/api/v1/")[0]  # a Prometheus API's base path names the fault
    if path == "/only-get":
        post = headers.startswith(b"POST")
        connection.sendall(whole(b"no", 405) if post else whole(
            b'{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["partial: a store is down"]}'))
        return False
    if path in fixed:
        connection.sendall(fixed[path])
        return False
    if path == "/echo":
        connection.sendall(whole(headers))
    elif path == "/count":
        connection.sendall(whole(b"%d" % connections))
        return True
    elif path == "/hang":
        time.sleep(60)
    elif path == "/slow":
        time.sleep(0.3)
        connection.sendall(whole(PAGE))
    elif path == "/drip":
        drip(connection)
    elif path == "/bomb":
        bomb(connection)
    elif path == "/endless":
        endless(connection)
    elif path == "/reset":
        reset(connection)
    elif path == "/cut-reset":
        connection.sendall(head(200, 1000) + PAGE)
        time.sleep(0.1)
        reset(connection)
    else:
        connection.sendall(whole(b"no such path", 404))
    return False


def request_read(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        if data.startswith(b"\x16"):  # a TLS hello
            connection.sendall(whole(b"Client sent an HTTPS request to an HTTP server", 400))
            return None
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    top, _, body = data.partition(b"\r\n\r\n")
    for line in top.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            while len(body) < int(line.split(b":")[1]):
                body += connection.recv(65536)
    return top + b"\r\n\r\n" + body


def serve_one(connection, context, ports):
    try:
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        while True:
            request = request_read(connection)
            if request is None or not answer(connection, request.split(b" ")[1].decode(), request, ports):
                break
    except OSError:
        pass  # the client ended it: often the point of the test
    finally:
        connection.close()


def serve(listener, context, ports):
    global connections
    while True:
        connection, _ = listener.accept()
        connections += 1
        threading.Thread(target=serve_one, args=(connection, context, ports), daemon=True).start()


def listen():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener


def certificate(folder):
    path = os.path.join(folder, "server.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", path + ".key", "-out", path],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, path + ".key")
    return path, context


def main():
    with tempfile.TemporaryDirectory() as folder:
        path, context = certificate(folder)
        closed = listen()
        listeners = {"plain": (listen(), None), "other": (listen(), None), "tls": (listen(), context)}
        ports = {name: pair[0].getsockname()[1] for name, pair in listeners.items()}
        ports["closed"] = closed.getsockname()[1]
        closed.close()
        for listener, tls in listeners.values():
            threading.Thread(target=serve, args=(listener, tls, ports), daemon=True).start()
        for name, port in ports.items():
            print(name, port)
        print("certificate", path)
        print("ready", 1, flush=True)
        sys.stdin.read()


main()
