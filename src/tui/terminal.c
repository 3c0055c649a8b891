#include "tui/terminal.h"

#include "tui/state.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

/* What a handler needs to give the terminal back: it may call nothing but write and tcsetattr. */
static struct {
	struct termios modes;
	char leave[128];
	size_t leave_length;
	volatile sig_atomic_t open, ended;
	bool color;
} terminal;

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
static const int endings[] = { SIGTERM, SIGHUP };

static void on_crash(int number)
{
	if (terminal.open) {
		ssize_t written = write(STDOUT_FILENO, terminal.leave, terminal.leave_length);

		(void)written;
		tcsetattr(STDOUT_FILENO, TCSANOW, &terminal.modes);
	}
	signal(number, SIG_DFL);
	raise(number);
}

static void on_end(int number)
{
	terminal.ended = number;
}

static void leave_add_text(const char *text)
{
	for (; *text && terminal.leave_length < sizeof terminal.leave; text++)
		terminal.leave[terminal.leave_length++] = *text;
}

static void leave_add(const char *capability)
{
	const char *text = tigetstr(capability);

	if (text && text != (const char *)-1)
		leave_add_text(text);
}

static void signals_catch(void)
{
	struct sigaction crash = { .sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) }, end = { .sa_handler = on_end };

	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		sigaction(crashes[i], &crash, NULL);
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		sigaction(endings[i], &end, NULL);
}

static void colors_start(void)
{
	static const short colors[TUI_STYLES] = { [TUI_FINE] = COLOR_GREEN,
		[TUI_INFO] = COLOR_CYAN,
		[TUI_WARNING] = COLOR_YELLOW,
		[TUI_CRITICAL] = COLOR_RED,
		[TUI_UNKNOWN] = COLOR_MAGENTA,
		[TUI_HEAD] = COLOR_CYAN };

	if (!terminal.color || !has_colors()) {
		terminal.color = false;
		return;
	}
	start_color();
	use_default_colors();
	for (short i = 0; i < TUI_STYLES; i++)
		if (colors[i])
			init_pair((short)(i + 1), colors[i], -1);
}

bool terminal_open(bool color, bool mouse, struct error *e)
{
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || tcgetattr(STDOUT_FILENO, &terminal.modes) < 0)
		return error_set(e, EXIT_USAGE, "standard input and output are no terminal");
	terminal.color = color;
	/* initscr would end the process where the terminal is not known. */
	SCREEN *screen = newterm(NULL, stdout, stdin);

	if (!screen) {
		error_set(e, EXIT_USAGE, "this terminal is not known (TERM=%s)", getenv("TERM") ? getenv("TERM") : "");
		error_hint(e, "set TERM, or print one frame with --once");
		return false;
	}
	terminal.leave_length = 0;
	/* Mouse reports have no capability that ends them. */
	if (mouse)
		leave_add_text("\033[?1006l\033[?1002l\033[?1000l");
	leave_add("sgr0");
	leave_add("cnorm");
	leave_add("rmkx");
	leave_add("rmcup");
	colors_start();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	set_escdelay(25);
	if (mouse)
		mousemask(BUTTON1_CLICKED | BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	signals_catch();
	terminal.open = 1;
	return true;
}

void terminal_close(void)
{
	if (!terminal.open)
		return;
	mousemask(0, NULL);
	endwin();
	terminal.open = 0;
}

void terminal_size(int *rows, int *columns)
{
	getmaxyx(stdscr, *rows, *columns);
}

static attr_t attributes_of(const struct frame_cell *c)
{
	static const attr_t attributes[TUI_STYLES] = { [TUI_BOLD] = A_BOLD,
		[TUI_DIM] = A_DIM,
		[TUI_FINE] = A_BOLD,
		[TUI_WARNING] = A_BOLD,
		[TUI_CRITICAL] = A_BOLD,
		[TUI_HEAD] = A_BOLD,
		[TUI_BAR] = A_REVERSE };
	attr_t a = attributes[c->style];

	return c->selected ? a ^ A_REVERSE : a;
}

void terminal_show(const struct frame *f)
{
	static const bool colored[TUI_STYLES] = {
		[TUI_FINE] = true, [TUI_INFO] = true, [TUI_WARNING] = true, [TUI_CRITICAL] = true, [TUI_UNKNOWN] = true, [TUI_HEAD] = true
	};
	int rows, columns;

	terminal_size(&rows, &columns);
	for (int row = 0; row < rows && row < f->rows; row++)
		for (int column = 0; column < columns && column < f->columns; column++) {
			const struct frame_cell *c = &f->cells[row * f->columns + column];
			wchar_t text[2] = { (wchar_t)c->rune, 0 };
			cchar_t out;

			if (!c->rune)
				continue;
			setcchar(&out, text, attributes_of(c), terminal.color && colored[c->style] ? (short)(c->style + 1) : 0, NULL);
			mvadd_wch(row, column, &out);
		}
	refresh();
}

static uint32_t key_of(int code)
{
	switch (code) {
	case KEY_UP: return TOP_KEY_UP;
	case KEY_DOWN: return TOP_KEY_DOWN;
	case KEY_PPAGE: return TOP_KEY_PAGE_UP;
	case KEY_NPAGE: return TOP_KEY_PAGE_DOWN;
	case KEY_HOME: return TOP_KEY_HOME;
	case KEY_END: return TOP_KEY_END;
	case KEY_ENTER:
	case '\r':
	case '\n': return TOP_KEY_ENTER;
	case KEY_LEFT:
	case 27: return TOP_KEY_ESCAPE;
	case KEY_RIGHT: return TOP_KEY_ENTER;
	case KEY_BACKSPACE:
	case 8:
	case 127: return TOP_KEY_BACKSPACE;
	case KEY_F(1): return '?';
	case KEY_F(6): return '>';
	case KEY_F(10): return 'q';
	default: return code >= KEY_MIN ? 0 : (uint32_t)code;
	}
}

struct terminal_key terminal_key(int timeout_ms)
{
	struct terminal_key k = { 0 };
	MEVENT event;

	timeout(timeout_ms);
	int code = getch();

	if (code == ERR)
		return k;
	if (code == KEY_RESIZE) {
		k.resized = true;
		clear();
	} else if (code == KEY_MOUSE) {
		if (getmouse(&event) != OK)
			return k;
		k.row = event.y;
		k.wheel_up = event.bstate & BUTTON4_PRESSED;
		k.wheel_down = event.bstate & BUTTON5_PRESSED;
		k.click = !k.wheel_up && !k.wheel_down;
	} else {
		k.key = key_of(code);
	}
	return k;
}

int terminal_ended(void)
{
	return terminal.ended;
}
