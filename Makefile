# Short names for what Meson and the scripts do. The program is left at build/goodput.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all deps demo evening check asan bench fuzz soak install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) goodput examples/example-server

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix=$(PREFIX)

# Debian packages that are missing, with apt-get; nothing else. What builds, and the peers that check and bench compare with.
deps:
	@tools/deps all

# Three simulated servers, diagnosed live: healthy, then one with a fault.
demo:
	@tools/deps build
	@$(MAKE) --no-print-directory all
	@tests/demo $(BUILD)/goodput

# README's evening: a workload, a bench at three rates, two engine settings compared.
evening:
	@tools/deps build
	@$(MAKE) --no-print-directory all
	@tests/evening $(BUILD)/goodput

# Everything that can be checked: layers, unit tests, replayed fuzz corpora, servers, the program from outside, cases. Ends with a count.
check:
	@tools/deps all
	@tests/check $(BUILD)

asan:
	@tools/deps all
	@tests/check --sanitize $(BUILD)-asan

bench:
	@tools/deps all
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@bench/run $(BUILD)

fuzz:
	@tools/deps all
	@tests/fuzz/run

# 64 simulated servers scraped every second for 10 minutes, with queries, reloads and crashes; then C and Python writers in one directory, 10 minutes
# read by both collectors, 10 minutes by the exporter.
soak: all
	@ninja -C $(BUILD) tests/telemetry/metric_writer
	@GOODPUT=$(BUILD)/goodput python3 -B tests/serve/soak.py 600
	@for test in tests/telemetry/test_live.py tests/multiproc/live.py; do \
		/usr/bin/python3 -B $$test --tool $(BUILD)/tests/telemetry/metric_writer --goodput $(BUILD)/goodput --seconds 600 || [ $$? = 77 ] || exit 1; \
	done

install: all
	@ninja -C $(BUILD)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean:
	@rm -rf $(BUILD) $(BUILD)-asan
