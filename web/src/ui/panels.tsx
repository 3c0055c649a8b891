// Panels that most views are made of: signals over time, quantile ribbons, heat maps, figures of now.
import { useMemo } from 'preact/hooks';
import { ask, useData, useLive, type Scope } from '../api';
import { queryOf } from '../binding';
import { isKnown, number, rank, type Reading } from '../format';
import type { Fleet } from '../fleet';
import { quantileAt, type Buckets } from '../histogram';
import { useBuckets, useSignal, whyEmpty, type Scene } from '../scene';
import type { Column, Grid } from '../series';
import { Failure, Loading } from './basics';
import { Figure } from './basis';
import { Chart, textAt } from './chart';
import { Panel, type Table } from './panel';
import type { Heat, Line } from './plot';

export function tableOf(grid: Grid, lines: Line[], unit: string): Table {
	return {
		heads: ['time', ...lines.map((l) => l.label + (unit ? ` (${unit})` : ''))],
		rows: grid.times.map((t, i) => [new Date(t * 1000).toISOString().replace('.000', ''), ...lines.map((l) => textAt(l, i, ''))]).reverse(),
	};
}

export const basisText = (grid: Grid) => `${grid.window} window, ${grid.step} s step`;

/* ---- signals over time ---- */

export interface Wanted {
	id: string;
	label: string;
	color: string;
	dash?: boolean;
	stacked?: boolean; // on the one before
	rate?: boolean; // of a count: per second
}

export function SignalPanel({
	s,
	title,
	help,
	unit,
	signals,
	top,
	wide,
	limit,
	height,
}: {
	s: Scene;
	title: string;
	help?: string;
	unit: string;
	signals: Wanted[];
	top?: number;
	wide?: boolean;
	height?: number;
	limit?: { value: number; label: string };
}) {
	const asked = signals.map((w) => useSignal(s, w.id, [], w.rate));
	const first = asked.find((a) => a.query) ?? asked[0]!;
	const grid = asked.find((a) => a.data.data)?.data.data?.grid ?? s.grid;
	const lines = useMemo(
		() => {
			const out: Line[] = [];
			signals.forEach((w, i) => {
				const data = asked[i]!.data.data;
				if (!asked[i]!.query || !data || data.grid.from !== grid.from || data.grid.step !== grid.step) return;
				let values = data.columns[0]?.values ?? grid.times.map(() => NaN);
				const below = w.stacked ? out[out.length - 1] : undefined;
				if (below) values = values.map((v, k) => v + below.values[k]!);
				out.push({ label: w.label, values, color: w.color, dash: w.dash, fillTo: below ? out.length - 1 : undefined });
			});
			if (limit && out.length)
				out.push({ label: limit.label, values: grid.times.map(() => limit.value), color: '--bad', dash: true, width: 1 });
			return out;
		},
		asked.map((a) => a.data.data),
	);
	const missing = s.bound ? signals.filter((_, i) => !asked[i]!.query).map((w) => w.label) : [];
	const error = asked.map((a) => a.data.error).find(Boolean);
	const notes = asked.flatMap((a) => [...(a.data.data?.notes ?? []), ...(a.query?.partial ? [a.query.partial] : [])]);
	if (missing.length && missing.length < signals.length) notes.push(`not exported here: ${missing.join(', ')}`);
	const some = asked.some((a) => a.data.data?.columns.length);
	return (
		<Panel
			title={title}
			help={help}
			basis={basisText(grid)}
			error={error}
			loading={asked.some((a) => a.query && a.data.loading)}
			stale={!!error && some}
			wide={wide}
			notes={[...new Set(notes)]}
			queries={asked.flatMap((a, i) => (a.query ? [{ title: signals[i]!.label, ...a.query }] : []))}
			empty={some ? undefined : whyEmpty(s, first.query, first.data)}
			table={() => tableOf(grid, lines, unit)}
		>
			{some ? (
				<Chart
					label={title}
					times={grid.times}
					lines={lines}
					unit={unit}
					top={top}
					marks={s.marks}
					from={grid.from}
					to={grid.to}
					height={height}
				/>
			) : error ? null : (
				<Loading what={title} />
			)}
		</Panel>
	);
}

/* ---- one signal by replica or engine ---- */

function nameOf(labels: Record<string, string>, by: string[]): string {
	return (
		by
			.map((l) => labels[l] ?? '')
			.filter(Boolean)
			.join(' / ') || 'all'
	);
}

const lastValue = (c: Column) => {
	for (let i = c.values.length - 1; i >= Math.max(0, c.values.length - 10); i--) if (isFinite(c.values[i]!)) return c.values[i]!;
	return -Infinity;
};

const MOST = 8;

/** The highest of today's eight, so that a chart of 64 stays readable; the rest is in the numbers. */
export function ByPanel({
	s,
	id,
	title,
	help,
	unit,
	by,
	top,
	wide,
}: {
	s: Scene;
	id: string;
	title: string;
	help?: string;
	unit: string;
	by: string[];
	top?: number;
	wide?: boolean;
}) {
	const { query, data } = useSignal(s, id, by),
		drawn = data.data,
		grid = drawn?.grid ?? s.grid;
	const ordered = useMemo(
		() =>
			[...(drawn?.columns ?? [])].sort((a, b) => lastValue(b) - lastValue(a) || nameOf(a.labels, by).localeCompare(nameOf(b.labels, by))),
		[drawn],
	);
	const shown = ordered.slice(0, MOST);
	const used = new Set<number>();
	const lines: Line[] = useMemo(() => {
		used.clear();
		return shown.map((c) => {
			let color = Math.max(0, s.members.targets.indexOf(c.labels.instance ?? '')) % 8;
			const dash = used.has(color);
			used.add(color);
			return { label: nameOf(c.labels, by), values: c.values, color: `--c${color + 1}`, dash };
		});
	}, [drawn]);
	const notes = [...(drawn?.notes ?? []), ...(query?.partial ? [query.partial] : [])];
	if (ordered.length > MOST) notes.push(`the ${MOST} highest of ${ordered.length}; a filter shows others`);
	return (
		<Panel
			title={title}
			help={help}
			basis={basisText(grid)}
			error={data.error}
			loading={data.loading}
			stale={!!data.error && !!drawn}
			wide={wide}
			notes={notes}
			queries={query ? [{ title, ...query }] : []}
			empty={whyEmpty(s, query, data)}
			table={() =>
				tableOf(
					grid,
					ordered.map((c) => ({ label: nameOf(c.labels, by), values: c.values, color: '' })),
					unit,
				)
			}
		>
			{drawn ? (
				<Chart label={title} times={grid.times} lines={lines} unit={unit} top={top} marks={s.marks} from={grid.from} to={grid.to} />
			) : data.error ? null : (
				<Loading what={title} />
			)}
		</Panel>
	);
}

/* ---- quantiles ---- */

const quantiles: [q: number, label: string, color: string][] = [
	[0.5, 'P50', '--c3'],
	[0.9, 'P90', '--c1'],
	[0.95, 'P95', '--c8'],
	[0.99, 'P99', '--c2'],
];

export function quantileLines(b: Buckets): Line[] {
	return quantiles.map(([q, label, color], i) => {
		const found = b.times.map((_, k) => quantileAt(b, k, q));
		return {
			label,
			color,
			values: found.map((f) => f.value),
			bounds: found.map((f) => (f.kind === 'at_least' ? 1 : f.kind === 'at_most' ? -1 : 0)),
			fillTo: i ? i - 1 : undefined,
			width: q === 0.99 ? 2 : 1.3,
		};
	});
}

export function QuantilePanel({ s, id, title, help, limit }: { s: Scene; id: string; title: string; help?: string; limit?: Reading }) {
	const { query, data } = useBuckets(s, id),
		shown = data.data,
		grid = shown?.grid ?? s.grid;
	const lines = useMemo(() => {
		if (!shown) return [];
		const out = quantileLines(shown.buckets);
		if (isKnown(limit)) out.push({ label: 'objective', values: grid.times.map(() => rank(limit)), color: '--bad', dash: true, width: 1 });
		return out;
	}, [shown, isKnown(limit) ? rank(limit) : 0]);
	const b = shown?.buckets,
		last = b ? b.totals.length - 1 : 0,
		n = b?.totals[last];
	const finite = b?.bounds.filter(isFinite) ?? [];
	const beyond = b && lines.some((l) => l.bounds?.includes(1));
	const below = b && lines.some((l) => l.bounds?.includes(-1));
	const notes = [...(shown?.notes ?? []), ...(query?.partial ? [query.partial] : [])];
	if (beyond) notes.push(`▲ beyond the last bucket: only > ${number(finite[finite.length - 1]!, 's')} is known`);
	if (below) notes.push(`▼ all in the first bucket: only ≤ ${number(finite[0]!, 's')} is known`);
	return (
		<Panel
			title={title}
			help={help}
			basis={basisText(grid) + (n !== undefined && isFinite(n) ? `, last n = ${Math.round(n)}` : '')}
			error={data.error}
			loading={data.loading}
			stale={!!data.error && !!shown}
			notes={notes}
			queries={query ? [{ title: 'buckets, from which all quantiles are read', ...query }] : []}
			empty={whyEmpty(s, query, data)}
			table={() => tableOf(grid, lines, 's')}
		>
			{shown ? (
				<Chart label={title} times={grid.times} lines={lines} unit="s" log marks={s.marks} from={grid.from} to={grid.to} />
			) : data.error ? null : (
				<Loading what={title} />
			)}
		</Panel>
	);
}

/* ---- heat maps ---- */

export function HeatPanel({ s, id, title, help, unit }: { s: Scene; id: string; title: string; help?: string; unit: string }) {
	const { query, data } = useBuckets(s, id),
		shown = data.data,
		grid = shown?.grid ?? s.grid;
	const heat = useMemo((): Heat | undefined => {
		if (!shown) return undefined;
		const b = shown.buckets;
		// Rows that never had an event are left out at both ends.
		const used = b.cells.map((row) => row.some((v) => v > 1e-9));
		const first = Math.max(0, used.indexOf(true)),
			last = Math.max(first, used.lastIndexOf(true));
		return { bounds: b.bounds.slice(first, last + 1), cells: b.cells.slice(first, last + 1) };
	}, [shown]);
	const table = (): Table => ({
		heads: ['time', ...heat!.bounds.map((b) => '≤ ' + (isFinite(b) ? number(b, unit) : 'more'))],
		rows: grid.times
			.map((t, i) => [
				new Date(t * 1000).toISOString().replace('.000', ''),
				...heat!.cells.map((row) => (isFinite(row[i]!) ? row[i]!.toFixed(1) : '–')),
			])
			.reverse(),
	});
	return (
		<Panel
			title={title}
			help={help}
			basis={basisText(grid)}
			error={data.error}
			loading={data.loading}
			stale={!!data.error && !!shown}
			notes={[...(shown?.notes ?? []), ...(query?.partial ? [query.partial] : [])]}
			queries={query ? [{ title: 'buckets', ...query }] : []}
			empty={whyEmpty(s, query, data)}
			table={table}
		>
			{heat ? (
				<Chart label={title} times={grid.times} heat={heat} unit={unit} marks={s.marks} from={grid.from} to={grid.to} height={230} />
			) : data.error ? null : (
				<Loading what={title} />
			)}
		</Panel>
	);
}

/* ---- figures of now ---- */

export function useReadings(
	ids: string[],
	kinds: string[],
): { scopes: Scope[]; error?: ReturnType<typeof useData>['error']; time?: number } {
	const { count } = useLive();
	const found = useData('readings ' + ids.join() + kinds.join(), count, (signal) =>
		ask<Fleet>('/api/goodput/v1/readings', { signal: ids, kind: kinds }, signal).then((a) => a.data),
	);
	return { scopes: found.data?.scopes ?? [], error: found.error, time: found.data?.window.to };
}

export function FactsPanel({ s, title, help, ids }: { s: Scene; title: string; help?: string; ids: string[] }) {
	const { scopes, error, time } = useReadings(ids, ['fleet', 'pool', 'target']);
	const scope = scopes.find((x) => x.kind === s.scope?.kind && x.scope === s.scope?.scope);
	return (
		<Panel title={title} help={help} basis={scope ? `now, ${scope.kind === 'fleet' ? 'fleet' : scope.scope}` : 'now'}>
			{error && !scope ? <Failure error={error} what={title} /> : null}
			{scope ? (
				<dl class="figures">
					{ids.map((id) => {
						const signal = s.bound?.signals.get(id),
							reading = scope.readings[id];
						return [
							<dt>{signal?.title ?? id}</dt>,
							<dd>
								<Figure unit={reading?.unit ?? signal?.unit ?? ''} of={{ id, where: scope.scope, reading, matchers: s.matchers, time }} />
								<small class="dim">
									{' '}
									{reading?.events !== undefined && isKnown(reading) ? `n = ${Math.round(reading.events)}` : (reading?.why ?? '')}
								</small>
							</dd>,
						];
					})}
				</dl>
			) : error ? null : (
				<Loading what={title} />
			)}
		</Panel>
	);
}

export const hasQuery = (s: Scene, id: string) => !!queryOf(s.bound, id, '', '5m');
