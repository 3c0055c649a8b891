"""A chat server for tests of the load generator: what it does wrong is the first part of the path. Standard library only."""
import http.server
import json
import threading
import time


def event(**more):
    return b'data: ' + json.dumps(dict({'id': 'x', 'object': 'chat.completion.chunk', 'created': 1, 'model': 'm'}, **more)).encode() + b'\n\n'


def text(content, **more):
    return event(choices=[{'index': 0, 'delta': {'content': content}, 'finish_reason': None}], **more)


FINISH = event(choices=[{'index': 0, 'delta': {}, 'finish_reason': 'stop'}])
DONE = b'data: [DONE]\n\n'


def usage(tokens):
    return event(choices=[], usage={'prompt_tokens': 5, 'completion_tokens': tokens, 'total_tokens': 5 + tokens})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:  # the client has enough
            pass

    def do_POST(self):
        self.body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        mode = self.path.strip('/').split('/')[0]
        server = self.server
        with server.lock:
            server.requests += 1
            number = server.requests
            server.ids.append(self.headers.get('X-Request-Id'))
            server.bodies.append(self.body)
            server.tokens.append(self.headers.get('Authorization'))
        getattr(self, mode.replace('-', '_'))(number)

    # ---- answers that are no streams ----

    def plain(self, status, body, kind='application/json', **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, message, **headers):
        self.plain(status, {'error': {'message': message, 'type': 'E', 'code': status}}, **headers)

    def auth(self, _):
        self.refuse(401, 'Unauthorized')

    def no_path(self, _):
        self.plain(404, {'detail': 'Not Found'})

    def busy(self, _):
        self.refuse(429, 'too many', Retry_After='1')

    def busy_for_an_hour(self, _):
        self.refuse(429, 'come back later', Retry_After='3600')

    def busy_once(self, number):
        if number % 2:
            self.refuse(429, 'too many', Retry_After='0')
        else:
            self.good(number)

    def broken(self, _):
        self.refuse(503, 'out of order')

    def html(self, _):
        self.plain(200, b'<!doctype html><html><head><title>Welcome to nginx!</title></head><body>It works</body></html>', 'text/html')

    def moved(self, _):
        self.plain(307, b'', Location='https://elsewhere.example/login')

    def do_GET(self):
        self.html(0)

    def strict(self, number):
        if b'continuous_usage_stats' in self.body:
            self.refuse(400, "Unrecognized request argument supplied: stream_options.continuous_usage_stats")
        else:
            self.good(number)

    def https(self, _):
        self.plain(400, b'Client sent an HTTP request to an HTTPS server.\n', 'text/plain')

    def never(self, _):
        self.server.stop.wait(120)
        self.close_connection = True

    # ---- streams ----

    def begin(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))

    def stream(self, *events, gap=0.0):
        self.begin()
        for data in events:
            self.chunk(data)
            if gap:
                time.sleep(gap)
        self.chunk(b'')

    def good(self, _):
        self.stream(text('4'), text(' ok'), FINISH, usage(2), DONE)

    def quick(self, _):
        """Many tokens in no time."""
        self.stream(text('4') + text(' ok') + FINISH + usage(1000000) + DONE)

    def late(self, number):
        """The first answer takes a second, as while a model warms up."""
        if number == 1:
            time.sleep(1)
        self.good(number)

    def no_usage(self, _):
        self.stream(text('4'), text(' ok'), FINISH, DONE)

    def no_done(self, _):
        self.stream(text('4'), text(' ok'), FINISH, usage(2))

    def two_models(self, _):
        self.stream(text('4'), text(' ok', model='other'), FINISH, usage(2), DONE)

    def in_band(self, _):
        self.stream(text('4'), b'data: {"error": {"message": "engine died", "code": 500}}\n\n', DONE)

    def cut(self, _):
        self.begin()
        self.chunk(text('4'))
        self.wfile.flush()
        self.close_connection = True

    def endless_event(self, _):
        self.begin()
        self.chunk(text('4') + b'data: {"choices":"')
        while True:
            self.chunk(b'x' * 1000000)

    def endless_document(self, _):
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        self.chunk(b'{"choices":"')
        while True:
            self.chunk(b'x' * 1000000)

    def endless_page(self, _):
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        while True:
            self.wfile.write(b'<p>' * 100000)

    def endless_head(self, _):
        self.wfile.write(b'HTTP/1.1 200 OK\r\n')
        while True:
            self.wfile.write(b'X-More: and more\r\n' * 1000)

    def endless_interim(self, _):
        while True:
            self.wfile.write(b'HTTP/1.1 100 Continue\r\n\r\n')
            time.sleep(0.01)

    def no_end(self, _):
        self.begin()
        self.chunk(text('4') + text(' ok') + FINISH + usage(2) + DONE)
        while True:
            self.chunk(b': still here\n\n' * 100)
            time.sleep(0.01)

    def empty(self, _):
        self.stream(DONE)

    def slow(self, _):
        self.stream(*[text(' w')] * 600, FINISH, usage(600), DONE, gap=0.1)

    def pause(self, _):
        """One at a time; all stand still for a second once."""
        server = self.server
        with server.serial:
            if not server.paused and time.monotonic() - server.begun > 0.5:
                server.paused = True
                time.sleep(1)
            time.sleep(0.002)
            self.good(0)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.lock, self.serial, self.stop = threading.Lock(), threading.Lock(), threading.Event()
        self.requests, self.paused, self.begun = 0, False, time.monotonic()
        self.ids, self.bodies, self.tokens = [], [], []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.shutdown()
        self.server_close()
