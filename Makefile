# Short names for what Meson and the scripts do. The program is left at build/goodput.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all deps demo check asan bench fuzz install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) goodput

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix=$(PREFIX)

# Debian packages that are missing, with apt-get; nothing else.
deps:
	@tools/deps

# Two recorded fleets: one healthy, one in trouble. The exit status of the second is its verdict.
demo: all
	@tests/demo $(BUILD)/goodput

# Everything that can be checked: layers, unit tests, replayed fuzz corpora, servers, the program from outside, cases. Ends with a count.
check: $(BUILD)/build.ninja
	@tests/check $(BUILD)

asan:
	@tests/check --sanitize $(BUILD)-asan

bench: $(BUILD)/build.ninja
	@bench/run $(BUILD)

fuzz:
	@tests/fuzz/run

install: all
	@ninja -C $(BUILD)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean:
	@rm -rf $(BUILD) $(BUILD)-asan
