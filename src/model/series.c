#include "model/series.h"

const char *metric_type_name(enum metric_type type)
{
	switch (type) {
	case METRIC_UNKNOWN: return "unknown";
	case METRIC_COUNTER: return "counter";
	case METRIC_GAUGE: return "gauge";
	case METRIC_HISTOGRAM: return "histogram";
	case METRIC_GAUGE_HISTOGRAM: return "gaugehistogram";
	case METRIC_SUMMARY: return "summary";
	case METRIC_INFO: return "info";
	case METRIC_STATESET: return "stateset";
	}
	return "unknown";
}

size_t times_after(const int64_t *times, size_t count, int64_t t_ms)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (times[middle] <= t_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
