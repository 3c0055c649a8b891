// What happened: annotations that were told, restarts, and findings' onsets. Drawn on every chart.
import { ask, useData, type Matrix } from './api';
import { matchersOf } from './binding';
import type { Mark } from './ui/plot';
import type { Grid } from './series';
import { columnsOf, queryRange } from './series';

interface Told {
	time: number;
	end?: number;
	text: string;
	tags?: string;
}

const isDeploy = (tags: string) => /deploy|rollout|capacity|upgrade/.test(tags);

async function load(grid: Grid, instances: string[] | undefined, signal: AbortSignal): Promise<Mark[]> {
	const matchers = matchersOf(instances),
		braces = matchers ? `{${matchers}}` : '';
	const restarts = `changes(process_start_time_seconds${braces}[${grid.step}s]) > 0`;
	const findings = `ALERTS{alertstate="firing",alertname!=""} unless ALERTS{alertstate="firing"} offset ${grid.step}s`;
	const [told, again, fired] = await Promise.all([
		ask<Told[]>('/api/goodput/v1/annotations', { start: grid.from, end: grid.to }, signal).then((a) => a.data),
		queryRange(restarts, grid, signal).then((a) => a.data),
		queryRange(findings, grid, signal).then((a) => a.data),
	]);
	const marks: Mark[] = told.map((a) => ({ t: a.time, text: a.text, kind: isDeploy(a.tags ?? '') ? 'deploy' : 'other' }));
	marks.push(...pointsOf(again, grid, 'restart', (l) => `restart of ${l.instance}`));
	marks.push(...pointsOf(fired, grid, 'finding', (l) => `${l.alertname}${l.pool ? ' in ' + l.pool : ''} began`));
	return marks.sort((a, b) => a.t - b.t);
}

function pointsOf(matrix: Matrix, grid: Grid, kind: Mark['kind'], text: (labels: Record<string, string>) => string): Mark[] {
	return columnsOf(matrix, grid.times).flatMap((c) =>
		grid.times.filter((_, i) => isFinite(c.values[i]!)).map((t) => ({ t, text: text(c.labels), kind })),
	);
}

export function useMarks(grid: Grid | undefined, instances: string[] | undefined, tick: number): Mark[] {
	const key = grid ? `marks ${grid.key} ${instances?.join() ?? ''}` : '';
	return useData(key, tick, (signal) => load(grid!, instances, signal)).data ?? none;
}
const none: Mark[] = [];
