#!/usr/bin/env python3
"""C and Python processes write one directory while files grow, processes are killed and pids are given out again.

    test_live.py --tool METRIC_WRITER [--seconds N] [--seed N] [--goodput PROGRAM]

Scrapes beside them, by Python's collector (and by `goodput collect` with --goodput), must never fail and no counter may get lower; when all is quiet, each value is
what was written. Processes are killed while they wait, so what they did is known exactly; those with the prefix "victim" are killed at any moment, so theirs is known
within a batch. With --goodput, files of the dead are folded now and then, and a fifth of the time goes to C writers alone in the other layout, which this Python cannot
read. Needs the python3 that has prometheus_client; status 77 (skipped) without it.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import prometheus_client
    from prometheus_client import mmap_dict, multiprocess
except ImportError:
    print("skipped: %s has no prometheus_client (Debian: apt-get install python3-prometheus-client)" % sys.executable)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ROUTES = 300
BATCH = 400
PROCESSES_MAX = 36  # of which files stay; where the dead are folded, more for a longer test
SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$")
MODES = ("all", "min", "max", "sum", "livesum", "liveall")
LAYOUT = "0.18" if hasattr(mmap_dict, "_pack_two_doubles") else "0.16"


class Writer:
    def __init__(self, folder, command, prefix, layout, namespace=False):
        """namespace: as process 1 of a namespace of its own, so that the next such writer has the same pid."""
        full = (["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"] if namespace else []) + command + [prefix, str(ROUTES)]
        env = dict(os.environ, PROMETHEUS_MULTIPROC_DIR=folder, GOODPUT_TELEMETRY_LAYOUT=layout)
        self.process = subprocess.Popen(full, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, universal_newlines=True, bufsize=1)
        self.prefix, self.done, self.asked, self.children = prefix, 0, 0, []
        line = self.process.stdout.readline().split()
        if len(line) != 2:
            raise SystemExit("FAIL: %s did not start" % " ".join(full))
        self.pid = int(line[1])

    def ask(self, word, count):
        if word == "run":
            self.asked += count
        self.process.stdin.write("%s %d\n" % (word, count))
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline().split()
        if len(line) != 4 or line[3] != "0":
            raise SystemExit("FAIL: a writer answered %r" % line)
        if line[0] == "done":
            self.done = int(line[1])
        else:
            self.children.append(int(line[1]))

    def end(self, how):
        """how: 'kill', or 'close' for the end of its input."""
        if how == "kill":
            self.process.kill()
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()


def parse(text):
    return {m.group(1) + (m.group(2) or ""): float(m.group(3)) for m in map(SAMPLE.match, text.splitlines()) if m}


def scrape_python(folder):
    registry = prometheus_client.CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, path=folder)
    return parse(prometheus_client.generate_latest(registry).decode())


def scrape_goodput(program, folder):
    run = subprocess.run([program, "collect", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, universal_newlines=True)
    if not run.stdout:
        raise SystemExit("FAIL: goodput collect: status %d: %s" % (run.returncode, run.stderr))
    return parse(run.stdout)


def rising(name):
    return re.match(r"live_(requests_total|seconds_(bucket|sum|count)|bytes_(sum|count))|victim_\w+_(total|bucket|sum|count)", name)


class Watch:
    """Scrapes of one kind, each compared with the one before."""

    def __init__(self, name, scrape):
        self.name, self.scrape, self.last, self.count = name, scrape, {}, 0

    def look(self):
        now = self.scrape()
        for name, value in self.last.items():
            if rising(name) and now.get(name, -1) < value:
                raise SystemExit("FAIL: %s: %s fell from %r to %r" % (self.name, name, value, now.get(name)))
        self.last = now
        self.count += 1
        return now


def expected(writers):
    """What the updates of all writers add up to, by sample; (route, bucket edge) by the rule in metric_writer.c."""
    want = {}

    def add(name, value):
        want[name] = want.get(name, 0) + value

    for done in [w.done for w in writers] + [BATCH for w in writers for _ in w.children]:
        for route in range(min(done, ROUTES)):
            add('live_requests_total{method="POST",route="/v1/models/meta-llama-Llama-3.1-8B-Instruct/route/%d"}' % route, (done - route + ROUTES - 1) // ROUTES)
        values = [(done - v + 12) // 13 for v in range(13)]
        total = sum(v * n for v, n in enumerate(values))
        for edge in ("1.0", "2.5", "5.0", "10.0", "+Inf"):
            add('live_seconds_bucket{le="%s"}' % edge, sum(n for v, n in enumerate(values) if v <= float(edge.replace("+Inf", "inf"))))
        add("live_seconds_count", done)
        add("live_seconds_sum", total)
        add("live_bytes_count", done)
        add("live_bytes_sum", total)
    return want


def expected_gauges(life):
    """Live ones are gone with their process, those of mode `all` with their file."""
    lives = {w.pid for w in life.alive}
    values = list(life.gauges.values()) + life.gauges_folded
    want = {'live_all{pid="%d"}' % pid: done for pid, done in life.gauges.items()}
    want.update(live_min=min(values), live_max=max(values), live_sum=sum(values))
    if lives:
        want["live_livesum"] = sum(life.gauges[pid] for pid in lives)
    want.update({'live_liveall{pid="%d"}' % pid: life.gauges[pid] for pid in lives})
    return want


def compare(name, found, want):
    wrong = {k: (found.get(k), v) for k, v in want.items() if found.get(k) != v}
    more = [k for k in found if k.startswith("live_") and k not in want]
    if wrong or more:
        raise SystemExit("FAIL: %s, when all is quiet: (found, written) %s; not written: %s" % (name, dict(list(wrong.items())[:5]), more[:5]))


def victim(folder, command, layout, rng):
    """Killed in the middle of a batch: returns its pid, and how many updates it has made at least and at most."""
    w = Writer(folder, command, "victim", layout)
    w.ask("run", BATCH)
    w.answer()
    w.ask("run", 100000)
    time.sleep(rng.random() * 0.05)
    w.end("kill")
    return w.pid, BATCH, BATCH + 100000


def can_unshare():
    return shutil.which("unshare") is not None and subprocess.run(["unshare", "--user", "--map-root-user", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode == 0


class Life:
    """Processes that come and go; what they did is kept."""

    def __init__(self, folder, commands, layout, rng, program, seconds):
        self.folder, self.commands, self.layout, self.rng, self.program = folder, commands, layout, rng, program
        self.writers, self.alive, self.low, self.high, self.folded = [], [], 0, 0, 0
        # The number last set, by pid: any process may be given a dead one's, other tests' too. A C writer begins gauge files anew, Python goes on with them.
        self.gauges, self.gauges_folded = {}, []
        self.namespaces, self.most = can_unshare(), PROCESSES_MAX + (int(seconds / 3) if program else 0)

    def start(self, namespace=False):
        w = Writer(self.folder, self.rng.choice(self.commands), "live", self.layout, namespace)
        self.writers.append(w)
        self.alive.append(w)
        w.ask("run", BATCH)
        w.answer()
        self.gauges[w.pid] = w.done
        return w

    def end(self, w, how):
        w.end(how)
        self.alive.remove(w)
        multiprocess.mark_process_dead(w.pid, self.folder)

    def victim(self):
        command = self.rng.choice(self.commands)
        pid, low, high = victim(self.folder, command, self.layout, self.rng)
        self.low, self.high = self.low + low, self.high + high
        if command == self.commands[0]:
            self.gauges.pop(pid, None)

    def fork(self, w):
        w.ask("fork", BATCH)
        w.answer()
        self.gauges[w.children[-1]] = BATCH
        multiprocess.mark_process_dead(w.children[-1], self.folder)

    def fold(self):
        """--force: those in namespaces have ended."""
        fold = subprocess.run([self.program, "collect", "fold", "--force", self.folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              universal_newlines=True)
        if fold.returncode not in (0, 1):
            raise SystemExit("FAIL: goodput collect fold: status %d: %s" % (fold.returncode, fold.stdout))
        self.folded += int((re.findall(r"(\d+) files of", fold.stdout) + [0])[0])
        for pid in list(self.gauges):
            if not os.path.exists(os.path.join(self.folder, "gauge_all_%d.db" % pid)):
                self.gauges_folded.append(self.gauges.pop(pid))

    def turn(self):
        """All alive do a batch at the same time; then one thing happens."""
        busy = self.alive + []
        for w in busy:
            w.ask("run", self.rng.randrange(BATCH))
        yield
        for w in busy:
            w.answer()
            self.gauges[w.pid] = w.done
        chance = self.rng.random()
        if len(self.writers) < self.most and (len(self.alive) < 3 or chance < 0.2):
            self.start()
        elif len(self.writers) < self.most and chance < 0.4:
            self.end(self.rng.choice(self.alive), self.rng.choice(["kill", "close"]))
        elif len(self.writers) < self.most and chance < 0.5 and self.namespaces:
            self.end(self.start(namespace=True), self.rng.choice(["kill", "close"]))
        elif self.low < 20 * BATCH and chance < 0.6:
            self.victim()
        elif chance < 0.7:
            w = self.rng.choice(self.alive)
            if w.process.args[0] == self.commands[0][0] and sum(len(x.children) for x in self.writers) < 10:
                self.fork(w)
        elif chance < 0.75 and self.program:
            self.fold()


def settle(life, watches):
    for name, watch in watches:
        page = watch.look()
        want = expected(life.writers)
        want.update(expected_gauges(life))
        compare(name, page, want)
        total = sum(v for k, v in page.items() if k.startswith("victim_requests_total"))
        if not life.low <= total <= life.high:
            raise SystemExit("FAIL: %s: victims made between %d and %d updates, shown are %d" % (name, life.low, life.high, total))


def run(seconds, commands, layout, scrapers, rng, program):
    folder = tempfile.mkdtemp(prefix="goodput-live-")
    life = Life(folder, commands, layout, rng, program, seconds)
    scrapes = {"python": lambda: scrape_python(folder), "goodput": lambda: scrape_goodput(program, folder)}
    watches = [(name, Watch(name, scrapes[name])) for name in scrapers]
    if not life.namespaces:
        print("no namespaces here: no pid is given out again")
    begin = time.monotonic()
    turns = 0
    try:
        for _ in range(4):
            life.start()
        while time.monotonic() - begin < seconds or turns < 12:
            for _ in life.turn():
                watches[turns % len(watches)][1].look()
            turns += 1
            if turns % 6 == 0:
                settle(life, watches)
        settle(life, watches)
        while life.alive:
            life.end(life.alive[0], "close")
        settle(life, watches)
    finally:
        for w in life.alive:
            w.process.send_signal(signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
    print("layout %s: %d processes, %d turns, scrapes %s, %d pids given out again, %d files folded" % (layout, len(life.writers), turns,
          " + ".join("%d by %s" % (w.count, name) for name, w in watches), len(life.writers) - len({w.pid for w in life.writers}), life.folded), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("GOODPUT_SEED", time.time())))
    parser.add_argument("--goodput", help="the program, to scrape with `goodput collect` too")
    args = parser.parse_args()
    print("seed %d, prometheus_client layout %s" % (args.seed, LAYOUT), flush=True)
    rng = random.Random(args.seed)
    commands = [[args.tool], [sys.executable, "-B", os.path.join(HERE, "writer.py")]]
    if args.goodput:
        run(args.seconds * 0.8, commands, LAYOUT, ["python", "goodput"], rng, args.goodput)
        run(args.seconds * 0.2, commands[:1], "0.18" if LAYOUT == "0.16" else "0.16", ["goodput"], rng, args.goodput)
    else:
        run(args.seconds, commands, LAYOUT, ["python"], rng, None)
    print("1 passed, 0 failed")


main()
