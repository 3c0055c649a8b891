#!/usr/bin/env python3
"""kill -9 while samples are written: each acknowledged one is there afterwards, bit for bit, and the file is whole.

    kill.py [--tool store_writer] [--kills N] [--seed N] [--full]

Prints one line a failure, and "N passed, N failed" at the end.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

READY_MS = 500


def write_and_kill(tool, path, full, delay):
    """Returns (last acknowledged step or -1, ms until ready or None)."""
    writer = subprocess.Popen([tool, 'write', path] + (['full'] if full else []), stdout=subprocess.PIPE)
    time.sleep(delay)
    died = writer.poll()
    writer.kill()
    out = writer.stdout.read().decode()
    writer.wait()
    if died is not None:
        raise SystemExit('kill.py: the writer ended by itself with status %d' % died)
    # A line that breaks off was not acknowledged.
    lines = out.split('\n')[:-1]
    ready = [float(line.split()[1]) for line in lines if line.startswith('ready')]
    steps = [int(line) for line in lines if not line.startswith('ready')]
    return (steps[-1] if steps else -1), (ready[0] if ready else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--tool', default=os.path.join(os.environ.get('GOODPUT_BUILD', 'build'), 'tests', 'tools', 'store_writer'))
    parser.add_argument('--kills', type=int, default=20)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--full', action='store_true', help='with durability: full')
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print('seed %d' % arguments.seed)
    passed = failed = 0
    acknowledged, slowest, last = -1, 0.0, -1
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'killed.db')
        for kill in range(arguments.kills):
            # Sometimes before it is ready.
            step, ready = write_and_kill(arguments.tool, path, arguments.full, rng.choice((0.004, 0.02, rng.uniform(0.02, 0.3))))
            acknowledged = max(acknowledged, step)
            slowest = max(slowest, ready or 0.0)
            if not os.path.exists(path) or (acknowledged < 0 and os.path.getsize(path) == 0):
                continue
            check = subprocess.run([arguments.tool, 'check', path, str(acknowledged)], capture_output=True)
            unfinished = acknowledged < 0 and any(what in check.stderr for what in (b'never finished', b'is empty', b'was broken off'))
            if check.returncode and not unfinished:
                failed += 1
                print('kill %d, step %d acknowledged: %s' % (kill, acknowledged, check.stderr.decode().strip()))
                break
            passed += 1
            last = int(check.stdout or -1)
    if slowest > READY_MS:
        failed += 1
        print('ready only after %.0f ms' % slowest)
    if last < 100:
        failed += 1
        print('only %d steps were written: nothing was tried' % last)
    print('%d steps, ready after at most %.1f ms' % (last + 1, slowest))
    print('%d passed, %d failed' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
