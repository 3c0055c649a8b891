#!/usr/bin/python3
"""What can go wrong with a directory of metric files, done to one: every fault is a metric, a message and a status, and the rest is served.

    faults.py --goodput PATH --tool METRIC_WRITER

As root the exporter runs as another user, as a sidecar does; without root what needs two users is skipped, aloud.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

from rig import WAIT_S, Exporter, Writer, samples

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import make_fixtures    # noqa: E402

ARGUMENTS = None
IS_ROOT = os.geteuid() == 0 and shutil.which('setpriv') is not None
SIDECAR = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] if IS_ROOT else None


def counter_file(value=5.0, name='c', two=False):
    return make_fixtures.encode_file([(make_fixtures.make_key(name, name + '_total', {}, 'h'), value, 0.0)], two)


class Case(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix='multiproc-faults-')
        os.chmod(self.base, 0o755)
        self.folder = os.path.join(self.base, 'metrics')
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)
        self.program = os.path.join(self.base, 'goodput')
        shutil.copy(ARGUMENTS.goodput, self.program)
        os.chmod(self.program, 0o755)
        self.exporters, self.writers = [], []

    def tearDown(self):
        for w in self.writers:
            if w.process.poll() is None:
                w.process.send_signal(signal.SIGCONT)
                w.kill()
            w.process.stdout.close()
            try:
                w.process.stdin.close()
            except OSError:
                pass
        for e in self.exporters:
            e.end()
        shutil.rmtree(self.base)

    def exporter(self, *options):
        self.exporters.append(Exporter(self.program, self.folder, *options, user=SIDECAR))
        return self.exporters[-1]

    def writer(self, prefix='c'):
        w = Writer([ARGUMENTS.tool], self.folder, prefix, routes=3)
        self.writers.append(w)
        w.run(100)
        w.wait()
        return w

    def put(self, name, data, mode=0o644):
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as f:
            f.write(data)
        os.chmod(path, mode)
        return path

    def run_program(self, *arguments, user=None):
        return subprocess.run((user or []) + [self.program] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def until(self, exporter, what, path='/metrics'):
        """Scrapes until `what(status, page)`; processes and disks are looked at once a second."""
        end = time.monotonic() + WAIT_S
        while True:
            status, _, page = exporter.get(path)
            if what(status, page):
                return page
            self.assertLess(time.monotonic(), end, page)
            time.sleep(0.2)

    def has_fault(self, exporter, kind, file=None):
        wanted = 'file="%s",kind="%s"' % (file, kind) if file is not None else 'kind="%s"' % kind
        page = self.until(exporter, lambda status, page: wanted in page)
        self.assertTrue(exporter.says('%s: ' % kind), exporter.log)
        return page


class Files(Case):
    def test_a_cut_file_that_is_in_use(self):
        self.put('counter_1.db', counter_file(1.0, 'a'))
        big = [(make_fixtures.make_key('b', 'b_total', {'i': str(i)}, 'h'), 1.0, 0.0) for i in range(2000)]
        path = self.put('counter_2.db', make_fixtures.encode_file(big, False))
        e = self.exporter()
        for _ in range(3):      # from the third time on it is mapped
            page = e.get()[2]
        self.assertEqual(samples(page)['b_total{i="1999"}'], 1)
        os.truncate(path, 5000)
        page = self.has_fault(e, 'truncated', 'counter_2.db')
        self.assertIn('a_total 1.0\n', page)
        self.assertFalse('b_total' in page)
        self.assertEqual(samples(page)['goodput_collect_status'], 1)
        with open(path, 'r+b') as f:
            f.write(make_fixtures.encode_file(big, False))
        page = self.until(e, lambda status, page: 'b_total' in page)
        self.assertNotIn('truncated"} 1.0', page.split('goodput_collect_fault{')[-1])

    def test_another_program_writes_over_a_file(self):
        path = self.put('counter_1.db', counter_file(1.0, 'a'))
        e = self.exporter()
        for _ in range(3):
            self.assertIn('a_total 1.0\n', e.get()[2])
        with open(path, 'r+b') as f:    # of the same length
            f.write(counter_file(2.0, 'b'))
        page = self.until(e, lambda status, page: 'b_total 2.0\n' in page)
        self.assertNotIn('a_total', page)

    def test_bytes_that_are_no_metrics(self):
        self.put('counter_1.db', counter_file())
        self.put('counter_2.db', os.urandom(300))
        self.put('counter_3.db', b'')
        os.utime(os.path.join(self.folder, 'counter_3.db'), (1, 1))
        os.mkdir(os.path.join(self.folder, 'counter_4.db'))
        os.symlink('nowhere', os.path.join(self.folder, 'counter_5.db'))
        os.mkfifo(os.path.join(self.folder, 'counter_6.db'))
        page = self.exporter().get()[2]
        for n in range(2, 7):
            self.assertIn('file="counter_%d.db"' % n, page)
        self.assertIn('c_total 5.0\n', page)

    @unittest.skipUnless(IS_ROOT, 'needs root and setpriv')
    def test_a_file_of_another_user(self):
        self.put('counter_1.db', counter_file(1.0, 'a'))
        self.put('counter_2.db', counter_file(2.0, 'b'), mode=0o600)
        os.chown(os.path.join(self.folder, 'counter_1.db'), 65533, 65533)
        e = self.exporter()
        page = self.has_fault(e, 'unreadable', 'counter_2.db')
        self.assertTrue(e.says('counter_2.db belongs to uid 0 and cannot be read by uid 65534'), e.log)
        self.assertIn('a_total 1.0\n', page)
        os.chmod(os.path.join(self.folder, 'counter_2.db'), 0o644)
        self.has_fault(e, 'owner')
        self.assertIn('b_total 2.0\n', e.get()[2])

    def test_clocks(self):
        key = make_fixtures.make_key('g', 'g', {}, 'h')
        self.put('gauge_mostrecent_1.db', make_fixtures.encode_file([(key, 1.0, time.time() + 7200)], True))
        page = self.has_fault(self.exporter(), 'clock')
        self.assertGreater(samples(page)['goodput_collect_ahead_seconds'], 7000)

    def test_two_releases(self):
        self.put('counter_1.db', make_fixtures.encode_file([(make_fixtures.make_key('c', 'c_total', {'n': n}, 'h'), 1.0, 0.0) for n in 'ab'], False))
        self.put('counter_2.db', make_fixtures.encode_file([(make_fixtures.make_key('c', 'c_total', {'n': n}, 'h'), 2.0, 0.0) for n in 'ab'], True))
        page = self.has_fault(self.exporter(), 'two-layouts')
        self.assertIn('c_total{n="b"} 3.0\n', page)

    def test_names_that_are_cut(self):
        self.put('gauge_all_worker_1.db', make_fixtures.encode_file([(make_fixtures.make_key('g', 'g', {}, 'h'), 1.0, 0.0)], False))
        page = self.has_fault(self.exporter(), 'cut-name', 'gauge_all_worker_1.db')
        self.assertIn('g{pid="wor"} 1.0\n', page)


class Directory(Case):
    def test_empty_wiped_gone_and_back(self):
        e = self.exporter('--grace', '0s')
        status, _, page = e.get()
        self.assertEqual(status, 503)
        self.assertIn('goodput_collect_directory{state="empty"} 1.0\n', page)
        self.put('counter_1.db', counter_file())
        self.assertIn('c_total 5.0\n', self.until(e, lambda status, page: status == 200))
        os.unlink(os.path.join(self.folder, 'counter_1.db'))
        self.assertIn('state="emptied"} 1.0', self.until(e, lambda status, page: status == 503))
        shutil.rmtree(self.folder)
        status, _, page = e.get()
        self.assertEqual(status, 503)
        self.assertIn('goodput_collect_directory{state="missing"} 1.0\n', page)
        self.assertNotIn('c_total', page)
        self.assertEqual(e.get('/metrics/collector')[0], 200)
        self.assertIn('does not exist', e.get('/-/healthy')[2])
        os.mkdir(self.folder)
        self.put('counter_1.db', counter_file(7.0))
        self.assertIn('c_total 7.0\n', self.until(e, lambda status, page: status == 200))

    def test_no_worker_yet(self):
        status, _, page = self.exporter('--grace', '10m').get()
        self.assertEqual(status, 200)
        self.assertIn('goodput_collect_directory{state="waiting"} 1.0\n', page)

    @unittest.skipUnless(IS_ROOT, 'needs root to mount a tmpfs, and setpriv')
    def test_a_full_disk(self):
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=256k,mode=777', 'tmpfs', self.folder], stderr=subprocess.PIPE)
        if mounted.returncode:
            self.skipTest('cannot mount a tmpfs: %s' % mounted.stderr.decode().strip())
        try:
            self.put('counter_1.db', counter_file())
            e = self.exporter()
            self.assertNotIn('disk-full', e.get()[2])
            with open(os.path.join(self.folder, 'filler'), 'wb', buffering=0) as f:
                try:
                    while True:
                        f.write(b'\0' * 4096)
                except OSError:
                    pass
            page = self.has_fault(e, 'disk-full')
            self.assertEqual(samples(page)['goodput_collect_status'], 2)
            self.assertIn('c_total 5.0\n', page)
            run = self.run_program('collect', self.folder)
            self.assertEqual(run.returncode, 2, run.stderr)
            run = self.run_program('collect', 'init', self.folder)
            self.assertIn('no room', run.stderr)
            self.assertEqual(run.returncode, 2, run.stderr)
        finally:
            while self.exporters:
                self.exporters.pop().end()
            subprocess.run(['umount', self.folder], check=True)

    def test_life_of_a_pod(self):
        fresh = os.path.join(self.base, 'made', 'by', 'init')
        run = self.run_program('collect', 'init', fresh)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(os.listdir(fresh), [])
        w = self.writer()
        run = self.run_program('collect', 'clean', self.folder)
        self.assertEqual(run.returncode, 65)
        self.assertIn('process %d still writes' % w.pid, run.stderr)
        run = self.run_program('collect', 'mark-dead', self.folder, str(w.pid))
        self.assertEqual(run.returncode, 65, run.stderr)
        w.kill()
        live = [n for n in os.listdir(self.folder) if n.startswith('gauge_live')]
        self.assertTrue(live)
        run = self.run_program('collect', 'mark-dead', self.folder, str(w.pid))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith('gauge_live')], [])
        self.put('notes.txt', b'not ours')
        run = self.run_program('collect', 'init', self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(os.listdir(self.folder), ['notes.txt'])


class Writers(Case):
    def test_killed_frozen_and_restarted(self):
        a, b = self.writer(), self.writer()
        e = self.exporter()
        self.until(e, lambda status, page: 'goodput_collect_writers{state="unknown"} 0.0\n' in self.nudge(page, a, b))
        a.process.send_signal(signal.SIGSTOP)
        self.has_fault(e, 'frozen-writer')
        a.process.send_signal(signal.SIGCONT)
        self.until(e, lambda status, page: 'kind="frozen-writer"' not in page)
        before = samples(e.get()[2])
        b.kill()    # as the OOM killer does
        page = self.has_fault(e, 'dead-writer')
        self.assertEqual(samples(page)['goodput_collect_writers{state="dead"}'], 1)
        after = samples(page)
        self.assertEqual([n for n in before if '_requests_total' in n and after[n] != before[n]], [])
        e.end()
        self.exporters.remove(e)
        again = samples(self.exporter().get()[2])    # the sidecar restarts: nothing falls
        self.assertEqual([n for n in before if '_requests_total' in n and again[n] < before[n]], [])

    def nudge(self, page, *writers):
        for w in writers:
            w.run(10)
            w.wait()
        return page

    def test_folding_needs_the_right_to_write(self):
        if not IS_ROOT:
            self.skipTest('needs root and setpriv')
        a, b = self.writer(), self.writer()
        os.chmod(self.folder, 0o755)
        e = self.exporter('--fold')
        self.until(e, lambda status, page: 'goodput_collect_writers{state="unknown"} 0.0\n' in self.nudge(page, a, b))
        b.kill()
        page = self.until(e, lambda status, page: samples(page).get('goodput_collect_fold_failing', 0) > 0)
        self.assertTrue(e.says('nothing was folded: .goodput.lock cannot be made: Permission denied'), e.log)
        self.assertIn('c_requests_total', page)


class Pages(Case):
    def test_negotiation(self):
        self.put('counter_1.db', counter_file())
        e = self.exporter()
        _, kind, page = e.get()
        self.assertEqual(kind, 'text/plain; version=0.0.4; charset=utf-8')
        self.assertIn('# TYPE c_total counter\n', page)
        status, kind, page = e.get(Accept='application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2', Accept_Encoding='gzip')
        self.assertEqual(kind, 'application/openmetrics-text; version=1.0.0; charset=utf-8')
        self.assertIn('# TYPE c counter\n', page)
        self.assertTrue(page.endswith('# EOF\n'))
        self.assertEqual(page.count('# EOF'), 1)
        self.assertEqual(e.get('/nowhere')[0], 404)

    def test_own_metrics_can_be_read(self):
        """Names of files are of others: what is in them must not break a page."""
        self.put('counter_1.db', counter_file())
        self.put('x"\\\n.db', b'')
        page = self.exporter().get()[2]
        self.assertIn('file="x\\"\\\\\\n.db",kind="foreign"', page)

    def test_options_that_would_do_nothing(self):
        for options in (['--fold'], ['--grace', '1s'], ['--listen', ':0', '--format', 'openmetrics'], ['--force']):
            self.assertEqual(self.run_program('collect', *options, self.folder).returncode, 64, options)
        for options in (['--no-own-metrics'], ['--as', '0.16'], ['--listen', ':0'], ['--fold']):
            self.assertEqual(self.run_program('collect', 'clean', *options, self.folder).returncode, 64, options)

    def test_serve_takes_a_directory(self):
        self.put('counter_1.db', counter_file(3.0, 'a'))
        served = subprocess.Popen([self.program, 'serve', '--json', '--port', '0', '--scrape-interval', '200ms', self.folder, 'multiproc:' + self.folder + '/none'],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
        try:
            url = json.loads(served.stdout.readline())['url']
            for query, wanted in (('a_total', ['3']), ('sort(up)', ['0', '1'])):
                end = time.monotonic() + WAIT_S
                while True:
                    with urllib.request.urlopen(url + '/api/v1/query?' + urllib.parse.urlencode({'query': query}), timeout=WAIT_S) as answer:
                        found = [row['value'][1] for row in json.load(answer)['data']['result']]
                    if found == wanted:
                        break
                    self.assertLess(time.monotonic(), end, found)
                    time.sleep(0.1)
        finally:
            served.terminate()
            served.wait()
            served.stdout.close()

    def test_targets(self):
        self.put('counter_1.db', counter_file(1.0, 'vllm:generation_tokens'))
        self.put('counter_2.db', b'\x10\0\0\0')
        run = self.run_program('check', '--window', '1s', '--json', self.folder)
        self.assertIn('metric-files-faulty', run.stdout)
        self.assertEqual(run.returncode, 1, run.stderr)
        e = self.exporter()
        run = self.run_program('check', '--window', '1s', '--json', 'http://127.0.0.1:%d' % e.port)
        self.assertIn('metric-files-faulty', run.stdout)
        out = os.path.join(self.base, 'recording')
        run = self.run_program('record', '--for', '1s', out, self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        run = self.run_program('check', '--json', out)
        self.assertIn('metric-files-faulty', run.stdout)
        run = self.run_program('check', '--window', '1s', 'multiproc:' + self.folder + '/none')
        self.assertIn('does not exist', run.stdout + run.stderr)


def main():
    global ARGUMENTS
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--goodput', default=os.environ.get('GOODPUT', 'build/goodput'))
    parser.add_argument('--tool', required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)


if __name__ == '__main__':
    main()
