"""Writers of metric files (Python's and libgoodput's), the exporter, and what its pages say. For the distribution's Python, which has prometheus_client."""
import gzip
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WAIT_S = float(os.environ.get("RIG_WAIT", 120))    # for what happens at once on a quiet machine


class Writer:
    """A process that updates metrics when told; see tests/telemetry/metric_writer.c."""

    def __init__(self, command, folder, prefix, routes=300):
        env = dict(os.environ, PROMETHEUS_MULTIPROC_DIR=folder, GOODPUT_TELEMETRY_LAYOUT='0.16')
        self.process = subprocess.Popen(command + [prefix, str(routes)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        universal_newlines=True)
        self.pid, self.prefix = self.process.pid, prefix
        self.asked = self.done = 0
        self.cond = threading.Condition()
        self.ended = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.cond:
                if line.startswith('done '):
                    self.done = int(line.split()[1])
                self.cond.notify_all()
        with self.cond:
            self.ended = True
            self.cond.notify_all()

    def run(self, count):
        try:
            self.process.stdin.write('run %d\n' % count)
            self.process.stdin.flush()
            self.asked += count
        except OSError:
            pass

    def wait(self):
        """Until all that it was told is done, or it is gone."""
        with self.cond:
            if not self.cond.wait_for(lambda: self.ended or self.done >= self.asked, WAIT_S):
                raise AssertionError('writer %d did not get ready' % self.pid)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.process.wait()
        self.reader.join()


class Exporter:
    def __init__(self, program, folder, *options, user=None):
        self.process = subprocess.Popen((user or []) + [program, 'collect', '--listen', '127.0.0.1:0'] + list(options) + ['--', folder],
                                        stderr=subprocess.PIPE, universal_newlines=True)
        self.log, self.port = [], None
        self.cond = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        with self.cond:
            if not self.cond.wait_for(lambda: self.port or self.process.poll() is not None, WAIT_S) or not self.port:
                raise AssertionError('the exporter did not start: %s' % self.log)

    def read(self):
        for line in self.process.stderr:
            found = re.search(r'http://127\.0\.0\.1:(\d+)/metrics', line)
            with self.cond:
                self.log.append(line.rstrip())
                if found and not self.port:
                    self.port = int(found.group(1))
                self.cond.notify_all()

    def get(self, path='/metrics', **headers):
        """(status, content type, body as text)"""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=WAIT_S)
        try:
            connection.request('GET', path, headers={k.replace('_', '-'): v for k, v in headers.items()})
            answer = connection.getresponse()
            body = answer.read()
            if answer.getheader('Content-Encoding') == 'gzip':
                body = gzip.decompress(body)
            return answer.status, answer.getheader('Content-Type'), body.decode()
        finally:
            connection.close()

    def says(self, text):
        """Waits until a message with this text was logged."""
        with self.cond:
            return self.cond.wait_for(lambda: any(text in line for line in self.log), WAIT_S)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(WAIT_S)
        self.reader.join()
        self.process.stderr.close()
        if status:
            raise AssertionError('the exporter ended with %d: %s' % (status, self.log[-5:]))


def samples(page):
    """{'name{labels}': value} of a page."""
    found = {}
    for line in page.split('\n'):
        if line and not line.startswith('#'):
            name, value = line.rsplit(' ', 1)
            found[name] = float(value)
    return found


def grows(name):
    """Is it a sample that never falls? By the names that the writers use."""
    return any(part in name for part in ('_requests_total', '_seconds_', '_bytes_'))


def next_pid_is(pid):
    """Asks the kernel to give the next process this number; False where it does not let us."""
    try:
        with open('/proc/sys/kernel/ns_last_pid', 'w') as f:
            f.write(str(pid - 1))
        return True
    except OSError:
        return False


def python_page(folder):
    """What prometheus_client 0.16 prints for the files in byte order, those left out that a writer was killed in the middle of making: with one of
    them it prints nothing at all."""
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    import make_fixtures
    return make_fixtures.oracle([f for f in make_fixtures.db_files(folder) if os.path.getsize(f) >= 4])[0].decode()
