#!/usr/bin/env python3
"""What `goodput check` says of a simulated server: every fault by its name, and nothing above info while all is well.

All scenes run at the same time, each with a server of its own; names on the command line choose some. A scene that comes out wrong while
the machine was late (the simulator says so, or a sleep of 50 ms took three times that) shows a busy machine: it is played again, at most twice."""
import os
import subprocess
import sys
import tempfile
import threading
import time

from simlib import PROGRAM, Sim, findings, side_by_side

CHECK = os.environ.get('GOODPUT_CHECK', PROGRAM)
BUSY = ['--self-traffic', 'rate=5,prompt=600,output=80']
SPEC = ['--speculative-config', '{"method":"eagle3","num_speculative_tokens":3,"acceptance":0.75}']
NIXL = ['--kv-transfer-config', '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}']


sleeper = side_by_side.Sleeper()


class Scene:
    """A server with its options; after `before` seconds a fault (or none); then a recording of `seconds`, which must have one of the
    findings (None: nothing above info)."""

    def __init__(self, expected, options, fault=None, before=2, seconds=16, every=1, replicas=1, during=None, besides=()):
        self.expected = [expected] if isinstance(expected, str) else expected
        self.options, self.fault, self.before, self.seconds = options, fault, before, seconds
        self.every, self.replicas, self.during, self.besides = every, replicas, during, besides
        self.result, self.late = None, False

    def record(self, sim, folder):
        ports = self.ports(sim)
        return subprocess.Popen([PROGRAM, 'record', '-q', folder, *['127.0.0.1:%d' % p for p in ports], '--every', '%gs' % self.every, '--for',
                                 '%ds' % self.seconds], stderr=subprocess.PIPE, text=True)

    def ports(self, sim):
        return range(sim.port, sim.port + self.replicas)

    def play(self):
        options = list(self.options)
        if self.replicas > 1:
            options += ['--replicas', str(self.replicas), '--port', str(side_by_side.free_ports(self.replicas))]
        with tempfile.TemporaryDirectory() as folder, Sim(*options) as sim:
            begin = time.monotonic()
            time.sleep(self.before)
            if self.fault:
                sim.fault(self.fault)
            recording = self.record(sim, folder + '/recording')
            if self.during:
                time.sleep(self.seconds / 2)
                sim.fault(self.during)
            _, said = recording.communicate(timeout=self.seconds + 120)
            self.judge(folder + '/recording', said)
            sim.stop()
            self.late = any('is late itself' in line for line in sim.lines) or sleeper.was_late(begin)

    def judge(self, folder, said):
        import json
        done = subprocess.run([CHECK, 'check', folder, '--json'], capture_output=True, text=True, timeout=120)
        if not done.stdout:
            self.result = 'FAILED: check said: %s %s' % (done.stderr, said)
            return
        found = findings(json.loads(done.stdout))
        serious = {k: v for k, v in found.items() if v != 'info' and k not in self.besides}
        if self.expected is None:
            self.result = 'FAILED: %s' % serious if serious else 'ok: nothing above info'
        elif any(name in found for name in self.expected):
            self.result = 'ok: %s' % next(name for name in self.expected if name in found)
        else:
            self.result = 'FAILED: expected %s, found %s' % (self.expected, found)


SCENES = {
    # all is well
    'healthy': Scene(None, BUSY),
    'healthy at start': Scene(None, BUSY, before=0),
    'healthy, idle': Scene(None, []),
    'healthy, idle after work': Scene(None, ['--self-traffic', 'rate=0.15,prompt=300,output=20,seed=4']),
    'healthy, speculation': Scene(None, BUSY + SPEC),
    'healthy, pulls KV': Scene(None, BUSY + NIXL, besides={'one-side-unscraped'}),  # the other side is not there to be scraped
    'healthy, two engines': Scene(None, BUSY + ['--data-parallel-size', '2']),
    'healthy, three servers': Scene(None, ['--self-traffic', 'rate=12,prompt=600,output=80'], replicas=3),
    'healthy, vLLM 0.6': Scene(None, BUSY + ['--mimic', '0.6']),
    'healthy, vLLM 0.8': Scene(None, BUSY + ['--mimic', '0.8']),
    'healthy, vLLM 0.11': Scene(None, BUSY + ['--mimic', '0.11']),
    # each fault
    'stall': Scene('engine-stalled', BUSY, 'stall', seconds=69, every=3),
    'slow': Scene('slow-replica', ['--self-traffic', 'rate=12,prompt=600,output=80'], 'slow:factor=4', replicas=3, before=3, seconds=24),
    'preemption-storm': Scene(['kv-thrash', 'preemptions'], ['--self-traffic', 'rate=8,prompt=600,output=200'], 'preemption-storm', before=4),
    'kv-leak': Scene('kv-leak', ['--self-traffic', 'rate=1,prompt=300,output=20'], 'kv-leak:blocks=300', seconds=40),
    'memory-leak': Scene('rss-leak', BUSY, 'memory-leak:kib=512', seconds=40),
    'gc-pauses': Scene('gc-pauses', ['--self-traffic', 'rate=50,prompt=100,output=40'], 'gc-pauses', seconds=20),
    'crash': Scene('restart', BUSY, during='crash:down=0', seconds=16),
    'http-500': Scene('http-errors', BUSY, 'http-500', seconds=20),
    'slow-streams': Scene('tpot-high', ['--self-traffic', 'rate=5,prompt=600,output=30'], 'slow-streams', seconds=24),
    'cut-streams': Scene('aborts-not-counted', BUSY, 'cut-streams:share=0.6', seconds=24),
    'acceptance': Scene('alpha-low', BUSY + SPEC, 'acceptance'),
    'transfer-failure': Scene('kv-transfer-failure', BUSY + NIXL, 'transfer-failure'),
    'stale-gauges': Scene('stale-gauges', ['--self-traffic', 'rate=8,prompt=600,output=300'], 'stale-gauges', before=4, seconds=24),
    'missing-families': Scene('engine-families-missing', BUSY, during='missing-families:match=vllm:'),
    'upgrade': Scene('metric-renamed', BUSY + ['--mimic', '0.8'], during='upgrade:to=0.11,down=1'),
}


def run(name, scene):
    for _ in range(3):
        try:
            scene.play()
        except Exception as problem:
            scene.result, scene.late = 'FAILED: %s: %s' % (type(problem).__name__, str(problem)[:1500]), False
        print('%-28s %s%s' % (name, scene.result, ' (the machine was late)' if scene.late else ''), flush=True)
        if scene.result.startswith('ok') or not scene.late:
            break


def main():
    wanted = sys.argv[1:] or list(SCENES)
    wanted.sort(key=lambda name: -SCENES[name].seconds)  # the longest first
    threads = [threading.Thread(target=run, args=(name, SCENES[name])) for name in wanted]
    for thread in threads:
        thread.start()
        time.sleep(0.3)
    for thread in threads:
        thread.join()
    failed = [name for name in wanted if not SCENES[name].result.startswith('ok')]
    print('%d of %d scenes as expected' % (len(wanted) - len(failed), len(wanted)))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
