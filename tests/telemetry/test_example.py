#!/usr/bin/env python3
"""examples/server.c serves, counts, and takes back what a killed worker had: test_example.py PROGRAM."""
import glob
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


def entries(path):
    """{key text: value}, one entry or more added up."""
    with open(path, "rb") as f:
        data = f.read()
    used, at, found = struct.unpack_from("<i", data)[0], 8, {}
    while at < used:
        length = struct.unpack_from("<i", data, at)[0]
        key = data[at + 4:at + 4 + length].decode()
        at += 4 + length + 8 - (4 + length) % 8
        found[key] = found.get(key, 0) + struct.unpack_from("<d", data, at)[0]
        at += 16
    return found


def total(folder, part):
    return sum(v for name in glob.glob(os.path.join(glob.escape(folder), "*.db")) for k, v in entries(name).items() if part in k)


def get(address, path):
    try:
        with urllib.request.urlopen("http://%s%s" % (address, path), timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        return e.code


def wait_until(true, what):
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    sys.exit("FAIL: no %s within a minute" % what)


def workers(parent):
    with open("/proc/%d/task/%d/children" % (parent, parent)) as f:
        return [int(pid) for pid in f.read().split()]


def check(condition, what):
    if not condition:
        sys.exit("FAIL: " + what)


def main():
    folder = tempfile.mkdtemp(prefix="goodput-example-")
    env = dict(os.environ, PROMETHEUS_MULTIPROC_DIR=folder, GOODPUT_TELEMETRY_LAYOUT="0.18")
    server = subprocess.Popen([sys.argv[1], "0", "2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, universal_newlines=True)
    try:
        address = server.stdout.readline().split()[-1]
        check([get(address, "/work") for _ in range(20)] == [200] * 20, "/work is not answered")
        check(get(address, "/other") == 404, "an unknown path is found")
        wait_until(lambda: total(folder, "example_busy") == 0, "idle server")
        check(total(folder, '"/work"') == 20 and total(folder, '"other"') == 1, "requests are miscounted")
        check(total(folder, "_bucket") == 21, "durations are miscounted")
        before = workers(server.pid)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(set(workers(server.pid)) - set(before)) == 2, "new workers")
        wait_until(lambda: not any(str(pid) in n and "gauge_live" in n for pid in before for n in os.listdir(folder)), "removal of dead workers' live gauges")
        check(get(address, "/work") == 200, "/work is not answered by new workers")
        wait_until(lambda: total(folder, '"/work"') == 21, "count of a new worker beside those of the dead")
        server.send_signal(signal.SIGTERM)
        check(server.wait(timeout=60) == 0, "the server does not end")
        check(not [n for n in os.listdir(folder) if "gauge_live" in n], "live gauges are left")
        check(total(folder, '"/work"') == 21, "counters were lost")
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
    print("1 passed, 0 failed")


main()
