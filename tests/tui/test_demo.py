#!/usr/bin/env python3
"""goodput demo: it starts, tells, answers like a Prometheus, ends by itself, by Ctrl-C and when nobody reads it, and leaves no process behind."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

GOODPUT = os.environ['GOODPUT']
PATIENCE = 120


def started(*options):
    process = subprocess.Popen([GOODPUT, 'demo', '--port', '0'] + list(options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = ''
    for line in process.stdout:
        said += line
        if 'story' in line:
            break
    else:
        sys.exit('it told nothing:\n' + said + process.stderr.read())
    url = re.search(r'Open +(http://127\.0\.0\.1:\d+)', said).group(1)
    return process, url


def children(process):
    return subprocess.run(['ps', '-o', 'pid=', '--ppid', str(process.pid)], capture_output=True, text=True).stdout.split()


def gone(pids):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        alive = [pid for pid in pids if os.path.exists('/proc/' + pid) and 'Z' not in open('/proc/%s/stat' % pid).read().split()[2]]
        if not alive:
            return True
        time.sleep(0.1)
    return False


def main():
    process, url = started('--for', '6s')
    pids = children(process)
    assert len(pids) == 2, pids
    answer = json.load(urllib.request.urlopen(url + '/api/v1/targets', timeout=PATIENCE))
    assert len(answer['data']['activeTargets']) == 4, answer
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (process.returncode, out, err)
    assert gone(pids), 'processes are left'
    assert ' goodput ' in out, out

    process, url = started()
    pids = children(process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, process.returncode
    assert gone(pids), 'processes are left after Ctrl-C'

    process, url = started()
    pids = children(process)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert gone(pids), 'processes are left after the demo was killed'
    process, url = started()
    pids = children(process)
    process.stdout.close()  # goodput demo | head
    assert process.wait(PATIENCE) == 0, process.returncode
    assert gone(pids), 'processes are left after nobody read any more'
    process.stderr.close()
    print('4 passed, 0 failed')


main()
