// Two windows, or two parts of the fleet, side by side: what changed, and whether it is more than noise.
import { useMemo, useState } from 'preact/hooks';
import { ask, useData, type Matrix } from '../api';
import { bucketsOf, matchersOf, queryOf, type Bound } from '../binding';
import { figure, isKnown, number, rank, type Reading } from '../format';
import { instancesOf } from '../fleet';
import { bucketsFrom, quantileAt, quantileInterval } from '../histogram';
import type { Scene } from '../scene';
import { go } from '../state';
import { dateText, durationText, parseTime, rangeOf, type Range } from '../time';
import { Code, Failure, Loading } from '../ui/basics';
import { Panel } from '../ui/panel';
import { Changes, useChange, windowsOf } from './changes';

type Way = 'up' | 'down' | 'none'; // which way is worse

const rows: [id: string, way: Way, kind: 'plain' | 'quantile' | 'level', q?: number][] = [
	['requests_per_s', 'none', 'plain'],
	['good_per_s', 'none', 'plain'],
	['success_rate', 'down', 'plain'],
	['truncated_rate', 'up', 'plain'],
	['ttft_p50', 'up', 'quantile', 0.5],
	['ttft_p99', 'up', 'quantile', 0.99],
	['tpot_p50', 'up', 'quantile', 0.5],
	['tpot_p99', 'up', 'quantile', 0.99],
	['itl_p99', 'up', 'quantile', 0.99],
	['e2e_p50', 'up', 'quantile', 0.5],
	['e2e_p99', 'up', 'quantile', 0.99],
	['queue_mean', 'up', 'plain'],
	['prefill_mean', 'up', 'plain'],
	['decode_mean', 'up', 'plain'],
	['generation_tps', 'none', 'plain'],
	['prompt_tps', 'none', 'plain'],
	['token_io_ratio', 'none', 'plain'],
	['prompt_len_mean', 'none', 'plain'],
	['output_len_mean', 'none', 'plain'],
	['prefix_hit_rate', 'down', 'plain'],
	['preemptions_per_s', 'up', 'plain'],
	['running', 'none', 'level'],
	['waiting', 'up', 'level'],
	['kv_usage', 'up', 'level'],
	['system_efficiency', 'down', 'plain'],
];

interface Side {
	range: Range;
	instances: string[] | undefined;
}

interface Cell {
	reading: Reading;
	query?: string;
	interval?: [number, number];
}

type Vector = { result: { metric: Record<string, string>; value: [number, string] }[] };

const nothing: Reading = { kind: 'unknown', reason: 'no-traffic', why: 'no samples, or nothing happened in this window' };

async function cellOf(b: Bound, side: Side, [id, , kind, q]: (typeof rows)[number], signal: AbortSignal): Promise<Cell> {
	const span = Math.round(side.range.to - side.range.from),
		window = span + 's',
		time = side.range.to,
		matchers = matchersOf(side.instances);
	const asked = queryOf(b, id, matchers, window);
	if (!asked) return { reading: { kind: 'unknown', reason: 'absent', why: 'no engine here exports it' } };
	const run = (query: string) => ask<Vector>('/api/v1/query', { query, time }, signal).then((a) => a.data.result);
	if (kind === 'quantile') {
		const buckets = bucketsOf(b, id, matchers, window)!;
		const matrix: Matrix = {
			resultType: 'matrix',
			result: (await run(buckets.text)).map((r) => ({ metric: r.metric, values: [[time, r.value[1]]] })),
		};
		const h = bucketsFrom(matrix, [time]),
			found = quantileAt(h, 0, q!);
		const events = h.totals[0];
		const reading: Reading =
			found.kind === 'unknown'
				? nothing
				: found.kind === 'value'
					? { kind: 'value', value: found.value, events }
					: found.kind === 'at_least'
						? { kind: 'at_least', low: found.value, share_beyond: 1, events }
						: { kind: 'at_most', high: found.value, events };
		return { reading, query: asked.text, interval: quantileInterval(h, 0, q!) };
	}
	const query = kind === 'level' ? `avg_over_time((${asked.text})[${window}:${Math.max(1, Math.round(span / 120))}s])` : asked.text;
	const result = await run(query),
		value = result[0] ? Number(result[0].value[1]) : NaN;
	return { reading: isFinite(value) ? { kind: 'value', value } : nothing, query };
}

async function sideOf(b: Bound, side: Side, signal: AbortSignal): Promise<Cell[]> {
	return Promise.all(rows.map((row) => cellOf(b, side, row, signal)));
}

/* How much of a window has samples: where the watch began inside it, rates over the whole of it are too low. */
async function coveredOf(side: Side, signal: AbortSignal): Promise<number> {
	const span = Math.round(side.range.to - side.range.from),
		step = Math.max(1, Math.round(span / 200));
	const { data } = await ask<Vector>(
		'/api/v1/query',
		{ query: `min_over_time((min(timestamp(up)))[${span}s:${step}s])`, time: side.range.to },
		signal,
	);
	return data.result[0] ? Math.min(1, (side.range.to - Number(data.result[0].value[1])) / span) : 0;
}

function changeOf(a: Cell, b: Cell, way: Way): [text: string, kind: string] {
	if (!isKnown(a.reading) || !isKnown(b.reading)) return ['unknown', ''];
	if (a.reading.kind !== 'value' || b.reading.kind !== 'value') {
		const x = a.reading,
			y = b.reading;
		if (x.kind === y.kind) return ['both are bounds', ''];
		if (x.kind === 'at_least' && y.kind === 'value' && x.low! > y.value!) return ['more', way === 'up' ? 'bad' : ''];
		if (y.kind === 'at_least' && x.kind === 'value' && y.low! > x.value!) return ['less', way === 'up' ? 'ok' : ''];
		return ['a bound: not comparable', ''];
	}
	const from = rank(b.reading),
		to = rank(a.reading);
	if (Math.abs(to - from) <= 1e-9 * Math.abs(from)) return ['same', '']; // sums of floats differ in their last digits
	if (a.interval && b.interval && a.interval[0] <= b.interval[1] && b.interval[0] <= a.interval[1])
		return [from ? `${to > from ? '+' : ''}${number(to / from - 1, 'ratio')}, within noise` : 'within noise', ''];
	const text = from ? `${to > from ? '+' : ''}${number(to / from - 1, 'ratio')}` : 'from 0';
	const worse = way !== 'none' && to > from === (way === 'up'),
		small = from && !(a.interval && b.interval) && Math.abs(to / from - 1) < 0.2;
	return [text, small || way === 'none' ? '' : worse ? 'bad' : 'ok'];
}

function partial(what: string, covered: number): string {
	return covered > 0.95
		? ''
		: covered > 0
			? `${what}: samples cover only ${number(covered, 'ratio')} of the window, so its rates are too low by as much`
			: `${what}: there are no samples in this window`;
}

export default function Compare({ s }: { s: Scene }) {
	const more = s.place.more,
		now = s.range.to;
	const change = useChange(s),
		chosen = useMemo(() => windowsOf(change), [change.data]);
	const reference: Side = useMemo(() => {
		const span = s.range.to - s.range.from;
		const range = chosen
			? chosen.before
			: more.bfrom && more.bto
				? rangeOf(more.bfrom, more.bto, now) : { from: s.range.from - span, to: s.range.from, live: false };
		const place = {
			...s.place,
			pools: more.bpool ? [more.bpool] : more.breplica ? [] : s.place.pools,
			replicas: more.breplica ? [more.breplica] : more.bpool ? [] : s.place.replicas,
		};
		return { range, instances: instancesOf(place, s.members) };
	}, [more.bfrom, more.bto, more.bpool, more.breplica, s.range, s.members, s.place, chosen]);
	const side: Side = { range: chosen?.after ?? s.range, instances: s.instances };
	const [from, setFrom] = useState(''),
		[to, setTo] = useState(''),
		[why, tell] = useState(''),
		[open, setOpen] = useState('');
	const spec = JSON.stringify([side.instances, reference.instances, more.bfrom, more.bto, chosen]);
	const waits = !!more.event && !change.data && !change.error;
	const data = useData(s.bound && s.ready && !waits ? `compare ${s.grid.key} ${spec}` : '', s.tick, async (signal) => {
		const [a, b, ofA, ofB] = await Promise.all([
			sideOf(s.bound!, side, signal),
			sideOf(s.bound!, reference, signal),
			coveredOf(side, signal),
			coveredOf(reference, signal),
		]);
		return { a, b, notes: [partial('This', ofA), partial('Against', ofB)].filter(Boolean) };
	});
	const shift = (seconds: number) =>
		go({ more: { ...more, bfrom: String(Math.round(s.range.from - seconds)), bto: String(Math.round(s.range.to - seconds)) } });
	const apply = (event: Event) => {
		event.preventDefault();
		const start = parseTime(from, now),
			end = parseTime(to, now);
		if (!(start < end)) return tell('Two times, the first before the second: now-2h, 2026-01-15 03:00, or unix seconds.');
		tell('');
		go({ more: { ...more, bfrom: String(Math.round(start)), bto: String(Math.round(end)) } });
	};
	const sideText = (x: Side, what: string) =>
		`${what}: ${dateText(x.range.from)} to ${dateText(x.range.to)} (${durationText(x.range.to - x.range.from)}), ${x.instances ? x.instances.join(', ') : 'all replicas'}`;
	const same =
		JSON.stringify([side.range.from, side.range.to, side.instances]) ===
		JSON.stringify([reference.range.from, reference.range.to, reference.instances]);
	return (
		<>
			<Changes s={s} change={change} />
			<section class="panel" aria-label="What is compared">
				<p>
					<b>{sideText(side, 'This')}</b> <span class="dim">{chosen ? 'after the change, with the filters above' : 'the range and the filters above'}</span>
				</p>
				<p>
					<b>{sideText(reference, 'Against')}</b>
				</p>
				<div class="row">
					<button type="button" onClick={() => go({ more: { ...more, bfrom: '', bto: '' } })}>
						the time just before
					</button>
					<button type="button" onClick={() => shift(3600)}>
						an hour earlier
					</button>
					<button type="button" onClick={() => shift(86400)}>
						a day earlier
					</button>
					<button type="button" onClick={() => shift(0)}>
						the same time
					</button>
					<label>
						of{' '}
						<select
							value={more.bpool ? 'p:' + more.bpool : more.breplica ? 'r:' + more.breplica : ''}
							onChange={(e) => {
								const v = e.currentTarget.value;
								go({ more: { ...more, bpool: v.startsWith('p:') ? v.slice(2) : '', breplica: v.startsWith('r:') ? v.slice(2) : '' } });
							}}
						>
							<option value="">the same replicas</option>
							{s.members.pools.map((p) => (
								<option value={'p:' + p}>pool {p}</option>
							))}
							{s.members.targets.map((t) => (
								<option value={'r:' + t}>{t}</option>
							))}
						</select>
					</label>
					<form class="row" onSubmit={apply}>
						<label>
							from <input value={from} size={16} placeholder="now-3h" onInput={(e) => setFrom(e.currentTarget.value)} />
						</label>
						<label>
							to <input value={to} size={16} placeholder="now-2h" onInput={(e) => setTo(e.currentTarget.value)} />
						</label>
						<button type="submit">Compare</button>
					</form>
				</div>
				{why ? (
					<p class="note" role="alert">
						{why}
					</p>
				) : null}
				{same ? <p class="note">Both sides are the same.</p> : null}
			</section>
			<Panel
				wide
				title="What changed"
				basis="figures over each window; levels are means over it"
				loading={data.loading}
				notes={data.data?.notes}
				help="A quantile's change counts when the 95 % intervals do not overlap, a mean's or share's from 20 % on. Rates follow the load and are neither better nor worse. A bound is not compared as if it were a value."
			>
				{data.error ? <Failure error={data.error} what="The comparison" /> : null}
				{data.data ? (
					<div class="scroll" tabIndex={0} role="region" aria-label="Comparison, table">
						<table>
							<thead>
								<tr>
									<th scope="col">Figure</th>
									<th scope="col" class="n">
										Against
									</th>
									<th scope="col" class="n">
										This
									</th>
									<th scope="col">Change</th>
									<th scope="col">Basis</th>
								</tr>
							</thead>
							<tbody>
								{rows.map(([id, way], i) => {
									const a = data.data!.a[i]!,
										b = data.data!.b[i]!,
										signal = s.bound!.signals.get(id),
										unit = signal?.unit ?? '';
									const [text, kind] = changeOf(a, b, way);
									const show = (c: Cell) => (
										<>
											<span class={isKnown(c.reading) ? '' : 'dim'} title={c.reading.why}>
												{figure(c.reading, unit)}
											</span>
											{c.reading.events !== undefined ? <small class="dim"> n = {Math.round(c.reading.events)}</small> : null}
										</>
									);
									return [
										<tr>
											<th scope="row">{signal?.title ?? id}</th>
											<td class="n">{show(b)}</td>
											<td class="n">{show(a)}</td>
											<td class={'status ' + kind}>
												{kind === 'bad' ? '▲ worse ' : kind === 'ok' ? '▼ better ' : ''}
												{text}
											</td>
											<td>
												{a.query ? (
													<button
														type="button"
														class="quiet"
														aria-expanded={open === id}
														aria-label={'Query of ' + (signal?.title ?? id)}
														onClick={() => setOpen(open === id ? '' : id)}
													>
														query
													</button>
												) : (
													a.reading.why
												)}
											</td>
										</tr>,
										open === id && a.query ? (
											<tr>
												<td colSpan={5} class="wrap">
													<Code text={a.query} what="query" />
													<span class="dim">
														at {dateText(side.range.to, true)}; against: at {dateText(reference.range.to, true)}
													</span>
												</td>
											</tr>
										) : null,
									];
								})}
							</tbody>
						</table>
					</div>
				) : data.error ? null : (
					<Loading what="Both windows" />
				)}
			</Panel>
		</>
	);
}
