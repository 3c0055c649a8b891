"""Runs tests that mostly wait beside each other: each in a thread, with a folder and servers of its own.

main() is unittest.main() for files whose cases share nothing. Names on the command line choose tests; a class is one test when it has
setUpClass. A test that finds no end is told by name, with where it stands, and ends the program: Meson would wait for children that it left."""

import concurrent.futures
import contextlib
import faulthandler
import os
import random
import signal
import socket
import sys
import threading
import time
import unittest

AT_ONCE = 8
LONGEST_S = 240
ports_given, ports_lock = set(), threading.Lock()


def free_ports(count=1):
    """The first of `count` successive ports that nobody has. Below those that the system hands out to whoever asks for any: nobody gets
    one by chance between this and the start of the server that it is for, or while that server is started again."""
    for _ in range(1000):
        with ports_lock:
            first = random.randrange(10000, 32000)
            wanted = set(range(first, first + count))
            if wanted & ports_given:
                continue
            ports_given.update(wanted)
        with contextlib.suppress(OSError):
            for port in wanted:
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return first
    raise RuntimeError("no free port")


class Sleeper:
    """Notes when the machine let somebody sleep too long, or (with a file to write) wait for its disk: what is measured by the clock then says
    nothing."""

    def __init__(self, path=None):
        self.late_at = []
        threading.Thread(target=self.run, daemon=True).start()
        if path:
            threading.Thread(target=self.write, args=(path,), daemon=True).start()

    def write(self, path):
        with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
            while True:
                begin = time.monotonic()
                file.write(b"x" * 4096)
                os.fsync(file.fileno())
                if time.monotonic() - begin > 0.3:
                    self.late_at.extend(begin + i for i in range(int(time.monotonic() - begin) + 1))
                time.sleep(0.5)

    def run(self):
        while True:
            begin = time.monotonic()
            time.sleep(0.05)
            if time.monotonic() - begin > 0.15:
                self.late_at.append(time.monotonic())

    def was_late(self, since):
        return any(at >= since for at in self.late_at)

    def late_seconds(self, since):
        """In how many seconds."""
        return len({int(at) for at in self.late_at if at >= since})


def units(suite):
    """What can run by itself."""
    for part in suite:
        if not isinstance(part, unittest.TestSuite):
            yield part
            continue
        first = next(iter(part), None)
        if isinstance(first, unittest.TestCase) and type(first).setUpClass.__func__ is not unittest.TestCase.setUpClass.__func__:
            yield part
        else:
            yield from units(part)


def name_of(unit):
    if isinstance(unit, Function):
        return unit.name
    return unit.id().split(".", 1)[-1] if isinstance(unit, unittest.TestCase) else type(next(iter(unit))).__name__


def children_end():
    """Whatever is still there of what this program started: nobody waits for it any more."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            if parent == os.getpid():
                os.kill(int(pid), signal.SIGKILL)
        except (OSError, ValueError):
            pass


class Watch:
    """Says which tests are stuck, and gives up."""

    def __init__(self):
        self.since, self.lock, self.over = {}, threading.Lock(), threading.Event()
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        longest = LONGEST_S * float(os.environ.get("MESON_TEST_TIMEOUT_MULTIPLIER", 1))
        while not self.over.wait(1):
            with self.lock:
                stuck = [name for name, since in self.since.items() if time.monotonic() - since > longest]
            if stuck:
                print("no end after %.0f s: %s" % (longest, ", ".join(stuck)), flush=True)
                faulthandler.dump_traceback(all_threads=True)
                children_end()
                os._exit(1)

    def run(self, unit):
        result, name = unittest.TestResult(), name_of(unit)
        result.buffer = False
        with self.lock:
            self.since[name] = begin = time.monotonic()
        try:
            unit(result)
        finally:
            with self.lock:
                del self.since[name]
        return name, result, time.monotonic() - begin


class Function:
    """A function as a test: it raises when it fails; a text that begins with "skipped" says why it did nothing."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def __call__(self, result):
        case = unittest.FunctionTestCase(self.function, description=self.name)
        try:
            said = self.function() or ""
            if said.startswith("skipped"):
                result.addSkip(case, said)
        except Exception:  # a failure of one test must not hide the others
            result.addFailure(case, sys.exc_info())


def run(every, at_once=AT_ONCE):
    """The exit status: 1 when one failed."""
    watch, counts = Watch(), {"ok": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in concurrent.futures.as_completed([pool.submit(watch.run, unit) for unit in every]):
            name, result, took = done.result()
            bad = result.failures + result.errors + [(t, "passed, though it was expected to fail") for t in result.unexpectedSuccesses]
            word = "failed" if bad else "skipped" if result.skipped else "ok"
            counts[word] += 1
            print("%-64s %5.1f s  %s" % (name, took, word), *["\n" + text for _, text in bad], *["(%s)" % why for _, why in result.skipped], flush=True)
    watch.over.set()
    print("%d ok, %d failed, %d skipped" % (counts["ok"], counts["failed"], counts["skipped"]))
    children_end()
    return 1 if counts["failed"] else 0


def main():
    loader, module = unittest.defaultTestLoader, sys.modules["__main__"]
    wanted = [w for w in sys.argv[1:] if not w.startswith("-")]
    sys.exit(run(list(units(loader.loadTestsFromNames(wanted, module) if wanted else loader.loadTestsFromModule(module)))))
