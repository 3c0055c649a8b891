// Range queries as columns over one row of times.
import { ask, type Answer, type Matrix } from './api';
import { stepFor, type Range } from './time';

export interface Grid {
	from: number;
	to: number;
	step: number;
	times: number[];
	window: string; // for rates and quantiles: "1m"
	windowSeconds: number;
	key: string; // the same while a live range moves on
}

/** Times on multiples of the step, so that a live chart moves point by point and does not flicker. */
export function gridOf(range: Range, scrapeSeconds: number, points = 180): Grid {
	const step = stepFor(range, points, Math.min(scrapeSeconds, (range.to - range.from) / 4));
	const to = Math.floor(range.to / step) * step,
		from = Math.ceil(range.from / step) * step;
	const times: number[] = [];
	for (let t = from; t <= to; t += step) times.push(t);
	const windowSeconds = Math.max(step, 4 * scrapeSeconds, 30);
	const key = range.live ? `last ${Math.round(range.to - range.from)} ${step}` : `${from} ${to} ${step}`;
	return { from, to, step, times, window: windowText(windowSeconds), windowSeconds, key };
}

const windowText = (s: number) => (s % 3600 === 0 ? s / 3600 + 'h' : s % 60 === 0 ? s / 60 + 'm' : s + 's');

/* What was asked before, so that a live chart asks only for its newest points. */
interface Known {
	grid: Grid;
	series: Map<string, Matrix['result'][number]>;
}
const known = new Map<string, Known>();
const KNOWN_MOST = 64,
	AGAIN = 2; // the last points are asked again: a scrape may have been on its way

function merge(old: Known, fresh: Matrix, start: number, grid: Grid): Map<string, Matrix['result'][number]> {
	const merged = new Map<string, Matrix['result'][number]>();
	for (const [key, s] of old.series) {
		const values = s.values.filter(([t]) => t >= grid.from && t < start);
		if (values.length) merged.set(key, { metric: s.metric, values });
	}
	for (const s of fresh.result) {
		const key = JSON.stringify(s.metric),
			before = merged.get(key);
		merged.set(key, before ? { metric: s.metric, values: [...before.values, ...s.values] } : s);
	}
	return merged;
}

export async function queryRange(query: string, grid: Grid, signal?: AbortSignal): Promise<Answer<Matrix>> {
	const key = grid.step + ' ' + query,
		old = known.get(key);
	const overlaps = old && old.grid.from <= grid.from && old.grid.to > grid.from && old.grid.to <= grid.to;
	const start = overlaps ? Math.max(grid.from, old.grid.to - AGAIN * grid.step) : grid.from;
	const answer = await ask<Matrix>('/api/v1/query_range', { query, start, end: grid.to, step: grid.step }, signal);
	const series = overlaps ? merge(old, answer.data, start, grid) : new Map(answer.data.result.map((s) => [JSON.stringify(s.metric), s]));
	known.delete(key);
	known.set(key, { grid, series });
	if (known.size > KNOWN_MOST) known.delete(known.keys().next().value!);
	return { ...answer, data: { resultType: 'matrix', result: [...series.values()] } };
}

export interface Column {
	labels: Record<string, string>;
	values: number[]; // NaN: no sample
}

export function columnsOf(matrix: Matrix, times: number[]): Column[] {
	const at = new Map(times.map((t, i) => [t, i]));
	return matrix.result.map((series) => {
		const values = times.map(() => NaN);
		for (const [t, text] of series.values) {
			const i = at.get(t);
			if (i !== undefined) values[i] = Number(text);
		}
		return { labels: series.metric, values };
	});
}

/** One query, answered as columns; with the grid that they are for. */
export interface Drawn {
	grid: Grid;
	columns: Column[];
	notes: string[];
}

export async function drawn(query: string, grid: Grid, signal?: AbortSignal): Promise<Drawn> {
	const answer = await queryRange(query, grid, signal);
	return { grid, columns: columnsOf(answer.data, grid.times), notes: answer.warnings ?? [] };
}
