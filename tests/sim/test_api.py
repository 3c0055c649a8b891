#!/usr/bin/env python3
"""The OpenAI API of `goodput sim`: answers, streams, errors, bad input, clients that leave."""
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time

from simlib import PROGRAM, Sim, main, wait_for

FAST = ['--step-time', '2']
CHAT = {'messages': [{'role': 'user', 'content': 'hello there'}]}


def test_whole_answers():
    with Sim(*FAST, '--served-model-name', 'one', '--served-model-name', 'two') as sim:
        status, answer = sim.post('/v1/chat/completions', dict(CHAT, model='two', max_tokens=12, ignore_eos=True))
        assert status == 200 and answer['object'] == 'chat.completion' and answer['model'] == 'two', answer
        assert answer['choices'][0]['finish_reason'] == 'length'
        assert len(answer['choices'][0]['message']['content'].replace('.', ' .').split()) == 12
        # 11 bytes of text are 3 tokens, 4 for the message, 3 for the opening
        assert answer['usage'] == {'prompt_tokens': 10, 'total_tokens': 22, 'completion_tokens': 12}, answer
        status, answer = sim.post('/v1/completions', {'prompt': ['abcd', [1, 2, 3]], 'n': 2, 'max_tokens': 3, 'ignore_eos': True})
        assert [c['index'] for c in answer['choices']] == [0, 1, 2, 3]
        assert answer['usage'] == {'prompt_tokens': 4, 'total_tokens': 16, 'completion_tokens': 12}, answer
        assert [m['id'] for m in json.loads(sim.ask('GET', '/v1/models')[2])['data']] == ['one', 'two']
        for path in ('/health', '/ping'):
            assert sim.ask('GET', path)[0] == 200
        assert json.loads(sim.ask('GET', '/version')[2])['version'].startswith('0.2')
        assert sim.post('/tokenize', {'prompt': 'x' * 400})[1]['count'] == 100


def words(texts):
    """One for each token; a program that is late sends several in one event."""
    return len(''.join(texts).replace('.', ' .').replace(',', ' ,').split())


def test_streams():
    with Sim('--step-time', '30') as sim:  # slow, since a program that is late sends several tokens in one event
        events = sim.stream('/v1/chat/completions', dict(CHAT, max_tokens=5, ignore_eos=True, stream_options={'include_usage': True}))
        assert events[-1] == '[DONE]'
        assert events[0]['choices'][0]['delta'] == {'role': 'assistant', 'content': ''}
        assert events[-2]['choices'] == [] and events[-2]['usage']['completion_tokens'] == 5
        texts = [e['choices'][0] for e in events[1:-2]]
        assert words(t['delta'].get('content', '') for t in texts) == 5 and [t['finish_reason'] for t in texts][-1] == 'length', texts
        assert all(t['finish_reason'] is None for t in texts[:-1]), texts
        assert len({e['id'] for e in events[:-1]}) == 1
        whole = sim.post('/v1/completions', {'prompt': 'same', 'temperature': 0, 'max_tokens': 40})[1]['choices'][0]
        parts = sim.stream('/v1/completions', {'prompt': 'same', 'temperature': 0, 'max_tokens': 40})
        assert ''.join(e['choices'][0]['text'] for e in parts[:-1]) == whole['text']
        assert parts[-2]['choices'][0]['finish_reason'] == whole['finish_reason']
        usage = [e['usage'] for e in sim.stream('/v1/completions', {'prompt': 'x', 'max_tokens': 4, 'ignore_eos': True, 'stream_options': {
            'include_usage': True, 'continuous_usage_stats': True}})[:-1]]
        told = [u['completion_tokens'] for u in usage]
        assert told == sorted(told) and told[-2:] == [4, 4] and len(set(told)) == len(told) - 1, usage
        several = sim.stream('/v1/completions', {'prompt': 'x', 'n': 3, 'max_tokens': 4, 'ignore_eos': True})
        for index in range(3):
            own = [e['choices'][0] for e in several[:-1] if e['choices'][0]['index'] == index]
            assert words(e['text'] for e in own) == 4 and own[-1]['finish_reason'] == 'length', own


def test_stop_strings():
    with Sim(*FAST) as sim:
        ask = {'prompt': 'a prompt', 'temperature': 0, 'max_tokens': 200, 'ignore_eos': True}
        text = sim.post('/v1/completions', ask)[1]['choices'][0]['text']
        word = text.split()[10]
        for extra, expected in (({}, text[:text.index(word)]), ({'include_stop_str_in_output': True}, text[:text.index(word) + len(word)])):
            status, answer = sim.post('/v1/completions', dict(ask, stop=[word, 'never said'], **extra))
            assert answer['choices'][0]['text'] == expected and answer['choices'][0]['finish_reason'] == 'stop', (answer, expected)
        streamed = sim.stream('/v1/completions', dict(ask, stop=word))
        assert ''.join(e['choices'][0]['text'] for e in streamed[:-1]) == text[:text.index(word)]


def test_bad_requests():
    wrong = [
        ('{"prompt":', 400, 'JSON decode error'),
        ('[]', 400, 'valid dictionary'),
        ({}, 400, 'Field required'),
        ({'prompt': ''}, 400, 'cannot be empty'),
        ({'prompt': 'x', 'model': 'gpt-9'}, 404, 'does not exist'),
        ({'prompt': 'x', 'max_tokens': 0}, 400, 'max_tokens must be at least 1, got 0.'),
        ({'prompt': 'x', 'max_tokens': -5}, 400, 'at least 1, got -5'),
        ({'prompt': 'x', 'max_tokens': 1e30}, 400, 'valid integer'),
        ({'prompt': 'x', 'max_tokens': 'many'}, 400, 'valid integer'),
        ({'prompt': 'x', 'max_tokens': 99999}, 400, "maximum context length is 4096 tokens. However, you requested 100000 tokens"),
        ({'prompt': 'x' * 20000}, 400, 'your request has 5000 input tokens'),
        ({'prompt': 'x', 'min_tokens': 5, 'max_tokens': 2}, 400, 'less than or equal to max_tokens=2'),
        ({'prompt': 'x', 'temperature': -1}, 400, 'non-negative'),
        ({'prompt': 'x', 'top_p': 0}, 400, 'top_p'),
        ({'prompt': 'x', 'n': 0}, 400, 'at least 1'),
        ({'prompt': 'x', 'stop': ['']}, 400, 'empty string'),
        ({'prompt': 'x', 'stream_options': {'include_usage': True}}, 400, 'Stream options'),
        ({'prompt': 'x', 'logprobs': 3}, 400, 'log probabilities'),
        ({'prompt': [1, -4]}, 400, 'out of vocabulary'),
        ({'prompt': {'a': 1}}, 400, 'Input should be'),
        ({'prompt': 'x', 'kv_transfer_params': {'do_remote_prefill': True}}, 400, '--kv-transfer-config'),
    ]
    with Sim(*FAST, '--max-model-len', '4096') as sim:
        for body, status, message in wrong:
            got, _, data = sim.ask('POST', '/v1/completions', body if isinstance(body, str) else json.dumps(body), {'Content-Type': 'application/json'})
            error = json.loads(data)['error']
            assert got == status == error['code'] and message in error['message'], (body, got, error)
            assert set(error) == {'message', 'type', 'param', 'code'}
        for body, message in (({}, 'Field required'), ({'messages': []}, 'not be empty'), ({'messages': [{'content': 'x'}]}, 'needs a role'),
                              (dict(CHAT, tools=[{'type': 'function'}]), 'tool calls'),
                              ({'messages': [{'role': 'user', 'content': [{'type': 'image_url', 'image_url': {}}]}]}, 'image_url')):
            status, answer = sim.post('/v1/chat/completions', body)
            assert status == 400 and message in answer['error']['message'], answer
        assert sim.ask('POST', '/v1/completions', '{}', {'Content-Type': 'text/plain'})[0] == 400
        assert sim.ask('GET', '/v1/completions')[0] == 405 and sim.ask('GET', '/nothing')[0] == 404
        assert sim.post('/v1/completions', {'prompt': 'x', 'max_tokens': 2})[0] == 200
    with Sim('--mimic', '0.8') as sim:
        assert sim.post('/v1/completions', {})[1]['object'] == 'error'


def test_token():
    with Sim('--api-key', 's3cret') as sim:
        for given in (None, 'Bearer wrong!', 'Bearer s3cre', 'Bearer s3crets', 'Basic s3cret', 's3cret'):
            status, _, data = sim.ask('GET', '/v1/models', headers={'Authorization': given} if given else {})
            assert status == 401 and json.loads(data) == {'error': 'Unauthorized'}, given
        assert sim.ask('GET', '/v1/models', headers={'Authorization': 'Bearer s3cret'})[0] == 200
        assert sim.ask('GET', '/metrics')[0] == 200 and sim.ask('GET', '/health')[0] == 200


def raw(port, data, seconds=3):
    with socket.create_connection(('127.0.0.1', port), timeout=seconds) as s:
        s.sendall(data)
        got = b''
        try:
            while True:
                part = s.recv(65536)
                if not part:
                    return got
                got += part
        except (socket.timeout, ConnectionResetError):
            return got


def test_http():
    """Framing: keep-alive, early requests, chunked bodies, refusals."""
    with Sim(*FAST) as sim:
        body = b'{"prompt":"x","max_tokens":2}'
        head = b'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
        chunked = head + b'Transfer-Encoding: chunked\r\n\r\n5\r\n' + body[:5] + b'\r\n%x\r\n' % (len(body) - 5) + body[5:] + b'\r\n0\r\n\r\n'
        plain = head + b'Content-Length: %d\r\n\r\n' % len(body) + body
        got = raw(sim.port, chunked + plain + b'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
        assert got.count(b'HTTP/1.1 200 OK') == 3 and got.count(b'text_completion') == 2, got
        waiting = head + b'Expect: 100-continue\r\nContent-Length: %d\r\n\r\n' % len(body)
        assert raw(sim.port, waiting, 0.5).startswith(b'HTTP/1.1 100 Continue\r\n\r\n')
        for request, status in (
                (b'GET / HTTP/1.1\r\n\r\n', 400), (b'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400),
                (b'GET /health HTTP/2.0\r\nHost: a\r\n\r\n', 505), (b'NONSENSE\r\n\r\n', 400),
                (head + b'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd', 400),
                (head + b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400),
                (head + b'Content-Length: 99999999999\r\n\r\n', 413), (b'GET /' + b'x' * 70000 + b' HTTP/1.1\r\nHost: a\r\n\r\n', 414),
                (b'GET / HTTP/1.1\r\nHost: a\r\nX: ' + b'y' * 70000 + b'\r\n\r\n', 431)):
            got = raw(sim.port, request)
            assert got.startswith(b'HTTP/1.1 %d ' % status), (request[:80], got[:200])
        old = raw(sim.port, b'GET /version HTTP/1.0\r\n\r\n')
        assert b'Connection: close' in old and b'"version"' in old
        streamed = raw(sim.port, head.replace(b'1.1', b'1.0') + b'Content-Length: 43\r\n\r\n{"prompt":"x","max_tokens":2,"stream":true}')
        assert b'chunked' not in streamed and streamed.endswith(b'data: [DONE]\n\n'), streamed


def test_clients_that_leave():
    with Sim('--step-time', '20') as sim:
        connections = []
        for _ in range(20):
            c = http.client.HTTPConnection('127.0.0.1', sim.port)
            c.request('POST', '/v1/completions', json.dumps({'prompt': 'x' * 400, 'max_tokens': 5000, 'ignore_eos': True, 'stream': True}),
                      {'Content-Type': 'application/json'})
            connections.append(c)
        assert wait_for(lambda: sim.value('vllm:num_requests_running') == 20)
        for c in connections:
            c.sock.close()
        assert wait_for(lambda: sim.value('vllm:num_requests_running') == 0)
        assert sim.value('vllm:kv_cache_usage_perc') == 0
        assert sim.value('vllm:request_success_total', finished_reason='abort') == 0, 'the Python frontend does not count them'


def test_slow_client():
    """A client that does not read gets merged events and holds nothing up."""
    with Sim('--step-time', '1', '--max-model-len', '200000', '--num-gpu-blocks-override', '40000') as sim:
        body = json.dumps({'prompt': 'x', 'max_tokens': 12000, 'ignore_eos': True, 'stream': True,
                           'stream_options': {'include_usage': True}}).encode()
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(('127.0.0.1', sim.port))
            s.sendall(b'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
            assert wait_for(lambda: sim.value('vllm:request_success_total') == 1, 60)
            got = b''
            while True:
                part = s.recv(1 << 20)
                if not part:
                    break
                got += part
        assert got.endswith(b'data: [DONE]\n\n\r\n0\r\n\r\n') and b'"completion_tokens":12000' in got, got[-200:]
        assert got.count(b'data: ') < 12000, got.count(b'data: ')


def test_bad_options():
    for options, status, message in (
            (['--model', 'llama-9000'], 64, 'llama-9000'), (['--gpu', 'H1000'], 64, 'H1000'), (['--mimic', '0.5'], 64, 'known: 0.6'),
            (['--model', 'meta-llama/Llama-3.1-70B-Instruct'], None, 'fit'), (['--fault', 'stal'], 64, 'did you mean stall?'),
            (['--fault', 'slow:factor=none'], 64, 'not a number from 1'), (['--fault', 'stall@soon'], 64, 'is no time'),
            (['--fault', 'acceptance'], 64, '--speculative-config'), (['--self-traffic', 'rate=-1'], 64, 'rate=-1'),
            (['--self-traffic', 'prompt=5'], 64, 'give a rate'), (['--speculative-config', '{"method":'], 64, 'speculative-config'),
            (['--speculative-config', '{"method":"eagle","num_speculative_tokens":3,"magic":1}'], 64, '"magic" is not modelled'),
            (['--kv-transfer-config', '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'], 64, 'kv_producer'),
            (['--max-num-batched-tokens', '10', '--max-num-seqs', '20'], 64, 'max-num-seqs'), (['--step-time', 'x'], 64, 'milliseconds'),
            (['--host', '300.1.2.3'], 64, 'cannot listen'), (['--gpu-memory-utilization', '3'], 64, '0.01 to 1')):
        done = subprocess.run([PROGRAM, 'sim', '--port', '0', *options], capture_output=True, text=True, timeout=30)
        assert (done.returncode == status if status else done.returncode in (64, 65)) and message in done.stderr, (options, done.returncode, done.stderr)


def test_traces():
    rows = ['TIMESTAMP,ContextTokens,GeneratedTokens', '2023-11-16 18:17:03.9799600,480,10', '2023-11-16 18:17:04.0319600,318,8']
    lines = ['{"timestamp": 0, "input_length": 1040, "output_length": 4, "hash_ids": [0, 1, 2]}',
             '{"timestamp": 40, "input_length": 1040, "output_length": 4, "hash_ids": [0, 1, 2]}']
    bad = [(rows[:2] + ['2023-11-16 18:17:03.1,5,5'], ':3:', 'earlier'), (rows[:2] + ['2023-11-16 18:17:04,x,5'], ':3:21:', 'ContextTokens'),
           (rows + ['1,2'], ':4:', 'three fields'), ([lines[0], '{"timestamp": 1}'], ':2:', 'input_length'), ([lines[0], '{"timestamp": '], ':2:', ''),
           (['TIMESTAMP,ContextTokens,GeneratedTokens'], '', 'no requests')]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'trace')
        for trace, place, message in bad:
            with open(path, 'w', encoding='utf-8') as file:
                file.write('\n'.join(trace) + '\n')
            done = subprocess.run([PROGRAM, 'sim', '--port', '0', '--self-traffic', path], capture_output=True, text=True, timeout=30)
            assert done.returncode == 65 and place in done.stderr and message in done.stderr, (trace, done.stderr)
        for trace, prompts, hits in ((rows, 798, 0), (lines, 2080, 1)):
            with open(path, 'w', encoding='utf-8') as file:
                file.write('\n'.join(trace) + '\n')
            with Sim('--self-traffic', 'trace=%s,speed=2' % path) as sim:
                assert wait_for(lambda: sim.value('vllm:request_success_total') == 2)
                assert sim.value('vllm:prompt_tokens_total') == prompts
                assert (sim.value('vllm:prefix_cache_hits_total') > 0) == bool(hits)


def test_same_seed():
    """The same prompts at temperature 0 get the same answers from every server; other seeds, other answers."""
    answers = []
    for seed in ('1', '1', '2'):
        with Sim(*FAST, '--seed', seed) as sim:
            answers.append(sim.post('/v1/completions', {'prompt': 'x', 'temperature': 0, 'max_tokens': 50})[1]['choices'][0]['text'])
    assert answers[0] == answers[1] != answers[2]


def test_two_engines_and_replicas():
    with Sim('--data-parallel-size', '2', '--step-time', '5', '--replicas', '2') as sim:
        for _ in range(4):
            sim.post('/v1/completions', {'prompt': 'x', 'max_tokens': 3, 'ignore_eos': True})
        assert sim.value('vllm:generation_tokens_total', engine='0') == sim.value('vllm:generation_tokens_total', engine='1') == 6
        assert sim.value('process_start_time_seconds') is None


def test_stop():
    """SIGTERM: new connections are refused, a stream in progress still ends."""
    with Sim('--step-time', '10') as sim:
        connection = http.client.HTTPConnection('127.0.0.1', sim.port)
        connection.request('POST', '/v1/completions', json.dumps({'prompt': 'x', 'max_tokens': 80, 'ignore_eos': True, 'stream': True}),
                           {'Content-Type': 'application/json'})
        answer = connection.getresponse()
        answer.read(10)
        sim.process.terminate()
        time.sleep(0.3)
        try:
            sim.page()
            raise AssertionError('a new request was taken')
        except OSError:
            pass
        assert answer.read().endswith(b'data: [DONE]\n\n')
        sim.process.wait(10)


def test_abuse():
    """Clients that break off at any moment, nonsense, and faults coming and going: no harm done, nothing left over."""
    import random
    import threading
    draw = random.Random(5)
    nixl = ['--kv-transfer-config', '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
    spec = ['--speculative-config', '{"method":"mtp","num_speculative_tokens":2}']
    faults = ['stall@0s+300ms', 'slow', 'preemption-storm', 'kv-leak', 'memory-leak', 'gc-pauses', 'crash:down=0.1', 'http-500', 'slow-streams:ms=30',
              'cut-streams', 'acceptance', 'transfer-failure', 'stale-gauges', 'missing-families:match=kv', 'upgrade:to=0.11,down=0']
    body = json.dumps({'prompt': ['x' * 3000, 'y'], 'n': 2, 'max_tokens': 200, 'stream': True, 'stop': [' and the'],
                       'kv_transfer_params': {'do_remote_prefill': True}}).encode()
    requests = [b'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' % len(body) + body,
                b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' * 3, b'\x00\xff' * 50, b'POST /goodput/fault HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nslow']
    with Sim('--step-time', '3', '--num-gpu-blocks-override', '900', '--max-model-len', '8000', '--self-traffic', 'rate=30,prompt=200,output=40', *nixl,
             *spec) as sim:
        def clients(seed):
            own = random.Random(seed)
            for _ in range(60):
                try:
                    with socket.create_connection(('127.0.0.1', sim.port), timeout=1) as s:
                        data = own.choice(requests)
                        s.sendall(data[:own.randrange(1, len(data) + 1)])
                        if own.random() < 0.7:
                            s.recv(own.randrange(1, 9000))
                        if own.random() < 0.3:
                            time.sleep(own.random() / 5)
                except OSError:
                    time.sleep(0.02)
        threads = [threading.Thread(target=clients, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            for method, text in (('POST', draw.choice(faults)), ('DELETE', '' if draw.random() < 0.5 else None)):
                try:
                    if text is not None:
                        sim.ask(method, '/goodput/fault', text)
                except (OSError, http.client.HTTPException):
                    pass
                time.sleep(0.1)
        assert wait_for(lambda: answers_again(sim)), 'it does not recover'


def answers_again(sim):
    try:
        sim.ask('DELETE', '/goodput/fault')
        return sim.post('/v1/completions', {'prompt': 'x', 'max_tokens': 3})[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_control():
    """Faults while it runs: set, listed, cleared; only for this machine's programs."""
    with Sim('--self-traffic', 'rate=20,prompt=100,output=50') as sim:
        assert wait_for(lambda: sim.value('vllm:generation_tokens_total') > 0)
        sim.fault('stall')
        time.sleep(0.5)
        before = sim.value('vllm:generation_tokens_total')
        time.sleep(1)
        assert sim.value('vllm:generation_tokens_total') == before and sim.value('vllm:num_requests_running') > 0
        assert json.loads(sim.ask('GET', '/goodput/fault')[2])['faults'][0]['fault'] == 'stall'
        assert json.loads(sim.ask('DELETE', '/goodput/fault', 'stall')[2]) == {'faults': []}
        assert wait_for(lambda: sim.value('vllm:generation_tokens_total') > before)
        for text, message in (('stal', 'did you mean stall?'), ('acceptance', '--speculative-config'), ('slow:replica=3', 'replicas are numbered')):
            status, _, data = sim.ask('POST', '/goodput/fault', text)
            assert status == 400 and message in data.decode(), data
        assert sim.ask('POST', '/goodput/fault', 'stall', {'Origin': 'http://evil.example'})[0] == 403
        started = sim.value('process_start_time_seconds')
        sim.fault('crash:down=0.5')
        time.sleep(0.2)
        try:
            sim.page()
            raise AssertionError('it answers while it is down')
        except OSError:
            pass

        def back():
            try:
                return sim.value('process_start_time_seconds') > started
            except OSError:
                return False
        assert wait_for(back), 'it does not come back'


def test_errors_in_streams():
    """A failed transfer: an error event after the head, a 500 before it; HTTP 500 on demand."""
    nixl = ['--kv-transfer-config', '{"kv_connector":"NixlConnector","kv_role":"kv_consumer","kv_load_failure_policy":"fail"}']
    with Sim(*FAST, *nixl, '--fault', 'transfer-failure:share=1') as sim:
        ask = {'prompt': 'x' * 400, 'max_tokens': 5, 'kv_transfer_params': {'do_remote_prefill': True}}
        status, answer = sim.post('/v1/completions', ask)
        assert status == 500 and answer['error']['type'] == 'InternalServerError', answer
        assert sim.post('/v1/completions', {'prompt': 'x', 'max_tokens': 2})[0] == 200
        assert sim.value('vllm:nixl_num_failed_transfers_total') == 1
        assert sim.value('vllm:request_success_total', finished_reason='error') == 1
    with Sim(*FAST, '--fault', 'http-500:share=1') as sim:
        assert sim.post('/v1/chat/completions', CHAT)[0] == 500
        assert sim.value('http_requests_total', status='5xx') == 1


def test_openai_client():
    """The npm client of OpenAI, when it can be installed."""
    script = """
import OpenAI from 'openai';
// Node's own fetch: node-fetch 2 takes a kept connection that closes for a cut answer with some releases of Node 18 to 26 (nodejs/node 63989).
const client = new OpenAI({ baseURL: process.env.BASE, apiKey: 'k', fetch: globalThis.fetch });
const models = await client.models.list();
const model = models.data[0].id;
const whole = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 5, temperature: 0 });
const stream = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 5, temperature: 0,
  stream: true, stream_options: { include_usage: true } });
let text = '', usage;
for await (const event of stream) { text += event.choices[0]?.delta?.content ?? ''; usage = event.usage ?? usage; }
let error;
try { await client.chat.completions.create({ model: 'none', messages: [{ role: 'user', content: 'x' }] }); } catch (e) { error = [e.status, e.message]; }
console.log(JSON.stringify({ same: text === whole.choices[0].message.content, tokens: usage.completion_tokens, error }));
"""
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--silent', 'openai@4'], cwd=folder, check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError):
            return 'skipped: npm cannot install openai'
        with open(os.path.join(folder, 'test.mjs'), 'w', encoding='utf-8') as file:
            file.write(script)
        with Sim(*FAST) as sim:
            done = subprocess.run(['node', 'test.mjs'], cwd=folder, capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, BASE='http://127.0.0.1:%d/v1' % sim.port))
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer['same'] and answer['tokens'] <= 5 and answer['error'][0] == 404 and 'does not exist' in answer['error'][1], answer


def test_prometheus():
    """A real Prometheus scrapes it, in its preferred format."""
    with tempfile.TemporaryDirectory() as folder, Sim('--self-traffic', 'rate=20,prompt=100,output=10') as sim:
        with open(os.path.join(folder, 'p.yml'), 'w', encoding='utf-8') as file:
            file.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: sim\n  static_configs: [{targets: ['127.0.0.1:%d']}]\n" % sim.port)
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        try:
            server = subprocess.Popen(['prometheus', '--config.file=p.yml', '--storage.tsdb.path=data', '--web.listen-address=127.0.0.1:%d' % port],
                                      cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:
            return 'skipped: no prometheus'
        try:
            def query(text):
                connection = http.client.HTTPConnection('127.0.0.1', port, timeout=5)
                try:
                    connection.request('GET', '/api/v1/query?query=' + text)
                    return json.loads(connection.getresponse().read())['data']['result']
                except (OSError, ValueError, KeyError):
                    return []
                finally:
                    connection.close()
            assert wait_for(lambda: any(r['value'][1] == '1' for r in query('up')), 30), 'the scrape fails'
            assert wait_for(lambda: float((query('vllm:request_success_total%7Bfinished_reason=%22stop%22%7D') or [{'value': [0, 0]}])[0]['value'][1]) > 5, 30)
            assert query('goodput_simulated_info')[0]['value'][1] == '1'
        finally:
            server.terminate()
            server.wait()


if __name__ == '__main__':
    main(globals())
