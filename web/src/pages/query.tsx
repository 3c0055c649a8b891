// PromQL: typed with completion, run as a graph and a table, and taken apart.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError, ask, useData, type Matrix } from '../api';
import { plain } from '../format';
import { children, explain, print, type Node } from '../promql';
import type { Scene } from '../scene';
import { columnsOf, queryRange } from '../series';
import { go, keep, kept } from '../state';
import { dateText } from '../time';
import { Copy, Loading } from '../ui/basics';
import { Chart } from '../ui/chart';
import { Numbers, Panel } from '../ui/panel';
import { tableOf } from '../ui/panels';
import type { Line } from '../ui/plot';
import { Editor } from './editor';

const MOST_LINES = 24,
	MOST_ROWS = 500;

/* ---- results ---- */

type Instant =
	| { resultType: 'vector'; result: { metric: Record<string, string>; value: [number, string] }[] }
	| { resultType: 'scalar' | 'string'; result: [number, string] }
	| Matrix;

/* The legend shows only the labels that differ. */
function namesOf(all: Record<string, string>[]): string[] {
	const keys = [...new Set(all.flatMap((l) => Object.keys(l)))].sort();
	const differing = keys.filter((k) => new Set(all.map((l) => l[k])).size > 1);
	return all.map((l) => {
		const shown = (differing.length ? differing : keys).filter((k) => l[k] !== undefined);
		const name = shown.includes('__name__') ? l.__name__! : '';
		const rest = shown
			.filter((k) => k !== '__name__')
			.map((k) => `${k}="${l[k]}"`)
			.join(', ');
		return name + (rest ? `{${rest}}` : '') || 'value';
	});
}

function Graph({ s, text }: { s: Scene; text: string }) {
	const data = useData(text && s.ready ? `graph ${text} ${s.grid.key}` : '', s.tick, async (signal) => {
		const grid = s.grid,
			begin = performance.now();
		const answer = await queryRange(text, grid, signal);
		return {
			grid,
			columns: columnsOf(answer.data, grid.times),
			took: performance.now() - begin,
			notes: [...(answer.warnings ?? []), ...(answer.infos ?? [])],
		};
	});
	const d = data.data,
		grid = d?.grid ?? s.grid;
	const lines: Line[] = useMemo(() => {
		const names = namesOf((d?.columns ?? []).map((c) => c.labels));
		return (d?.columns ?? []).map((c, i) => ({ label: names[i]!, values: c.values, color: `--c${(i % 8) + 1}`, dash: i >= 8 }));
	}, [d]);
	const notes = d ? [...d.notes, ...(lines.length > MOST_LINES ? [`the first ${MOST_LINES} of ${lines.length} series`] : [])] : [];
	return (
		<Panel
			wide
			title="Graph"
			basis={d ? `${lines.length} series · step ${grid.step} s · ${plain(d.took)} ms` : ''}
			error={data.error}
			loading={data.loading}
			stale={!!data.error && !!d}
			notes={notes}
			empty={d && !lines.length ? 'The query is right, and there is nothing in this range that it selects.' : undefined}
			table={() => tableOf(grid, lines, '')}
		>
			{d ? (
				<Chart
					label="Result"
					times={grid.times}
					lines={lines.slice(0, MOST_LINES)}
					unit=""
					marks={s.marks}
					from={grid.from}
					to={grid.to}
					height={280}
				/>
			) : data.error ? null : (
				<Loading what="Result" />
			)}
		</Panel>
	);
}

function ResultTable({ s, text }: { s: Scene; text: string }) {
	const data = useData(text && s.ready ? `table ${text} ${s.grid.key}` : '', s.tick, async (signal) => {
		const begin = performance.now();
		const answer = await ask<Instant>('/api/v1/query', { query: text, time: s.range.to }, signal);
		return { answer: answer.data, at: s.range.to, took: performance.now() - begin };
	});
	const d = data.data;
	const rows = !d
		? []
		: d.answer.resultType === 'vector'
			? d.answer.result.map((r) => [JSON.stringify(r.metric), r.value[1]])
			: d.answer.resultType === 'matrix'
				? d.answer.result.map((r) => [JSON.stringify(r.metric), `${r.values.length} samples, newest ${r.values[r.values.length - 1]?.[1]}`])
				: [['', (d.answer.result as [number, string])[1]]];
	const shown = rows.slice(0, MOST_ROWS).map(([labels, value]) => [
		labels
			? Object.entries(JSON.parse(labels))
					.map(([k, v]) => (k === '__name__' ? v : `${k}="${v}"`))
					.join(' ') || '{}'
			: 'scalar',
		value!,
	]);
	return (
		<Panel
			wide
			title="Table"
			basis={d ? `at ${dateText(d.at, true)} · ${rows.length} rows · ${plain(d.took)} ms` : ''}
			error={data.error}
			loading={data.loading}
			notes={rows.length > MOST_ROWS ? [`the first ${MOST_ROWS} of ${rows.length}`] : []}
			empty={d && !rows.length ? 'Nothing at the end of the range.' : undefined}
		>
			{d ? <Numbers caption="Result" table={{ heads: ['labels', 'value'], rows: shown }} /> : null}
		</Panel>
	);
}

/* ---- taken apart ---- */

function Branch({ node, time, pick }: { node: Node; time: number; pick: (text: string) => void }) {
	const text = print(node),
		literal = /Literal$/.test(node.type),
		matrix = node.type === 'matrixSelector' || node.type === 'subquery';
	const counted = useData(literal ? '' : `count ${text} ${time}`, 0, async (signal) => {
		const begin = performance.now();
		const answer = await ask<Instant>(
			'/api/v1/query',
			{ query: matrix ? `count(count_over_time(${text}))` : `count(${text})`, time },
			signal,
		).catch((e) => {
			// A scalar has no count.
			if (e instanceof ApiError && e.kind === 'bad_data') return undefined;
			throw e;
		});
		const result = answer?.data.resultType === 'vector' ? answer.data.result : [];
		return { rows: answer ? (result[0] ? Number(result[0].value[1]) : 0) : 1, took: performance.now() - begin };
	});
	return (
		<li>
			<button type="button" class="quiet node" onClick={() => pick(text)} title="Edit and run this part">
				<code>{text}</code>
			</button>
			<div class="dim">
				{explain(node)}
				{counted.data
					? ` · ${counted.data.rows} series · ${plain(counted.data.took)} ms`
					: counted.error
						? ' · ' + counted.error.message
						: ''}
			</div>
			{children(node).length ? (
				<ul>
					{children(node).map((c) => (
						<Branch node={c} time={time} pick={pick} />
					))}
				</ul>
			) : null}
		</li>
	);
}

function Explain({ s, text, pick }: { s: Scene; text: string; pick: (text: string) => void }) {
	const tree = useData('parse ' + text, 0, (signal) => ask<Node>('/api/v1/parse_query', { query: text }, signal).then((a) => a.data));
	const time = useMemo(() => Math.floor(s.range.to), [text]);
	return (
		<Panel
			wide
			title="Explain"
			basis="each part: what it does, how many series it gives, how long it takes"
			error={tree.error}
			loading={tree.loading}
		>
			{tree.data ? (
				<ul class="tree">
					<Branch node={tree.data} time={time} pick={pick} />
				</ul>
			) : null}
		</Panel>
	);
}

function history(): string[] {
	try {
		return JSON.parse(kept('history', '[]'));
	} catch {
		return [];
	}
}

export default function Query({ s }: { s: Scene }) {
	const asked = s.place.more.q ?? '',
		shown = (s.place.more.show ?? 'graph') as 'graph' | 'table' | 'explain';
	const [text, change] = useState(asked),
		[error, tell] = useState<string | undefined>();
	useEffect(() => change(asked), [asked]);
	const run = async (wanted = text) => {
		const query = wanted.trim();
		if (!query) return;
		try {
			await ask('/api/v1/parse_query', { query });
			tell(undefined);
			keep('history', JSON.stringify([query, ...history().filter((q) => q !== query)].slice(0, 20)));
			go({ more: { ...s.place.more, q: query } });
		} catch (problem) {
			tell(problem instanceof Error ? problem.message : String(problem));
		}
	};
	const format = async () => {
		try {
			change((await ask<string>('/api/v1/format_query', { query: text })).data);
			tell(undefined);
		} catch (problem) {
			tell(problem instanceof Error ? problem.message : String(problem));
		}
	};
	const metrics = s.bound ? [...s.bound.signals.values()].filter((x) => x.headline && s.bound!.engines.some((e) => e.promql[x.id])) : [];
	return (
		<>
			<section class="panel" aria-label="Query">
				<Editor text={text} change={change} run={() => run()} error={error} />
				<div class="row">
					<button type="button" onClick={() => run()}>
						Run
					</button>
					<button type="button" onClick={format}>
						Format
					</button>
					<span class="row" role="group" aria-label="Show">
						{(['graph', 'table', 'explain'] as const).map((m) => (
							<button
								type="button"
								aria-pressed={shown === m}
								onClick={() => go({ more: { ...s.place.more, show: m === 'graph' ? '' : m } })}
							>
								{m}
							</button>
						))}
					</span>
					<Copy text={location.href} what="link to this query" />
					<label>
						Recent{' '}
						<select
							onChange={(e) => {
								const q = e.currentTarget.value;
								e.currentTarget.value = '';
								if (q) run(q);
							}}
						>
							<option value="">…</option>
							{history().map((q) => (
								<option value={q}>{q.slice(0, 90)}</option>
							))}
						</select>
					</label>
					<label>
						Signal{' '}
						<select
							onChange={(e) => {
								const id = e.currentTarget.value,
									found = s.bound?.engines.find((x) => x.promql[id])?.promql[id];
								e.currentTarget.value = '';
								if (found) import('../binding').then((b) => run(b.narrow(found, s.matchers, s.grid.window)));
							}}
						>
							<option value="">…</option>
							{metrics.map((m) => (
								<option value={m.id}>{m.title}</option>
							))}
						</select>
					</label>
				</div>
				<p class="help">Enter runs, Shift+Enter begins a line, Tab takes a completion. The language is Prometheus 3's.</p>
			</section>
			{!asked ? (
				<p class="state empty">Type a query, or choose a signal. Names, labels and values complete themselves as you type.</p>
			) : shown === 'graph' ? (
				<Graph s={s} text={asked} />
			) : shown === 'table' ? (
				<ResultTable s={s} text={asked} />
			) : (
				<Explain
					s={s}
					text={asked}
					pick={(t) => {
						change(t);
						run(t);
					}}
				/>
			)}
		</>
	);
}
