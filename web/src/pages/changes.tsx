// What was before and after a change of capacity, as the daemon tells it: which windows, what they cost, what else changed in the meantime.
import { useMemo } from 'preact/hooks';
import { ask, useData, useLive, type Data } from '../api';
import { number } from '../format';
import type { Scene } from '../scene';
import { addressWith } from '../state';
import { dateText, durationText, type Range } from '../time';
import { Failure, Loading } from '../ui/basics';
import { changeAddress } from '../ui/changes';
import { Chart } from '../ui/chart';
import { Panel } from '../ui/panel';
import type { Line } from '../ui/plot';

interface Change {
	time: number;
	told: boolean;
	text?: string;
	came: string[];
	went: string[];
	up_before?: number;
	up_after?: number;
}

interface Estimate {
	value?: number;
	low?: number;
	high?: number;
	unknown?: string;
}

interface Window {
	from: number;
	to: number;
	enough: boolean;
}

interface Part {
	side: 'before' | 'after';
	from: number;
	to: number;
	[figure: string]: number | string | undefined;
}

export interface ChangeAnswer {
	verdict: { verdict: string; text: string };
	event: Change;
	scope: { name?: string; why?: string };
	windows: { before: Window; after: Window; settle_s: number };
	notes: string[];
	chart: Part[];
	panels: { id: string; title: string; unit: string; a: Estimate | null; b: Estimate | null; change: Estimate | null }[];
}

const shown = /goodput|replica|gpu|cost|throughput|output_tokens_per_s/;

/** The change that the address names; settle and length as there. */
export function useChange(s: Scene): Data<ChangeAnswer> {
	const { event, settle, length } = s.place.more;
	return useData(event ? `change ${event} ${settle ?? ''} ${length ?? ''}` : '', 0, (signal) =>
		ask<ChangeAnswer>(
			'/api/goodput/v1/changes/' + encodeURIComponent(event!),
			{ ...(settle ? { settle } : {}), ...(length ? { length } : {}) },
			signal,
		).then((a) => a.data),
	);
}

/** The windows that were chosen; undefined without both. */
export function windowsOf(change: Data<ChangeAnswer>): { before: Range; after: Range } | undefined {
	const w = change.data?.windows;
	if (!w || !(w.before.to > w.before.from) || !(w.after.to > w.after.from)) return undefined;
	const range = (x: Window) => ({ from: x.from, to: x.to, live: false });
	return { before: range(w.before), after: range(w.after) };
}

function estimateText(e: Estimate | null, unit: string): string {
	if (!e || e.unknown) return 'unknown';
	const print = (v: number) => (unit === 'share' ? number(v, 'ratio') : number(v, unit === '1' ? '' : unit));
	if (e.value !== undefined) return print(e.value);
	if (e.low !== undefined && e.high !== undefined) return `${print(e.low)} to ${print(e.high)}`;
	return e.low !== undefined ? '≥ ' + print(e.low) : e.high !== undefined ? '≤ ' + print(e.high) : 'unknown';
}

function changeText(e: Estimate | null): string {
	const print = (v: number) => (v > 0 ? '+' : '') + number(v, 'ratio');
	if (!e) return 'unknown';
	const ends = e.low !== undefined && e.high !== undefined ? `${print(e.low)} to ${print(e.high)}` : '';
	return e.value === undefined ? ends || 'unknown' : print(e.value) + (ends ? ` (${ends})` : '');
}

function OverTime({ c }: { c: ChangeAnswer }) {
	const [times, lines] = useMemo(() => {
		const middle = (c.windows.before.to + c.windows.after.from) / 2;
		const first = c.chart.filter((p) => p.side === 'before'),
			second = c.chart.filter((p) => p.side === 'after');
		const column = (id: string) => {
			const values = (parts: Part[]) => parts.map((p) => (typeof p[id] === 'number' ? (p[id] as number) : NaN));
			return [...values(first), NaN, ...values(second)]; // a gap between them
		};
		const at = (parts: Part[]) => parts.map((p) => (p.from + p.to) / 2);
		const made: Line[] = [
			{ label: 'arrived', values: column('arrivals'), color: '--c7', dash: true },
			{ label: 'finished', values: column('finished'), color: '--c1' },
			{ label: 'good, at least', values: column('good_low'), color: '--good', width: 2.5 },
		];
		return [[...at(first), middle, ...at(second)], made];
	}, [c]);
	if (!c.chart.length) return null;
	const mark = { t: c.event.time, text: c.event.text ?? '', kind: 'deploy' as const };
	return (
		<Chart
			label="Requests before and after"
			times={times}
			lines={lines}
			unit="1/s"
			marks={[mark]}
			from={c.chart[0]!.from}
			to={c.chart[c.chart.length - 1]!.to}
			height={170}
		/>
	);
}

function One({ change }: { change: Data<ChangeAnswer> }) {
	const c = change.data;
	if (change.error) return <Failure error={change.error} what="The change" />;
	if (!c) return <Loading what="Before and after" />;
	return (
		<Panel
			wide
			title={'Before and after: ' + (c.event.text ?? 'this moment')}
			basis={`${dateText(c.event.time)} · ${c.scope.name ?? 'no samples'} · ${durationText(c.windows.settle_s)} left out for settling`}
			notes={c.notes}
			help="Windows are chosen: equal, without the time to settle, ended by other events or by the data. Before and after is not A against B."
		>
			<p>
				<b>{c.verdict.text}</b>
			</p>
			<OverTime c={c} />
			<div class="scroll" tabIndex={0} role="region" aria-label="Cost before and after, table">
				<table>
					<thead>
						<tr>
							<th scope="col">Figure</th>
							<th scope="col" class="n">
								Before
							</th>
							<th scope="col" class="n">
								After
							</th>
							<th scope="col">Change</th>
						</tr>
					</thead>
					<tbody>
						{c.panels
							.filter((p) => shown.test(p.id))
							.map((p) => (
								<tr>
									<th scope="row">{p.title}</th>
									<td class="n" title={p.a?.unknown}>
										{estimateText(p.a, p.unit)}
									</td>
									<td class="n" title={p.b?.unknown}>
										{estimateText(p.b, p.unit)}
									</td>
									<td>{changeText(p.change)}</td>
								</tr>
							))}
					</tbody>
				</table>
			</div>
		</Panel>
	);
}

function List({ s }: { s: Scene }) {
	// A day of everybody's answers is looked through for it: once a minute, and when something is told.
	const minute = Math.floor(s.range.to / 60);
	const found = useData('changes', minute + useLive().annotations, (signal) => ask<Change[]>('/api/goodput/v1/changes', {}, signal).then((a) => a.data));
	if (!found.data?.length) return null;
	return (
		<section class="panel" aria-label="Changes of capacity">
			<p>
				<b>Changes of capacity</b> <span class="dim">told, or seen by who answers; the last 24 hours</span>
			</p>
			<ul class="changes">
				{[...found.data].reverse().map((c) => (
					<li>
						<span class="dim">{dateText(c.time)}</span> {c.text}
						{c.up_before !== undefined && c.up_after !== undefined && c.up_before !== c.up_after
							? ` (${c.up_before} → ${c.up_after} answer)`
							: ''}
						: <a href={changeAddress(c.time)}>before and after</a>
					</li>
				))}
			</ul>
		</section>
	);
}

/** The change that the address names, or all that are known. */
export function Changes({ s, change }: { s: Scene; change: Data<ChangeAnswer> }) {
	if (!s.place.more.event) return <List s={s} />;
	return (
		<>
			<One change={change} />
			<p>
				<a href={addressWith({ view: '/compare', more: { ...s.place.more, event: '', settle: '', length: '' } })}>all changes, and other windows</a>
			</p>
		</>
	);
}
