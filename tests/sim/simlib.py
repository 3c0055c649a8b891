"""A running `goodput sim` for tests: start, ask, scrape, stop. Standard library only."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import side_by_side  # noqa: E402

PROGRAM = os.environ.get('GOODPUT', 'goodput')


class Sim:
    """with Sim('--mimic', '0.11') as sim: ... The port is free by itself; sim.ports has all of them."""

    def __init__(self, *options, program=None):
        command = [program or PROGRAM, 'sim', '--port', '0', *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.port = None
        while self.port is None:
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError('sim did not start: ' + ''.join(self.lines))
            self.lines.append(line)
            found = re.search(r'http://[^:]+:(\d+)', line)
            self.port = int(found.group(1)) if found else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            _, rest = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()  # or whoever waits for this test's output waits for the simulator
            raise
        self.lines.append(rest)
        text = ''.join(self.lines)
        assert self.process.returncode == 0, 'exit %s: %s' % (self.process.returncode, text[-3000:])
        assert 'ERROR: ' not in text and 'runtime error' not in text, text[-3000:]

    def ask(self, method, path, body=None, headers=None):
        """(status, headers, bytes)"""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        head = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            head.setdefault('Content-Type', 'application/json')
        connection.request(method, path, body, head)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), data

    def post(self, path, body, **headers):
        status, _, data = self.ask('POST', path, body, headers)
        return status, json.loads(data) if data else None

    def stream(self, path, body):
        """List of events (parsed; '[DONE]' stays text)."""
        status, headers, data = self.ask('POST', path, dict(body, stream=True))
        assert status == 200, data
        assert headers['Content-Type'].startswith('text/event-stream'), headers
        events = []
        for block in data.decode().split('\n\n'):
            if block:
                assert block.startswith('data: '), block
                events.append(block[6:] if block[6:] == '[DONE]' else json.loads(block[6:]))
        return events

    def page(self, accept='text/plain'):
        status, headers, data = self.ask('GET', '/metrics', headers={'Accept': accept})
        assert status == 200
        return data.decode(), headers['Content-Type']

    def value(self, name, **labels):
        """Sum of the series of that name with these labels; None when there is none."""
        total = None
        for series, value in samples(self.page()[0]):
            metric, own = parse_series(series)
            if metric == name and all(own.get(k) == v for k, v in labels.items()):
                total = (total or 0) + value
        return total

    def fault(self, text):
        status, _, data = self.ask('POST', '/goodput/fault', text)
        assert status == 200, data


def samples(page):
    for line in page.split('\n'):
        if line and not line.startswith('#'):
            series, value = line.rsplit(' ', 1)
            yield series, float(value)


def parse_series(series):
    name, _, rest = series.partition('{')
    return name, dict(re.findall(r'([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"', rest))


def check(port, window='12s', *options):
    """goodput check on it: the JSON document."""
    command = [PROGRAM, 'check', '127.0.0.1:%d' % port, '--json', '-w', window, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def findings(document):
    """{id: severity}"""
    found = {}
    for finding in document.get('findings', []):
        found[finding['id']] = finding['severity']
        for symptom in finding.get('symptoms', []):
            found.setdefault(symptom['id'] if isinstance(symptom, dict) else symptom, 'symptom')
    return found


def wait_for(what, seconds=60, every=0.1):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(every)
    return False


def main(tests):
    """Runs functions by name (all, or those of the command line) beside each other; exit 1 when one failed."""
    wanted = [t for t in sys.argv[1:] if not t.startswith('-')]
    units = [side_by_side.Function(name, test) for name, test in tests.items() if name.startswith('test_') and (not wanted or name in wanted)]
    sys.exit(side_by_side.run(units))
