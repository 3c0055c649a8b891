// Quantiles from buckets, by the rules of src/signals/histogram_read.c: linear inside a bucket; a bound in the first and beyond the last finite one.
import type { Matrix } from './api';

export interface Buckets {
	times: number[];
	bounds: number[]; // ascending, the last +Inf
	cells: number[][]; // [bound][time], events of that bucket alone; NaN: not known then
	totals: number[]; // [time]
}

export function bucketsFrom(matrix: Matrix, times: number[]): Buckets {
	const at = new Map(times.map((t, i) => [t, i]));
	const rows = new Map<number, number[]>();
	for (const series of matrix.result) {
		const le = series.metric.le === '+Inf' ? Infinity : Number(series.metric.le);
		if (Number.isNaN(le)) continue;
		const row = rows.get(le) ?? times.map(() => NaN);
		rows.set(le, row);
		for (const [t, text] of series.values) {
			const i = at.get(t);
			if (i !== undefined) row[i] = (Number.isNaN(row[i]!) ? 0 : row[i]!) + Number(text);
		}
	}
	const bounds = [...rows.keys()].sort((a, b) => a - b);
	const cumulative = bounds.map((le) => rows.get(le)!);
	const cells = cumulative.map((row, i) => row.map((v, k) => Math.max(0, i ? v - cumulative[i - 1]![k]! : v)));
	const totals = times.map((_, k) => cells.reduce((sum, row) => sum + row[k]!, 0));
	return { times, bounds, cells, totals };
}

export interface Quantile {
	value: number; // or the bound
	kind: 'value' | 'at_least' | 'at_most' | 'unknown';
}

const unknown: Quantile = { value: NaN, kind: 'unknown' };

export function quantileAt(b: Buckets, k: number, q: number): Quantile {
	const n = b.totals[k]!;
	if (!(n > 0) || b.bounds.length < 2) return unknown;
	if (b.cells[0]![k]! >= n * (1 - 1e-9)) return { value: b.bounds[0]!, kind: 'at_most' };
	const rank = q * n;
	let below = 0;
	for (let i = 0; i < b.bounds.length; i++) {
		const count = b.cells[i]![k]!;
		if (below + count >= rank && count > 0) {
			if (!isFinite(b.bounds[i]!)) break;
			const start = i ? b.bounds[i - 1]! : Math.min(0, b.bounds[0]!);
			return { value: start + ((b.bounds[i]! - start) * Math.max(0, rank - below)) / count, kind: 'value' };
		}
		below += count;
	}
	const finite = b.bounds.filter(isFinite).pop();
	return finite === undefined ? unknown : { value: finite, kind: 'at_least' };
}

/** The share of events at or below x, as an interval: exact when x is a bound. */
export function shareWithin(b: Buckets, k: number, x: number): [number, number] | undefined {
	const n = b.totals[k]!;
	if (!(n > 0)) return undefined;
	let sure = 0,
		possible = 0;
	for (let i = 0; i < b.bounds.length; i++) {
		const start = i ? b.bounds[i - 1]! : 0;
		if (b.bounds[i]! <= x) sure += b.cells[i]![k]!;
		if (start < x) possible += b.cells[i]![k]!;
	}
	return [sure / n, possible / n];
}

/** The 95 % interval of a quantile from order statistics: which values lie at the ranks around it. */
export function quantileInterval(b: Buckets, k: number, q: number): [number, number] | undefined {
	const n = b.totals[k]!;
	if (!(n > 0)) return undefined;
	const spread = 1.96 * Math.sqrt(n * q * (1 - q));
	const at = (rank: number) => {
		const found = quantileAt(b, k, Math.min(1, Math.max(0, rank / n)));
		return found.kind === 'at_least' ? Infinity : found.kind === 'at_most' ? 0 : found.value;
	};
	return [at(q * n - spread), at(q * n + spread)];
}
