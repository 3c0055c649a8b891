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
	const to = Math.floor(range.to / step) * step, from = Math.ceil(range.from / step) * step;
	const times: number[] = [];
	for (let t = from; t <= to; t += step) times.push(t);
	const windowSeconds = Math.max(step, 4 * scrapeSeconds, 30);
	const key = range.live ? `last ${Math.round(range.to - range.from)} ${step}` : `${from} ${to} ${step}`;
	return { from, to, step, times, window: windowText(windowSeconds), windowSeconds, key };
}

const windowText = (s: number) => (s % 3600 === 0 ? s / 3600 + 'h' : s % 60 === 0 ? s / 60 + 'm' : s + 's');

export function queryRange(query: string, grid: Grid, signal?: AbortSignal): Promise<Answer<Matrix>> {
	return ask<Matrix>('/api/v1/query_range', { query, start: grid.from, end: grid.to, step: grid.step }, signal);
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
