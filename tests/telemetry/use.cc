// The header as C++11 sees it, linked against the shared library.
#include <goodput/telemetry.h>
#include <goodput/telemetry.h>

#include <cstdio>

int main(int argc, char **argv)
{
	goodput_options options;
	goodput_registry *registry = nullptr;
	goodput_family *family = nullptr;
	goodput_counter *counter = nullptr;
	goodput_gauge *gauge = nullptr;
	goodput_histogram *histogram = nullptr;
	goodput_summary *summary = nullptr;
	const char *const names[] = { "method", nullptr };
	const char *const values[] = { "GET" };
	goodput_health health = {};

	goodput_options_init(&options);
	options.directory = argc > 1 ? argv[1] : nullptr;
	if (goodput_registry_open(&options, &registry) != GOODPUT_OK)
		return 1;
	int status = goodput_counter_family(registry, "requests", "Requests.", names, &family);

	status |= goodput_counter_child(family, values, &counter);
	status |= goodput_gauge_new(registry, "busy", "Busy.", GOODPUT_GAUGE_LIVESUM, &gauge);
	status |= goodput_histogram_new(registry, "seconds", "Time.", nullptr, 0, &histogram);
	status |= goodput_summary_new(registry, "bytes", "Bytes.", &summary);
	status |= goodput_counter_inc(counter) | goodput_gauge_set(gauge, 2) | goodput_histogram_observe(histogram, 0.2);
	status |= goodput_summary_observe(summary, 100);
	health.size = sizeof health;
	status |= goodput_registry_health(registry, &health);
	if (health.series != 4 || health.status != GOODPUT_OK)
		status = 1;
	goodput_registry_close(registry);
	std::puts(goodput_status_text(status));
	return status;
}
