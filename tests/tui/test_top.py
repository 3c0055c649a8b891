#!/usr/bin/env python3
"""goodput top in a real terminal (tmux): golden frames of every state and size, keys, and the terminal given back however it ends.

test_top.py [--accept]: with --accept the frames seen become the golden ones. Exit status 77: no tmux here.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
GOODPUT = os.path.abspath(os.environ.get('GOODPUT', os.path.join(TESTS, '..', 'build', 'goodput')))
PATIENCE = 60
FRAME_PATIENCE = 10
STATES = {
    'healthy': 'cases/v09-spec-three-pods',
    'degraded': 'cases/v12-two-layouts',
    'down': 'cases/o01-failed-scrapes',
    'empty': 'cases/o02-weighted-kv',
    'stale': 'cases/v08-one-engine-stale',
}
SIZES = [(80, 24), (120, 40), (200, 60)]
FAILURES = []
PASSED = 0


def check(name, ok, detail=''):
    global PASSED
    if ok:
        PASSED += 1
    else:
        FAILURES.append(name)
        print('FAIL %s\n%s' % (name, detail))


class Terminal:
    """One tmux session on a socket of its own, with a shell in it."""
    socket = os.path.join(tempfile.mkdtemp(prefix='goodput-top-'), 'tmux')
    count = 0

    def __init__(self, columns, rows):
        Terminal.count += 1
        self.name = 't%d' % Terminal.count
        env = dict(os.environ, LANG='C.UTF-8', LC_ALL='C.UTF-8', PS1='$ ', GOODPUT=GOODPUT, TERM='xterm-256color')
        env.pop('TMUX', None)
        env.pop('LINES', None)
        env.pop('COLUMNS', None)
        self.env = env
        self.tmux('-f', os.path.join(HERE, 'tmux.conf'), 'new-session', '-d', '-s', self.name, '-x', str(columns), '-y', str(rows), '-c', TESTS,
                  'env PS1="$ " sh')
        self.tmux('resize-window', '-t', self.name, '-x', str(columns), '-y', str(rows))

    def tmux(self, *arguments):
        return subprocess.run(['tmux', '-u', '-S', self.socket] + list(arguments), env=self.env, check=True, capture_output=True,
                              text=True).stdout

    def keys(self, *keys):
        self.tmux('send-keys', '-t', self.name, *keys)

    def type(self, line):
        self.tmux('send-keys', '-t', self.name, '-l', line)
        self.keys('Enter')

    def screen(self):
        return [line.rstrip() for line in self.tmux('capture-pane', '-p', '-t', self.name).split('\n')[:-1]]

    def flags(self):
        return self.tmux('display-message', '-p', '-t', self.name, '#{alternate_on} #{cursor_flag} #{mouse_any_flag}').strip()

    def wait(self, what, predicate):
        screen = self.until(predicate, PATIENCE)
        if not predicate(screen):
            check('%s: in %d s' % (what, PATIENCE), False, '\n'.join(screen))
        return screen

    def until(self, predicate, patience):
        """The first screen that is so, or the last there was."""
        end = time.monotonic() + patience
        screen = self.screen()
        while not predicate(screen) and time.monotonic() < end:
            time.sleep(0.05)
            screen = self.screen()
        return screen

    def wait_text(self, text):
        return self.wait('shows "%s"' % text, lambda screen: any(text in line for line in screen))

    def close(self):
        self.tmux('kill-session', '-t', self.name)


def shown(screen):
    """A whole frame: the key line is there, and something was judged."""
    return any(line.startswith(' q quit') for line in screen[-1:]) and any('findings' in line for line in screen)


def row_map(screen):
    """Where the fixed parts stand."""
    return [i for i, line in enumerate(screen) if re.match(r'( goodput top| q quit|findings |  replica )', line)]


def test_golden(accept):
    maps = {}
    for columns, rows in SIZES:
        for state, case in STATES.items():
            terminal = Terminal(columns, rows)
            terminal.type('$GOODPUT top %s' % case)
            path = os.path.join(HERE, 'golden', '%s.%dx%d.txt' % (state, columns, rows))
            screen = terminal.wait('%s at %dx%d' % (state, columns, rows), shown)
            if accept:
                time.sleep(1)
                open(path, 'w').write('\n'.join(terminal.screen()) + '\n')
            want = open(path).read() if os.path.exists(path) else ''
            # A frame comes in several writes: the key line may be there before the last cell of a row.
            screen = terminal.until(lambda now: now == want.split('\n')[:-1], FRAME_PATIENCE)
            text = '\n'.join(screen) + '\n'
            check('golden %s %dx%d' % (state, columns, rows), text == want, text)
            once = subprocess.run([GOODPUT, 'top', '--once', case], cwd=TESTS, capture_output=True, text=True,
                                  env=dict(terminal.env, LINES=str(rows), COLUMNS=str(columns))).stdout
            check('--once prints the same, %s %dx%d' % (state, columns, rows), once == text, once)
            maps.setdefault((columns, rows), set()).add(tuple(row_map(screen)))
            terminal.close()
    for size, different in maps.items():
        check('nothing moves with the state at %dx%d' % size, len(different) == 1 and len(next(iter(different))) == 4, str(different))


def test_keys():
    terminal = Terminal(80, 24)
    terminal.type('$GOODPUT top cases/o01-failed-scrapes')
    terminal.wait('the first frame', shown)
    terminal.keys('f')
    terminal.wait_text('findings (')
    terminal.keys('Escape')
    terminal.wait('back to the fleet', shown)
    terminal.keys('/', 'h', 't', 'm', 'l', 'Enter')
    screen = terminal.wait('filtered', lambda s: shown(s) and not any('pod-timeout  ' in line for line in s[13:]))
    check('the filter keeps what matches', any('pod-html' in line for line in screen[13:]), '\n'.join(screen))
    terminal.keys('Escape', 'Down', 'Enter')
    terminal.wait_text('fleet > ')
    terminal.keys('a')
    terminal.wait_text('(finished)')
    terminal.keys('?')
    terminal.wait_text('keys ')
    terminal.keys('Escape', 'Escape', 'Escape', 'q')
    terminal.wait('the shell', lambda s: any(line.startswith('$') for line in s))
    terminal.type('clear; $GOODPUT top cases/v12-two-layouts')
    terminal.wait('the first frame', shown)
    terminal.keys('[')
    terminal.wait_text('HISTORY 1/')
    terminal.keys('}')
    terminal.wait('the newest again', lambda s: shown(s) and not any('HISTORY' in line for line in s))
    terminal.keys('q')
    terminal.wait('the shell again', lambda s: any(line.startswith('$') for line in s))
    check('the terminal after q', terminal.flags() == '0 1 0', terminal.flags())
    terminal.close()


def top_pid(terminal):
    shell = int(terminal.tmux('display-message', '-p', '-t', terminal.name, '#{pane_pid}'))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        children = subprocess.run(['ps', '-o', 'pid=,comm=', '--ppid', str(shell)], capture_output=True, text=True).stdout.split('\n')
        for child in children:
            if child.strip().endswith('goodput'):
                return int(child.split()[0])
        time.sleep(0.05)
    raise SystemExit('no goodput below the shell')


def test_endings():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGINT):
        terminal = Terminal(80, 24)
        terminal.type('stty -g > before; echo MARK')
        terminal.wait_text('MARK')
        terminal.type('$GOODPUT top cases/v12-two-layouts; stty -g > after; echo OVER $?')
        terminal.wait('the first frame', shown)
        os.kill(top_pid(terminal), number)
        screen = terminal.wait('the end', lambda s: any(re.match(r'OVER \d', line) for line in s))
        check('the former screen after %s' % number.name, any('MARK' in line for line in screen), '\n'.join(screen))
        check('cursor, mouse, screen after %s' % number.name, terminal.flags() == '0 1 0', terminal.flags())
        modes = [open(os.path.join(TESTS, name)).read() for name in ('before', 'after')]
        check('modes after %s' % number.name, modes[0] == modes[1], str(modes))
        terminal.close()
        os.remove(os.path.join(TESTS, 'before'))
        os.remove(os.path.join(TESTS, 'after'))


def test_suspend():
    terminal = Terminal(80, 24)
    terminal.type('set -m; $GOODPUT top cases/v12-two-layouts')
    want = open(os.path.join(HERE, 'golden', 'degraded.80x24.txt')).read().split('\n')[:-1]
    terminal.wait('the first frame', lambda screen: screen == want)
    terminal.keys('C-z')
    terminal.wait('the shell', lambda s: any('Stopped' in line or 'topped' in line for line in s))
    check('the terminal while stopped', terminal.flags() == '0 1 0', terminal.flags())
    terminal.type('fg')
    again = terminal.until(lambda screen: screen == want, PATIENCE)
    check('the same frame after fg', again == want, '\n'.join(again))
    terminal.keys('q')
    terminal.wait('the shell again', lambda s: any(line.startswith('$') for line in s))
    terminal.close()


def test_resize():
    terminal = Terminal(80, 24)
    terminal.type('$GOODPUT top cases/v09-spec-three-pods')
    terminal.wait('the first frame', shown)
    terminal.tmux('resize-window', '-t', terminal.name, '-x', '120', '-y', '40')
    want = open(os.path.join(HERE, 'golden', 'healthy.120x40.txt')).read()
    terminal.wait('the larger frame', lambda s: '\n'.join(s) + '\n' == want)
    check('resized', True)
    terminal.keys('q')
    terminal.close()


def main():
    if not shutil.which('tmux'):
        print('skipped: no tmux')
        sys.exit(77)
    try:
        test_golden('--accept' in sys.argv)
        test_keys()
        test_endings()
        test_suspend()
        test_resize()
    finally:
        subprocess.run(['tmux', '-S', Terminal.socket, 'kill-server'], capture_output=True)
        shutil.rmtree(os.path.dirname(Terminal.socket), ignore_errors=True)
    print('%d passed, %d failed' % (PASSED, len(FAILURES)))
    sys.exit(1 if FAILURES else 0)


main()
