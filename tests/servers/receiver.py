#!/usr/bin/env python3
"""Takes alerts, as an Alertmanager and as a webhook, and fails as the path says:

    /ok            200
    /fail/N/NAME   500 for the first N requests of that name, then 200
    /busy/N/NAME   429 for the first N
    /reset/N/NAME  the connection is cut for the first N
    /slow/N/NAME   no answer in time for the first N
    /bad           400
    /token/T       401 without the bearer token T
    /got           what was taken, as JSON: [{"path", "type", "status", "body"}]

Prints "port N", then "ready"; ends when its standard input does. Listens on 127.0.0.1 only.
"""
import json
import os
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

got, seen, lock = [], {}, threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with lock:
            self.reply(200, json.dumps(got).encode())

    def fails(self, parts):
        with lock:
            seen[self.path] = seen.get(self.path, 0) + 1
            return len(parts) > 1 and parts[1].isdigit() and seen[self.path] <= int(parts[1])

    def status(self, parts):
        if parts[0] == "bad":
            return 400
        if parts[0] == "token" and self.headers.get("Authorization") != f"Bearer {parts[1]}":
            return 401
        if not self.fails(parts):
            return 200
        if parts[0] == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return 0
        if parts[0] == "slow":
            return 0
        return {"fail": 500, "busy": 429}[parts[0]]

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = self.path.strip("/").split("/")
        status = self.status(parts)
        with lock:
            got.append({"path": self.path, "type": self.headers.get("Content-Type"), "status": status, "body": json.loads(body)})
        if not status and parts[0] == "slow":
            time.sleep(3)
        if status:
            self.reply(status, b"no such thing" if status == 400 else b"")
        self.close_connection = status == 0


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # connections cut on purpose


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("port", server.server_port)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
