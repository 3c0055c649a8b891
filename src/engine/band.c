/* How far a prediction can be off: with these factors on step time the envelope of two runs holds four fifths of the calibration rows
 * (README.md). */
#include "engine/cost.h"

const char *confidence_name(enum confidence confidence)
{
	static const char *const names[] = { "calibrated", "calibrated GPU, other kernels", "uncalibrated" };

	return names[confidence];
}

struct band cost_band(const struct deployment *d)
{
	bool plain = d->model->experts == 0 && (d->weights == PRECISION_BF16 || d->weights == PRECISION_FP8) && d->dp == 1;
	enum confidence confidence = !d->gpu->calibrated ? CONFIDENCE_UNCALIBRATED : plain ? CONFIDENCE_CALIBRATED : CONFIDENCE_RELATED;
	static const double widths[] = { 0.15, 0.30, 0.45 };

	return (struct band){ confidence, 1 / (1 + widths[confidence]), 1 + widths[confidence] };
}
