#!/usr/bin/python3
"""Writers of both kinds share a directory while files grow, processes are killed and their numbers given out again; the exporter is scraped all the time.

    live.py --goodput PATH --tool METRIC_WRITER [--seconds N] [--seed N]

A page never shows less than an earlier one, no half value, and no histogram whose count is not its +Inf bucket. Whenever the writers rest, it is the page
that Python's MultiProcessCollector makes of the same files, byte for byte. Half of the time with --fold, where also no update that was acknowledged
may be missing.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time

from rig import Exporter, Writer, grows, next_pid_is, python_page, samples

HERE = os.path.dirname(os.path.abspath(__file__))
WRITER = os.path.join(HERE, '..', 'telemetry', 'writer.py')


class Watcher(threading.Thread):
    """Scrapes without a pause."""

    def __init__(self, exporter):
        super().__init__(daemon=True)
        self.exporter, self.stop, self.problem, self.pages = exporter, False, None, 0
        self.most = {}

    def judge(self, page):
        now = samples(page)
        for name, value in now.items():
            if value != int(value) or abs(value) > 1e12:
                return '%s is %r: no value that anybody wrote' % (name, value)
            if grows(name) and value < self.most.get(name, 0):
                return '%s fell from %r to %r' % (name, self.most[name], value)
            if '_bucket{le="+Inf"}' in name and now[name.replace('_bucket{le="+Inf"}', '_count')] != value:
                return '%s is not the count' % name
        missing = [n for n in self.most if grows(n) and n not in now]
        if missing:
            return '%s is gone' % missing[0]
        self.most.update((n, v) for n, v in now.items() if grows(n))
        return None

    def run(self):
        try:
            while not self.stop and not self.problem:
                status, _, page = self.exporter.get()
                self.problem = self.judge(page) if status == 200 else 'status %d' % status
                self.pages += 1
        except Exception as e:    # in a thread of its own: reported by the main one
            self.problem = repr(e)


class Phase:
    def __init__(self, arguments, folder, fold):
        self.folder, self.fold, self.ended = folder, fold, False
        self.commands = [('py', [sys.executable, '-B', WRITER]), ('c', [arguments.tool])]
        self.exporter = Exporter(arguments.goodput, folder, '--as', '0.16', '--no-own-metrics', *(['--fold'] if fold else []))
        self.writers, self.all, self.reused, self.killed, self.rests, self.dead_pids = [], [], 0, 0, 0, []
        for prefix, command in self.commands:
            for _ in range(2):
                self.spawn(prefix, command)

    def spawn(self, prefix, command):
        if self.dead_pids and random.random() < 0.5 and next_pid_is(self.dead_pids[-1]):
            wanted = self.dead_pids.pop()
        else:
            wanted = None
        w = Writer(command, self.folder, prefix)
        self.reused += w.pid == wanted
        self.writers.append(w)
        self.all.append(w)
        w.run(50)

    def replace(self, kill):
        """A writer ends, one way or the other, and another one of its kind comes."""
        w = self.writers.pop(random.randrange(len(self.writers)))
        if kill:
            w.kill()
            self.killed += 1
        else:
            w.end()
        self.dead_pids.append(w.pid)
        if random.random() < 0.5:
            from prometheus_client.multiprocess import mark_process_dead
            mark_process_dead(w.pid, self.folder)
        self.spawn(*[c for c in self.commands if c[0] == w.prefix][0])

    def rest(self):
        """All writers rest: two pages, ours and Python's. A fold may come between."""
        for w in self.writers:
            w.wait()
        theirs = None
        for attempt in range(20):
            try:
                theirs, ours = python_page(self.folder), self.exporter.get()[2]
            except FileNotFoundError:    # Python listed a file that a fold took away before it was read
                if not self.fold:
                    raise
                continue
            if ours == theirs:
                self.rests += 1
                return None
            if not self.fold:
                break
        else:
            if theirs is None:
                return 'Python never found all the files that it had listed'
        a, b = ours.split('\n'), theirs.split('\n')
        line = next((i for i in range(min(len(a), len(b))) if a[i] != b[i]), min(len(a), len(b)))
        return 'at rest our page is not Python\'s: line %d: %r, not %r' % (line + 1, a[line:line + 1], b[line:line + 1])

    def acknowledged(self):
        """No update is missing, and none came from nowhere."""
        page = samples(self.exporter.get()[2])
        for prefix, _ in self.commands:
            total = sum(v for n, v in page.items() if n.startswith(prefix + '_requests_total'))
            least, most = (sum(getattr(w, what) for w in self.all if w.prefix == prefix) for what in ('done', 'asked'))
            if not least <= total <= most:
                return '%s: %d updates on the page, %d acknowledged, %d asked for' % (prefix, total, least, most)
        return None

    def close(self):
        """After an error."""
        if not self.ended:
            for w in self.all:
                w.process.kill()
            self.exporter.process.kill()

    def run(self, seconds):
        watcher = Watcher(self.exporter)
        watcher.start()
        end, problem, step = time.monotonic() + seconds, None, 0
        while not problem and (time.monotonic() < end or self.rests < 2):
            for w in self.writers:
                w.run(random.randint(50, 1500))
            time.sleep(random.random() / 10)
            if step % 2:
                self.replace(kill=random.random() < 0.6)
            step += 1
            if step % 10 == 0:
                problem = self.rest()
            problem = problem or watcher.problem
        problem = problem or self.rest() or self.acknowledged()
        watcher.stop = True
        watcher.join()
        for w in self.writers:
            w.end()
        self.exporter.end()
        self.ended = True
        if os.environ.get('RIG_LOG'):
            print('\n'.join(self.exporter.log))
        files = len([n for n in os.listdir(self.folder) if n.endswith('.db')])
        print('%s: %d pages, %d writers (%d killed, %d with a number of a dead one), %d rests, %d files left' % (
            'folding' if self.fold else 'keeping', watcher.pages, len(self.all), self.killed, self.reused, self.rests, files))
        folds = len([line for line in self.exporter.log if 'folded' in line])
        if self.fold and not folds:
            problem = problem or 'nothing was folded: %s' % self.exporter.log[-5:]
        if not self.reused:
            print('skipped: process ids given out again: needs the right to write /proc/sys/kernel/ns_last_pid')
        return problem or watcher.problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--goodput', default=os.environ.get('GOODPUT', 'build/goodput'))
    parser.add_argument('--tool', required=True)
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--seed', type=int, default=int.from_bytes(os.urandom(3), 'little'))
    arguments = parser.parse_args()
    try:
        import prometheus_client    # noqa: F401
    except ImportError:
        print('skipped: needs python3-prometheus-client')
        return 77
    random.seed(arguments.seed)
    print('seed %d' % arguments.seed)
    for fold in (False, True):
        folder = tempfile.mkdtemp(prefix='multiproc-live-')
        phase = Phase(arguments, folder, fold)
        try:
            problem = phase.run(arguments.seconds / 2)
        finally:
            phase.close()
            shutil.rmtree(folder)
        if problem:
            print('FAIL: %s' % problem)
            return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
