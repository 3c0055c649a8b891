// Goodput: completed requests a second that meet every objective at once. Histograms of single latencies give only bounds for it:
// max(0, 1 - sum of misses) <= share <= 1 - largest miss, each miss an interval.
import { isKnown, number, rank, type Reading } from './format';
import type { Scope } from './api';

export const objectives = [
	['ttft', 'TTFT'],
	['tpot', 'TPOT'],
	['e2e', 'E2E'],
] as const;

export interface Goodput {
	reading: Reading;
	binding?: string; // the objective that most requests miss
	missing?: string; // an objective of which no misses are known
	text: string; // the objectives in words
}

function interval(r: Reading): [number, number] {
	return [r.kind === 'at_most' ? 0 : (r.value ?? r.low ?? 0), r.kind === 'at_least' ? 1 : (r.value ?? r.high ?? 1)];
}

export function goodputOf(scope: Scope | undefined): Goodput {
	const r = scope?.readings ?? {};
	const used = objectives.filter(([id]) => isKnown(r[`slo_${id}`]) && isKnown(r[`${id}_miss_share`]));
	const text = objectives
		.filter(([id]) => isKnown(r[`slo_${id}`]))
		.map(([id, name]) => `${name} ≤ ${number(rank(r[`slo_${id}`]), 's')}`)
		.join(', ');
	const completed = r.good_per_s;
	if (!isKnown(completed)) return { reading: completed ?? { kind: 'unknown', reason: 'no-traffic' }, text };
	const missing = objectives.find(([id]) => isKnown(r[`slo_${id}`]) && !isKnown(r[`${id}_miss_share`]));
	if (!used.length)
		return {
			reading: {
				...(missing ? r[`${missing[0]}_miss_share`]! : {}),
				kind: 'unknown',
				reason: missing ? r[`${missing[0]}_miss_share`]?.reason : 'not-applicable',
			},
			text,
		};
	let sum = 0,
		largest = 0,
		binding: string | undefined;
	for (const [id, name] of used) {
		const [low, high] = interval(r[`${id}_miss_share`]!);
		sum += high;
		if (low > largest) [largest, binding] = [low, name];
	}
	// An objective whose misses are unknown may be missed by all.
	const shareLow = missing ? 0 : Math.max(0, 1 - sum),
		shareHigh = Math.max(0, 1 - largest);
	const [low, high] = [rank(completed) * shareLow, completed.kind === 'value' ? completed.value! * shareHigh : Infinity];
	const kept = {
		unit: '1/s',
		events: completed.events,
		elapsed_s: completed.elapsed_s,
		targets: completed.targets,
		exposed: completed.exposed,
	};
	const reading: Reading = !isFinite(high)
		? { ...kept, kind: 'at_least', low }
		: high - low < 1e-9 * high || high === low
			? { ...kept, kind: 'value', value: high }
			: { ...kept, kind: 'between', low, high };
	return { reading, binding, missing: missing?.[1], text };
}
