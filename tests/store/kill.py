#!/usr/bin/env python3
"""kill -9 while samples are written: each acknowledged one is there afterwards, bit for bit, and the file is whole.

    kill.py [--tool store_writer] [--kills N] [--seed N] [--full] [--churn]

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
# Of store_writer: with churn, so many new series every so many steps; from this step on they are forgotten as fast.
SERIES, EPOCH_STEPS, FORGETTING = 127, 40, 25000


def write_and_kill(tool, path, options, delay, least=-1):
    """Not before step `least` is there. Returns (last acknowledged step or -1, ms until ready or None)."""
    writer = subprocess.Popen([tool, 'write', path] + options, stdout=subprocess.PIPE, text=True)
    lines = []
    while least >= 0 and (not lines or lines[-1].startswith('ready') or int(lines[-1]) < least):
        lines.append(writer.stdout.readline())
        if not lines[-1]:
            break
    time.sleep(delay)
    died = writer.poll()
    writer.kill()
    out = ''.join(lines) + writer.stdout.read()
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
    parser.add_argument('--churn', action='store_true', help='series come and go, and the store forgets them')
    arguments = parser.parse_args()
    options = [name for name in ('full', 'churn') if getattr(arguments, name)]
    rng = random.Random(arguments.seed)
    print('seed %d' % arguments.seed)
    passed = failed = 0
    acknowledged, slowest, last, series = -1, 0.0, -1, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'killed.db')
        for kill in range(arguments.kills):
            # Sometimes before it is ready.
            step, ready = write_and_kill(arguments.tool, path, options, rng.choice((0.004, 0.02, rng.uniform(0.02, 0.3))),
                                         FORGETTING if arguments.churn and not kill else -1)
            acknowledged = max(acknowledged, step)
            slowest = max(slowest, ready or 0.0)
            if not os.path.exists(path) or (acknowledged < 0 and os.path.getsize(path) == 0):
                continue
            check = subprocess.run([arguments.tool, 'check', path, str(acknowledged)] + options, capture_output=True)
            unfinished = acknowledged < 0 and any(what in check.stderr for what in (b'never finished', b'is empty', b'was broken off'))
            if check.returncode and not unfinished:
                failed += 1
                print('kill %d, step %d acknowledged: %s' % (kill, acknowledged, check.stderr.decode().strip()))
                break
            passed += 1
            last, series = map(int, check.stdout.split() or (-1, 0))
    if slowest > READY_MS:
        failed += 1
        print('ready only after %.0f ms' % slowest)
    if last < 100:
        failed += 1
        print('only %d steps were written: nothing was tried' % last)
    made = (last // EPOCH_STEPS + 1) * SERIES if arguments.churn else SERIES
    if arguments.churn and (made < 5000 or series > made * 3 / 4):
        failed += 1
        print('%d of %d series are there: little was forgotten' % (series, made))
    print('%d series made, %d there' % (made, series))
    print('%d steps, ready after at most %.1f ms' % (last + 1, slowest))
    print('%d passed, %d failed' % (passed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
