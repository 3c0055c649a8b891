#!/usr/bin/env python3
"""A writer goes on beside a full tmpfs and without permission, says so once, and loses nothing: test_faults.py METRIC_WRITER.

The tmpfs is mounted in a namespace of its own; without the right to that, and the other test for want of another user, they are skipped.
"""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

UPDATES = 1000
FILES = 9


def total(folder, part):
    found = 0
    for name in glob.glob(os.path.join(folder, "*.db")):
        with open(name, "rb") as f:
            data = f.read()
        used, at = struct.unpack_from("<i", data)[0], 8
        while at < used:
            length = struct.unpack_from("<i", data, at)[0]
            key = data[at + 4:at + 4 + length].decode()
            at += 4 + length + 8 - (4 + length) % 8
            found += struct.unpack_from("<d", data, at)[0] if part in key else 0
            at += 16
    return found


def check(condition, what):
    if not condition:
        sys.exit("FAIL: " + what)


class Writer:
    def __init__(self, tool, folder, user=None):
        env = dict(os.environ, PROMETHEUS_MULTIPROC_DIR=folder, GOODPUT_TELEMETRY_LAYOUT="0.18")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([tool, "x", "500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=env, universal_newlines=True,
                                        bufsize=1, preexec_fn=(lambda: os.setuid(user)) if user else None)
        check(self.process.stdout.readline().startswith("pid "), "the writer does not start")

    def run(self):
        """Failures among UPDATES updates and six sets of gauges: what was counted in memory only."""
        self.process.stdin.write("run %d\n" % UPDATES)
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[3])

    def end(self):
        self.process.stdin.close()
        check(self.process.wait(timeout=60) == 0, "the writer does not end well")
        self.errors.seek(0)
        return self.errors.read()


def suffer(tool, folder, message, mend, user=None):
    writer = Writer(tool, folder, user)
    check(writer.run() > 0, "nothing failed")
    check(writer.run() > 0, "nothing failed the second time")
    check(total(folder, '"x_requests_total"') < 2 * UPDATES, "it was not full")
    mend()
    runs = 2
    while writer.run() > 0:  # it tries again after a second
        runs += 1
        check(runs < 300, "it does not recover")
        time.sleep(0.2)
    runs += 1
    for part, want in (('"x_requests_total"', 1), ('"x_seconds_bucket"', 1), ('"x_bytes_count"', 1)):
        check(total(folder, part) == want * UPDATES * runs, "%s: %r of %d" % (part, total(folder, part), UPDATES * runs))
    check(total(folder, '"x_max"') == UPDATES * runs, "the gauge is not the last one set")
    said = writer.end()
    check(1 <= len(re.findall(message, said)) <= FILES, "it said %d times that %s: %s" % (len(re.findall(message, said)), message, said))
    check("written again" in said, "it did not say that it recovered: " + said)


def inside(tool):
    folder = tempfile.mkdtemp(prefix="goodput-full-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20k", "none", folder], check=True)
    suffer(tool, folder, "No space left on device", lambda: subprocess.run(["mount", "-o", "remount,size=10m", folder], check=True))
    subprocess.run(["umount", folder])
    os.rmdir(folder)


def denied(tool):
    folder = tempfile.mkdtemp(prefix="goodput-denied-")
    os.chmod(folder, 0o555)
    try:
        suffer(tool, folder, "Permission denied", lambda: os.chmod(folder, 0o777), user=65534 if os.geteuid() == 0 else None)
    finally:
        shutil.rmtree(folder)


def main():
    tool = os.path.abspath(sys.argv[1])
    if sys.argv[2:] == ["--inside"]:
        return inside(tool)
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    passed = skipped = 0
    if shutil.which("unshare") and subprocess.run(namespace + ["true"], stderr=subprocess.DEVNULL).returncode == 0:
        if subprocess.run(namespace + [sys.executable, "-B", os.path.abspath(__file__), tool, "--inside"]).returncode:
            sys.exit("FAIL: full tmpfs")
        passed += 1
    else:
        skipped += 1
    copy = shutil.copy(tool, tempfile.mkdtemp(prefix="goodput-tool-"))  # another user may not reach the build
    os.chmod(os.path.dirname(copy), 0o755)
    try:
        denied(copy)
        passed += 1
    finally:
        shutil.rmtree(os.path.dirname(copy))
    print("%d passed, 0 failed, %d skipped" % (passed, skipped))


main()
