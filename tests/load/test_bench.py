#!/usr/bin/env python3
"""goodput bench from outside: against a server that is wrong in one way at a time, and against goodput sim."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'sim'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import llm  # noqa: E402
import simlib  # noqa: E402

PROGRAM = os.environ.get('GOODPUT', 'goodput')
SMALL = ['--model', 'm', '--random-input-len', '8', '--random-output-len', '8', '--no-scrape', '-q']


def bench(*options, status=None, env=None, timeout=240):
    done = subprocess.run([PROGRAM, 'bench', *map(str, options)], capture_output=True, text=True, timeout=timeout,
                          env=dict({k: v for k, v in os.environ.items() if k != 'OPENAI_API_KEY'}, **(env or {})))
    assert 'ERROR: ' not in done.stderr and 'runtime error' not in done.stderr, done.stderr[-3000:]
    if status is not None:
        # 3: on a machine that is busy with other things, the client says that it was late.
        assert done.returncode == status or (status == 0 and done.returncode == 3), (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def run(*options, status=None, **more):
    """--json: the document"""
    done = bench(*options, '--json', status=status, **more)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def url(server, mode):
    return 'http://127.0.0.1:%d/%s' % (server.port, mode)


# ---- every kind of failure: one class, a count, an example, a hint, never status 0 ----

def failing(server, mode, error, status=None, options=()):
    d = run(url(server, mode), '-n', 4, '-c', 2, '--no-probe', *SMALL, *options, status=2)
    assert d['failed'] == 4 and d['complete'] == 0 and d['good'] == 0, d
    assert len(d['errors']) == 1, d['errors']
    e = d['errors'][0]
    assert e['class'] == error and e['count'] == 4 and e['hint'], e
    assert e.get('status') == status and e.get('example'), e
    return e


def test_failures():
    with llm.Server() as s:
        assert 'Unauthorized' in failing(s, 'auth', 'http_4xx', 401)['example']
        failing(s, 'no-path', 'http_4xx', 404)
        failing(s, 'busy', 'http_429', 429)
        failing(s, 'broken', 'http_5xx', 503)
        assert failing(s, 'html', 'content_type', 200)['example'] == 'a web page titled "Welcome to nginx!"'
        assert 'https://elsewhere.example/login' in failing(s, 'moved', 'http_other', 307)['example']
        failing(s, 'in-band', 'stream_error', 200)
        failing(s, 'cut', 'truncated', 200)
        failing(s, 'empty', 'empty', 200)
        failing(s, 'https', 'tls', 400)
        failing(s, 'never', 'timeout', options=['--request-timeout', '300ms'])
        tls = run('https://127.0.0.1:%d' % s.port, '-n', 2, '-c', 1, '--no-probe', *SMALL, status=2)
        assert tls['errors'][0]['class'] == 'tls', tls['errors']


def test_answers_without_an_end():
    """Nobody waits for the time-out of a request where it is clear before."""
    with llm.Server() as s:
        assert 'bytes than are allowed' in failing(s, 'endless-event', 'malformed', 200)['example']
        assert 'bytes than are allowed' in failing(s, 'endless-document', 'malformed', 200)['example']
        failing(s, 'endless-page', 'content_type', 200)
        failing(s, 'endless-head', 'protocol')
        failing(s, 'endless-interim', 'timeout', options=['--request-timeout', '500ms'])
        d = run(url(s, 'no-end'), '-n', 4, '-c', 2, '--no-probe', *SMALL, status=0)
        assert d['complete'] == 4 and d['cancelled'] == 0, d


def test_nobody_there():
    d = run('http://127.0.0.1:1', '-n', 3, '-c', 1, '--no-probe', *SMALL, status=2)
    assert d['errors'][0]['class'] == 'connect' and d['errors'][0]['count'] == 3, d['errors']
    d = run('http://no-such-host.invalid', '-n', 2, '-c', 1, '--no-probe', *SMALL, status=2)
    assert d['errors'][0]['class'] == 'dns' and d['errors'][0]['count'] == 2, d['errors']


def test_a_server_that_is_gone_is_not_stormed():
    d = run('http://127.0.0.1:1', '-d', '1s', '-c', 10, '--no-probe', *SMALL, status=2)
    assert 10 <= d['failed'] < 200, d['failed']  # each place asks twice a second
    d = run('http://127.0.0.1:1', '-n', 500, '-c', 1, '--no-probe', *SMALL, status=2)  # and a number of requests has its end
    assert d['failed'] == 500 and d['window_s'] < 60, d


def test_oddities_are_counted():
    with llm.Server() as s:
        d = run(url(s, 'no-usage'), '-n', 3, '-c', 1, *SMALL, status=0)
        assert d['tokens']['basis'] == {'events': 3}, d['tokens']
        text = bench(url(s, 'no-usage'), '-n', 3, '-c', 1, *SMALL, status=0).stdout
        assert 'a guess' in text and 'without usage' in text, text
        text = bench(url(s, 'no-done'), '-n', 3, '-c', 1, *SMALL).stdout
        assert '3 without [DONE]' in text, text
        text = bench(url(s, 'two-models'), '-n', 3, '-c', 1, *SMALL).stdout
        assert '3 with two models' in text, text


# ---- before any load ----

def test_the_probe_speaks_first():
    with llm.Server() as s:
        for mode, words, status in (('auth', '401', 65), ('no-path', '404', 65), ('html', 'content_type', 65)):
            before = s.requests
            done = bench(url(s, mode), '-n', 50, *SMALL, status=status)
            assert words in done.stderr and 'hint:' in done.stderr and not done.stdout, done.stderr
            assert s.requests == before + 1, s.requests
    done = bench('http://127.0.0.1:1', '-n', 50, *SMALL, status=69)
    assert 'refused' in done.stderr, done.stderr


def test_the_probe_has_its_own_patience():
    """--grace is of a run's end: a first answer that takes longer is no Ctrl-C."""
    with llm.Server() as s:
        d = run(url(s, 'late'), '-r', 20, '-d', '500ms', '--grace', '100ms', '--arrival', 'constant', *SMALL)
        assert d['requests'] == 10 and d['partial'] is False, d


def test_a_proxy_is_not_used():
    with llm.Server() as s:
        proxy = {'http_proxy': 'http://127.0.0.1:1', 'no_proxy': '', 'NO_PROXY': ''}
        done = bench(url(s, 'good'), '-n', 2, '-c', 1, *SMALL, status=0, env=proxy)
        assert 'http_proxy is set, and a load does not use it' in done.stderr, done.stderr
        done = bench(url(s, 'good'), '-n', 2, '-c', 1, *SMALL, status=0, env=dict(proxy, no_proxy='127.0.0.1'))
        assert 'proxy' not in done.stderr, done.stderr


def test_a_web_page_is_named():
    with llm.Server() as s:
        done = bench(url(s, 'html'), '-n', 5, '--no-scrape', '-q', status=65)
        assert '/v1/models answers with a web page titled "Welcome to nginx!"' in done.stderr and 'hint:' in done.stderr, done.stderr
        assert s.requests == 0, s.requests


def catches_interrupts(process):
    with open('/proc/%d/status' % process.pid) as status:
        caught = [line for line in status if line.startswith('SigCgt:')]
    return int(caught[0].split()[1], 16) >> (signal.SIGINT - 1) & 1


def test_ctrl_c_while_the_server_is_waited_for():
    process = subprocess.Popen([PROGRAM, 'bench', 'http://127.0.0.1:1', '--ready-check-timeout-sec', '600', '-n', '3', *SMALL], stderr=subprocess.PIPE,
                               text=True)
    assert simlib.wait_for(lambda: catches_interrupts(process), 60)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and 'interrupted' in err, (process.returncode, err)


def test_strict_servers_are_asked_for_less():
    with llm.Server() as s:
        d = run(url(s, 'strict'), '-n', 3, '-c', 1, *SMALL, status=0)
        assert d['complete'] == 3 and d['tokens']['basis'] == {'usage': 3}, d['tokens']
        assert b'include_usage' in s.bodies[-1] and b'continuous' not in s.bodies[-1]


def test_bad_input_sends_nothing():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        wrong = os.path.join(folder, 'wrong.jsonl')
        with open(wrong, 'w') as file:
            file.write('{"prompt": "1+1?", "check": {"exact": "2"}}\n{"prompt": "x", "check": {"exakt": "2"}}\n')
        for options, status, words in (
                (['-r', '-1'], 64, '--request-rate'), (['-r', 'fast'], 64, '--request-rate'), (['-g', 'ttft:soon'], 64, 'ttft'),
                (['--warmup', '9s', '-d', '5s'], 64, '--warmup'), (['--cooldown', '1s'], 64, '--duration'),
                (['--workload', os.path.join(folder, 'none')], 65, 'none'), (['--eval', wrong], 65, ':2'),
                (['--extra-body', '[1]'], None, 'object'), (['--metric-percentiles', '101'], 64, '101'),
                (['--thresholds', 'x'], 64, '--sweep'), (['--sweep'], 64, 'limits'),
                (['--sweep', '-g', 'ttft:1'], 64, '--duration'), (['--burstiness', '2'], 64, '--request-rate'),
                (['--ramp-up-strategy', 'linear'], 64, '--ramp-up-start-rps'), (['--threads', '40000'], 64, 'at most 1024'),
                (['-c', '4294967298'], 64, 'at most 1000000'), (['--retries', '4294967298'], 64, 'at most 1000'),
                (['--ready-check-timeout-sec', '99999999999'], 64, 'at most'), (['--port', '99999'], 64, 'at most 65535'),
                (['--endpoint', '/v1/chat completions'], 64, '--endpoint'), (['--header', 'X Y=1'], 64, '--header'),
                (['--random-input-len', '99999999999'], 64, '--random-input-len'), (['--metrics-url', 'x:1'], 64, '--no-scrape'),
                (['--save-result', '--result-dir', '/dev/null/x'], 65, '/dev/null'), (['--records', '/dev/null/x'], 65, '/dev/null'),
                (['--request-id-prefix', 'a\r\nX-Other: b'], 64, '--request-id-prefix')):
            done = bench(url(s, 'good'), *SMALL, *options, status=status)
            assert done.returncode in (64, 65) and words in done.stderr, (options, done.stderr)
        assert s.requests == 0, s.requests


def test_too_few_files_for_the_threads():
    with llm.Server() as s:
        limited = 'ulimit -n 14; exec "$@"'
        done = subprocess.run(['sh', '-c', limited, 'sh', PROGRAM, 'bench', url(s, 'good'), '-n', '20', '-c', '8', '--threads', '8', '--no-probe', *SMALL],
                              capture_output=True, text=True, timeout=240)
        assert done.returncode == 70 and 'too many open files' in done.stderr and 'ulimit' in done.stderr, (done.returncode, done.stderr)
        assert s.requests == 0, s.requests


# ---- what is sent, and when ----

def test_requests():
    with llm.Server() as s:
        run(url(s, 'good'), '-n', 5, '-c', 1, '--no-probe', '--ignore-eos', '--extra-body', '{"top_k": 5}', '-H', 'X-Team=a', '--seed', 3, '--salt', 7,
            *SMALL, status=0, env={'OPENAI_API_KEY': 'sesame'})
        bodies, first = list(s.bodies), json.loads(s.bodies[0])
        assert first['model'] == 'm' and first['top_k'] == 5 and first['ignore_eos'] is True and first['stream'] is True, first
        assert first['stream_options'] == {'include_usage': True, 'continuous_usage_stats': True}
        assert first['max_completion_tokens'] == 8, first
        assert len(set(s.ids)) == 5 and set(s.tokens) == {'Bearer sesame'}, (s.ids, s.tokens)
        s.bodies.clear()
        again = ['-n', 5, '-c', 1, '--no-probe', '--ignore-eos', '--extra-body', '{"top_k": 5}', '--seed', 3, *SMALL]
        run(url(s, 'good'), *again, '--salt', 7, status=0)
        assert s.bodies == bodies, 'the same seed and salt send other bytes'
        s.bodies.clear()
        run(url(s, 'good'), *again, status=0)
        assert s.bodies != bodies, 'a new run finds its prompts in the prefix cache'


def test_a_random_prefix_is_whole():
    """--random-range-ratio is of the prompts' own part."""
    with llm.Server() as s:
        run(url(s, 'good'), '-n', 30, '-c', 1, '--no-probe', '--random-prefix-len', 100, '--random-range-ratio', '0.9', *SMALL, status=0)
        prompts = [json.loads(body)['messages'][0]['content'] for body in s.bodies]
        words = [len(prompt.split()) for prompt in prompts]
        assert len({prompt[:399] for prompt in prompts}) == 1, 'the beginning is not the same'
        assert min(words) > 100 and max(words) <= 100 + 16 and len(set(words)) > 3, words


def test_an_endpoint_without_its_slash():
    with llm.Server() as s:
        d = run('http://127.0.0.1:%d' % s.port, '--endpoint', 'good/v1', '-n', 2, '-c', 1, *SMALL, status=0)
        assert d['complete'] == 2 and d['endpoint'] == '/good/v1', d


def test_figures_for_people():
    """No powers of ten, and no more memory for the worst than there are requests."""
    with llm.Server() as s:
        text = bench(url(s, 'quick'), '-n', 400, '-c', 8, '--worst', 10 ** 15, '-g', 'e2el:60000', *SMALL, status=0).stdout
        assert text.count(' tokens') > 400 and 'e+0' not in text, [line for line in text.splitlines() if 'e+0' in line]
        assert re.search(r'\n  since due', text) is None and re.search(r'\nE2E  .*\n +[0-9.]+\.\.', text), text


def test_retries_keep_to_the_first_time():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        records = os.path.join(folder, 'r.jsonl')
        d = run(url(s, 'busy-once'), '-n', 4, '-c', 1, '--retries', 2, '--no-probe', '--records', records, *SMALL, status=0)
        assert d['complete'] == 4 and d['retried'] == 4 and s.requests == 8, (d, s.requests)
        assert len(set(s.ids)) == 8, s.ids
        with open(records) as file:
            lines = [json.loads(line) for line in file][1:-1]
        assert all(line['attempts'] == 2 and line['submitted'] < line['resubmitted'] <= line['first_output'] for line in lines), lines
        ttft, last = d['figures']['ttft'], d['figures']['ttft_last_attempt']
        assert ttft['n'] == last['n'] == 4 and last['mean'] < ttft['mean'], (ttft, last)
        assert d['figures']['e2e_last_attempt']['mean'] < d['figures']['e2e']['mean']
        report = subprocess.run([PROGRAM, 'bench', 'report', records, '--json'], capture_output=True, text=True, timeout=60)
        assert json.loads(report.stdout)['figures']['ttft_last_attempt'] == last, report.stdout
        report = subprocess.run([PROGRAM, 'bench', 'report', records], capture_output=True, text=True, timeout=60).stdout
        assert 'not judged: 4 of 4 completed; --goodput' in report and ' good (' not in report, report
        text = bench(url(s, 'busy-once'), '-n', 4, '-c', 1, '--retries', 2, '--no-probe', *SMALL, status=0).stdout
        assert text.count('  last try') == 2, text
        assert 'ttft_last_attempt' not in run(url(s, 'good'), '-n', 4, '-c', 1, *SMALL, status=0)['figures']
        hour = run(url(s, 'busy-for-an-hour'), '-n', 2, '-c', 1, '--retries', 5, '--no-probe', *SMALL, status=2)
        assert hour['failed'] == 2 and hour['attempts'] == 2, hour
        done = run(url(s, 'busy'), '-n', 2, '-c', 1, '--retries', 1, '--no-probe', *SMALL, status=2)
        assert done['failed'] == 2 and done['attempts'] == 4, done


def test_coordinated_omission():
    """A server that serves one at a time stands still for a second. In an open loop all requests that were due meanwhile waited, and it shows."""
    with llm.Server() as s:
        d = run(url(s, 'pause'), '-r', 40, '-d', '2500ms', '--no-probe', '--arrival', 'constant', *SMALL)
        assert s.paused
        due = d['figures']['e2e_due']
        assert due['n'] == 100 and d['complete'] == 100, d
        assert due['p99']['value'] > 900, due
        assert due['p90']['value'] > 400, due  # 40 of 100 waited, 500 ms on average
        # The same with one connection: the client waits too, and what counts from the due time still tells.
        s.paused, s.begun = False, time.monotonic()
        d = run(url(s, 'pause'), '-r', 40, '-d', '2500ms', '-c', 1, '--no-probe', '--arrival', 'constant', '--threads', 1, *SMALL)
        assert d['figures']['e2e']['p90']['value'] < d['figures']['e2e_due']['p90']['value'] / 2, d['figures']
        assert d['figures']['e2e_due']['p90']['value'] > 400, d['figures']['e2e_due']


def test_arrivals_keep_their_times():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        records = os.path.join(folder, 'r.jsonl')
        d = run(url(s, 'good'), '-r', 100, '-n', 100, '--arrival', 'constant', '--no-probe', '--num-warmups', 10, '--records', records, *SMALL)
        assert d['judged'] == 90 and d['left_out'] == 10, d
        with open(records) as file:
            lines = sorted((json.loads(line) for line in list(file)[1:-1]), key=lambda line: line['id'])
        assert [round(line['due'], 3) for line in lines] == [10.0 * i for i in range(100)]
        assert all(line['submitted'] >= line['due'] for line in lines)


SESSIONS = """goodput_workload: 1
arrivals: {process: constant, rate: 20}
sessions: {turns: 3, pause: 0.2}
prefix: {tokens: 12}
mix:
- {name: talk, prompt: 20, output: 6}
"""


def test_sessions_and_shared_beginnings():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        path, records = os.path.join(folder, 'w.yaml'), os.path.join(folder, 'r.jsonl')
        with open(path, 'w') as file:
            file.write(SESSIONS)
        d = run(url(s, 'good'), '--workload', path, '-n', 4, '--no-probe', '--records', records, '--model', 'm', '--no-scrape', '-q', status=0)
        assert d['complete'] == 12, d
        with open(records) as file:
            lines = [json.loads(line) for line in list(file)[1:-1]]
        assert sorted((line['session'], line.get('turn', 0)) for line in lines) == [(i, turn) for i in range(4) for turn in range(3)]
        assert all(line['group'] == 'talk' for line in lines)
        by = {(line['session'], line.get('turn', 0)): line for line in lines}
        for session in range(4):
            for turn in (1, 2):  # not before the pause is over, since the end of the turn before
                assert by[session, turn]['submitted'] >= by[session, turn - 1]['completed'] + 199, (by[session, turn - 1], by[session, turn])
        bodies = sorted((json.loads(body)['messages'] for body in s.bodies), key=len)
        assert [len(messages) for messages in bodies] == [1] * 4 + [3] * 4 + [5] * 4
        firsts = {messages[0]['content'] for messages in bodies}
        assert len(firsts) == 4 and len({first[:40] for first in firsts}) == 1, firsts
        assert all([m['role'] for m in messages] == ['user', 'assistant', 'user', 'assistant', 'user'][:len(messages)] for messages in bodies)


TRACE = """goodput_workload: 1
arrivals: {process: trace, speed: 2}
rows:
  data: |
    0 16 4
    400000 16 4
    1000000 16 4
    1000000 16 4
"""


def test_trace_times():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        path, records = os.path.join(folder, 'w.yaml'), os.path.join(folder, 'r.jsonl')
        with open(path, 'w') as file:
            file.write(TRACE)
        d = run(url(s, 'good'), '--workload', path, '--no-probe', '--records', records, '--model', 'm', '--no-scrape', '-q', status=0)
        assert d['complete'] == 4, d
        with open(records) as file:
            assert sorted(json.loads(line)['due'] for line in list(file)[1:-1]) == [0, 200, 500, 500]


# ---- the end ----

def test_ctrl_c_keeps_what_was_measured():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        records = os.path.join(folder, 'r.jsonl')
        command = [PROGRAM, 'bench', url(s, 'slow'), '-n', '6', '-c', '6', '--no-probe', '--json', '--records', records, *SMALL]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert simlib.wait_for(lambda: s.requests == 6, 60)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)  # as timeout(1) does: one for the process, one for its group
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, (process.returncode, err)
        d = json.loads(out)
        assert d['partial'] is True and d['cancelled'] == 6 and d['failed'] == 0, d
        with open(records) as file:
            lines = [json.loads(line) for line in file]
        assert lines[-1]['partial'] is True, lines[-1]
        assert len(lines) == 8 and all(line['outcome'] == 'cancelled' for line in lines[1:-1]), lines
        assert any(line.get('deliveries') for line in lines[1:-1])


def test_ctrl_c_before_the_next_start_is_due():
    """An open loop always holds its next start; it must not be waited for."""
    with llm.Server() as s:
        process = subprocess.Popen([PROGRAM, 'bench', url(s, 'slow'), '-r', '1', '-d', '100h', '--arrival', 'constant', '--no-probe', '--json', *SMALL],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert simlib.wait_for(lambda: s.requests >= 1, 60)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 130, (process.returncode, err)
        assert json.loads(out)['partial'] is True, out


def test_grace_cancels_and_does_not_judge():
    with llm.Server() as s:
        d = run(url(s, 'slow'), '-r', 5, '-d', '1s', '--grace', '1s', '--no-probe', '--arrival', 'constant', *SMALL)
        assert d['cancelled'] == 5 and d['judged'] == 0, d
        assert d['partial'] is False
        assert d['duration_s'] > 1.9, d['duration_s']  # from --duration on, not from the last start
        d = run(url(s, 'slow'), '-c', 2, '-d', '1s', '--grace', '1s', '--no-probe', *SMALL)  # no place is ever free
        assert 1 <= d['cancelled'] == d['requests'] <= 2 and 1.9 < d['duration_s'] < 50, d  # a thread may begin too late


def test_the_window_is_no_longer_than_the_load():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        d = run(url(s, 'good'), '-n', 20, '-r', 20, '-d', '10m', '--no-probe', '--arrival', 'constant', *SMALL, status=0)
        assert 0.9 < d['window_s'] < 60, d['window_s']  # the plan was over after a second
        # Two starts are left when the time is over, and four threads ask for them.
        d = run(url(s, 'good'), '-n', 22, '-r', 20, '-d', '1s', '--threads', 4, '--no-probe', '--arrival', 'constant', *SMALL, status=0)
        assert d['window_s'] == 1 and d['requests'] == 20, d
        process = subprocess.Popen([PROGRAM, 'bench', url(s, 'slow'), '-r', '5', '-d', '1s', '--no-probe', '--arrival', 'constant', '--json', *SMALL],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert simlib.wait_for(lambda: s.requests == 45, 60)
            time.sleep(1.5)  # into the grace
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 130 and json.loads(out)['window_s'] == 1, (out, err)
        path = os.path.join(folder, 'set.jsonl')
        with open(path, 'w') as file:
            file.write('{"prompt": "2+2?", "check": {"exact": "4 ok"}}\n' * 5)
        d = run(url(s, 'good'), '-n', 30, '-r', 10, '--num-warmups', 29, '--eval', path, '--no-probe', '--arrival', 'constant', *SMALL, status=0)
        assert d['window_s'] < 2 and d['judged'] == 6, d


def test_a_full_disk_does_not_take_the_result():
    with llm.Server() as s:
        done = bench(url(s, 'good'), '-n', 3, '-c', 1, '--no-probe', '--records', '/dev/full', *SMALL, status=70)
        assert '3 judged: 3 completed' in done.stdout and '/dev/full: cannot write: No space left' in done.stderr, (done.stdout, done.stderr)


def test_nothing_judged():
    with llm.Server() as s:
        for options in (['--warmup', '100s'], ['--num-warmups', '9']):
            done = bench(url(s, 'good'), '-n', 3, '-c', 1, '--no-probe', '-g', 'ttft:100', *options, *SMALL, status=3)
            assert 'unknown: no request was judged by ttft 100 ms' in done.stdout and 'nan' not in done.stdout, done.stdout


def test_evaluation():
    with llm.Server() as s, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'set.jsonl')
        items = [{'exact': '4 ok'}, {'exact': '5'}, {'contains': ['OK', '4']}, {'regex': '^[45] '}, {'choice': 'A'}]
        with open(path, 'w') as file:
            for i, check in enumerate(items):
                file.write(json.dumps({'id': 'q%d' % i, 'prompt': 'question %d "quoted"' % i, 'check': check}) + '\n')
        d = run(url(s, 'good'), '-n', 20, '-c', 2, '--no-probe', '--eval', path, *SMALL, status=0)
        assert d['evaluation']['judged'] == 5 and d['evaluation']['passed'] == 3, d['evaluation']
        assert d['judged'] == 25
        asked = [json.loads(body) for body in s.bodies if b'question' in body]
        assert len(asked) == 5 and all(body['temperature'] == 0 for body in asked)


# ---- with goodput sim ----

def test_sim():
    with simlib.Sim() as sim, tempfile.TemporaryDirectory() as folder:
        there = 'http://127.0.0.1:%d' % sim.port
        files = {name: os.path.join(folder, name) for name in ('r.jsonl', 'r.html', 'r.xml', 'bodies')}
        before = sim.value('vllm:generation_tokens_total') or 0
        d = run(there, '-n', 40, '-c', 8, '-g', 'ttft:60000', 'e2el:60000', '--random-input-len', 100, '--random-output-len', 20, '--ignore-eos',
                '--records', files['r.jsonl'], '--html', files['r.html'], '--junit', files['r.xml'], '--prompts', files['bodies'], '--save-result',
                '--result-dir', folder, '--result-filename', 'vllm.json', '--metadata', 'gpu=h100')
        assert d['complete'] == 40 and d['good'] == 40 and d['tokens']['output'] == 800, d
        # The probe has 8 tokens.
        assert sim.value('vllm:generation_tokens_total') - before == 808
        assert d['server']['ttft']['server_mean_ms'] > 0 and d['server']['tpot']['server_mean_ms'] > 0, d['server']
        assert d['tokens']['basis'] == {'usage': 40}
        summary = json.load(open(os.path.join(folder, 'vllm.json')))
        assert summary['completed'] == 40 and summary['total_output_tokens'] == 800 and summary['gpu'] == 'h100', summary
        assert '<svg' in open(files['r.html']).read() and '<testsuite' in open(files['r.xml']).read()
        assert len(open(files['bodies']).read().splitlines()) == 3
        report = subprocess.run([PROGRAM, 'bench', 'report', files['r.jsonl'], '--goodput', 'ttft:60000', '--json'], capture_output=True, text=True, timeout=60)
        assert json.loads(report.stdout)['good'] == 40, report.stdout
        done = bench(there, '--model', 'nope', '-n', 5, status=65)
        assert 'does not exist' in done.stderr, done.stderr


def test_sweep():
    """An engine whose step takes 20 ms for each running request: one request at a time takes 80 ms for 4 tokens, so few fit into 300 ms."""
    with simlib.Sim('--step-time', '1,20') as sim, tempfile.TemporaryDirectory() as folder:
        there = 'http://127.0.0.1:%d' % sim.port
        lines = os.path.join(folder, 'lines.yaml')
        d = run(there, '--sweep', '-d', '600ms', '--sweep-rates', '5..20', '-g', 'e2el:600', '--random-input-len', 16, '--random-output-len', 4,
                '--ignore-eos', '--no-scrape', '-q', '--arrival', 'constant', '--thresholds', lines, '--recovery', '100s', '--attainment', '0.5')
        if 'holds' in d and 'does_not_hold' in d:
            assert d['holds'] < d['does_not_hold'] <= 64, d
        text = open(lines).read()
        assert 'thresholds:' in text and 'arrivals_per_s) * 100' in text and 'expires:' in text, text
        checked = subprocess.run([PROGRAM, 'check', '127.0.0.1:%d' % sim.port, '--catalog', lines, '-w', '1s', '--json'], capture_output=True,
                                 text=True, timeout=120)
        assert json.loads(checked.stdout), checked.stderr


if __name__ == '__main__':
    simlib.main(globals())
