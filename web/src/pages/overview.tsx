// Is useful work being done, where is it lost, what to do first.
import { useMemo, useState } from 'preact/hooks';
import { ask, useData, useLive, type Finding, type Report, type Scope } from '../api';
import { matchersOf, queryOf } from '../binding';
import { isKnown, rank } from '../format';
import { colorIndex } from '../fleet';
import { goodputOf } from '../goodput';
import { shareWithin } from '../histogram';
import { useBuckets, useQuery, useSignal, whyEmpty, type Scene } from '../scene';
import { gridOf } from '../series';
import { addressWith } from '../state';
import { Failure, Loading, Simulated, Spark } from '../ui/basics';
import { Figure } from '../ui/basis';
import { Chart } from '../ui/chart';
import { Panel } from '../ui/panel';
import { Findings } from './findings';
import type { Line } from '../ui/plot';

const tiles: [id: string, label: string][] = [
	['requests_per_s', 'Finished'],
	['success_rate', 'Completion'],
	['ttft_p99', 'TTFT P99'],
	['tpot_p99', 'TPOT P99'],
	['e2e_p99', 'E2E P99'],
	['running', 'Running'],
	['waiting', 'Waiting'],
	['kv_usage', 'KV, fullest'],
	['generation_tps', 'Tokens/s out'],
];

function whereOf(scope: Scope): string {
	return scope.kind === 'fleet' ? 'fleet' : `${scope.kind} ${scope.scope}`;
}

function Tiles({ s }: { s: Scene }) {
	const scope = s.scope, signals = s.bound?.signals;
	if (!scope) return null;
	const g = goodputOf(scope), where = whereOf(scope), time = s.fleet.data?.window.to;
	return (
		<section class="tiles" aria-label="Figures of now">
			<div class="tile main">
				<span>Goodput</span>
				<Figure unit="1/s" of={{ id: 'good_per_s', where, reading: g.reading, matchers: s.matchers, time,
					explain: `Completed requests a second that meet every objective (${g.text || 'none is known'}). Histograms of single latencies bound it: ` +
						'at least 1 minus the sum of the misses, at most 1 minus the largest.' + (g.binding ? ` Most requests miss ${g.binding}.` : '') + (g.missing ? ` ${g.missing} is unknown, so all may miss it.` : '') }} />
				<small class="dim">{g.text}{g.missing ? `; ${g.missing} is unknown` : g.binding ? `; ${g.binding} binds` : ''}</small>
			</div>
			{tiles.map(([id, label]) => {
				const reading = scope.readings[id], n = reading?.events;
				return (
					<div class="tile">
						<span>{label}</span>
						<Figure compact={!/_p99|rate|per_s/.test(id)} unit={reading?.unit ?? signals?.get(id)?.unit ?? ''} of={{ id, where, reading, matchers: s.matchers, time }} />
						<small class="dim">{n !== undefined ? `n = ${Math.round(n)}` : reading?.targets ? `${reading.targets[0]} of ${reading.targets[1]} targets` : ' '}</small>
					</div>
				);
			})}
		</section>
	);
}

function GoodputChart({ s }: { s: Scene }) {
	const all = useSignal(s, 'requests_per_s'), good = useSignal(s, 'good_per_s'), arrived = useSignal(s, 'arrivals_per_s');
	const ttft = useBuckets(s, 'ttft_p99'), tpot = useBuckets(s, 'tpot_p99');
	const slo = s.scope?.readings;
	const shown = all.data.data, grid = shown?.grid ?? s.grid;
	const lines = useMemo(() => {
		const column = (d: typeof shown) => (d?.grid === grid || d?.grid.from === grid.from ? d?.columns[0]?.values : undefined) ?? grid.times.map(() => NaN);
		const completed = column(good.data.data);
		const limits = [[ttft, slo?.slo_ttft], [tpot, slo?.slo_tpot]] as const;
		const low = [...completed], high = [...completed];
		grid.times.forEach((_, k) => {
			let misses = 0, largest = 0;
			for (const [h, limit] of limits) {
				if (!isKnown(limit)) continue;
				// An objective whose latency is not exported may be missed by all.
				if (!h.query) { misses += 1; continue; }
				const at = h.data.data, within = at && at.grid.from === grid.from && at.grid.step === grid.step ? shareWithin(at.buckets, k, rank(limit)) : undefined;
				if (!within) { misses = NaN; break; }
				misses += 1 - within[0];
				largest = Math.max(largest, 1 - within[1]);
			}
			low[k] = completed[k]! * Math.max(0, 1 - misses);
			high[k] = completed[k]! * (1 - largest) + 0 * misses;
		});
		const out: Line[] = [
			{ label: 'arrived', values: column(arrived.data.data), color: '--c7', dash: true },
			{ label: 'finished', values: column(shown), color: '--c1' },
			{ label: 'completed', values: completed, color: '--c4' },
			{ label: 'good, at most', values: high, color: '--good', width: 1, fillTo: 4 },
			{ label: 'good, at least', values: low, color: '--good', width: 2.5 },
		];
		return out;
	}, [shown, good.data.data, arrived.data.data, ttft.data.data, tpot.data.data]);
	const queries = [all, good, arrived, ttft, tpot].flatMap((a, i) => (a.query ? [{ title: ['finished', 'completed', 'arrived', 'TTFT buckets', 'TPOT buckets'][i]!, ...a.query }] : []));
	return (
		<Panel wide title="Goodput against throughput" basis={`requests/s · window ${grid.window} · step ${grid.step} s`} queries={queries} error={all.data.error}
			loading={all.data.loading} empty={whyEmpty(s, all.query, all.data)} stale={!!all.data.error && !!shown} notes={shown?.notes}
			help="Arrived, finished, completed (stop or length), and of these the ones that meet every objective: a band, as histograms of single latencies only bound it."
			table={() => ({ heads: ['time', ...lines.map((l) => l.label)], rows: grid.times.map((t, i) => [new Date(t * 1000).toISOString(), ...lines.map((l) => (isFinite(l.values[i]!) ? String(l.values[i]) : ''))]) })}>
			{shown ? <Chart label="Goodput against throughput" times={grid.times} lines={lines} unit="1/s" marks={s.marks} from={grid.from} to={grid.to} height={210} /> : <Loading what="Goodput" />}
		</Panel>
	);
}

/* ---- pools and replicas ---- */

const columns: [id: string, head: string, outlier?: 'high' | 'low'][] = [
	['running', 'Run'],
	['waiting', 'Wait', 'high'],
	['kv_usage', 'KV', 'high'],
	['ttft_p99', 'TTFT P99', 'high'],
	['tpot_p99', 'TPOT P99', 'high'],
	['e2e_p99', 'E2E P99', 'high'],
	['good_per_s', 'Good/s'],
	['generation_tps', 'tok/s', 'low'],
	['preemptions_per_s', 'Preempt/s', 'high'],
];

function median(values: number[]): number {
	const known = values.filter(isFinite).sort((a, b) => a - b);
	return known.length ? (known[(known.length - 1) >> 1]! + known[known.length >> 1]!) / 2 : NaN;
}

/* Against the median of its pool: the median does not move with one bad replica, the mean and the best do. */
function outlierText(id: string, v: number, mid: number, way: 'high' | 'low' | undefined, peers: number): string | undefined {
	if (!way || peers < 3 || !isFinite(v) || !isFinite(mid)) return undefined;
	if (id === 'kv_usage') return v - mid > 0.15 ? `${Math.round((v - mid) * 100)} points above the median` : undefined;
	if (id === 'waiting' && v < mid + 5) return undefined;
	if (id === 'preemptions_per_s' && v < mid + 0.1) return undefined;
	if (way === 'high') return v > mid * 1.5 && v > 0 ? (mid > 0 ? `${(v / mid).toFixed(1)} times the median` : 'median 0') : undefined;
	return v < mid / 1.5 ? `${((v / mid) * 100).toFixed(0)} % of the median` : undefined;
}

function Pools({ s }: { s: Scene }) {
	const pools = (s.fleet.data?.scopes ?? []).filter((x) => x.kind === 'pool');
	if (pools.length < 2) return null;
	return (
		<Panel title="Pools" basis={`${pools.length}`}>
			<div class="scroll" tabIndex={0} role="region" aria-label="Pools, table">
				<table>
					<thead><tr><th scope="col">Pool</th><th scope="col">Role</th><th scope="col">Mix</th><th scope="col" class="n">Goodput</th>{columns.map(([, head]) => <th scope="col" class="n">{head}</th>)}</tr></thead>
					<tbody>
						{pools.map((p) => (
							<tr>
								<th scope="row"><a href={addressWith({ pools: [p.scope], replicas: [] })}>{p.scope}</a></th>
								<td>{p.role ?? '–'}</td>
								<td>{isKnown(p.readings.workload_class) ? p.readings.workload_class.text : '–'}</td>
								<td class="n"><Figure compact unit="1/s" of={{ id: 'good_per_s', where: 'pool ' + p.scope, reading: goodputOf(p).reading, matchers: matchersOf(s.members.byPool.get(p.scope) ?? []) }} /></td>
								{columns.map(([id]) => <td class="n"><Figure compact unit={p.readings[id]?.unit ?? ''} of={{ id, where: 'pool ' + p.scope, reading: p.readings[id], matchers: matchersOf(s.members.byPool.get(p.scope) ?? []) }} /></td>)}
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</Panel>
	);
}

function statusOf(scope: Scope): [mark: string, text: string, kind: string] {
	const outcome = scope.readings.scrape_outcome?.text ?? '';
	if (outcome && outcome !== 'ok' && outcome !== 'partial') return ['✖', outcome, 'bad'];
	if (scope.readings.running?.stale) return ['◔', 'stale', 'warn'];
	return outcome ? ['●', outcome === 'ok' ? 'up' : outcome, outcome === 'ok' ? 'ok' : 'warn'] : ['?', 'not scraped yet', 'warn'];
}

function Replicas({ s }: { s: Scene }) {
	const [sort, setSort] = useState<[string, boolean]>(['', false]);
	const [wanted, want] = useState('');
	const all = (s.fleet.data?.scopes ?? []).filter((x) => x.kind === 'target');
	const listed = all.filter((x) => (!s.instances || s.instances.includes(x.scope)) && (!wanted || x.scope.includes(wanted) || (x.pool ?? '').includes(wanted)));
	const peers = new Map<string, Scope[]>();
	all.forEach((x) => peers.set(x.pool ?? '', [...(peers.get(x.pool ?? '') ?? []), x]));
	const mids = useMemo(() => {
		const out = new Map<string, number>();
		for (const [pool, members] of peers) for (const [id] of columns) out.set(pool + ' ' + id, median(members.map((m) => rank(m.readings[id]))));
		return out;
	}, [s.fleet.data]);
	const sparkGrid = useMemo(() => gridOf(s.range, s.grid.step, 45), [s.grid]);
	const query = queryOf(s.bound, 'generation_tps', s.matchers, sparkGrid.window, ['instance']);
	const sparks = useQuery(s, query?.text, sparkGrid);
	const byName = new Map((sparks.data?.columns ?? []).map((c) => [c.labels.instance ?? '', c.values]));
	const marks = new Map<Scope, Map<string, string>>();
	for (const x of all) {
		const own = new Map<string, string>(), pool = x.pool ?? '';
		for (const [id, , way] of columns) {
			const text = outlierText(id, rank(x.readings[id]), mids.get(pool + ' ' + id) ?? NaN, way, peers.get(pool)?.length ?? 0);
			if (text) own.set(id, text);
		}
		marks.set(x, own);
	}
	const [by, up] = sort;
	const order = [...listed].sort((a, b) => {
		if (by === 'name') return (up ? 1 : -1) * a.scope.localeCompare(b.scope, undefined, { numeric: true });
		if (by) {
			const x = rank(a.readings[by]), y = rank(b.readings[by]);
			return (isFinite(x) ? 0 : 1) - (isFinite(y) ? 0 : 1) || (up ? x - y : y - x);
		}
		// Problems first, then by name: the order does not move while nothing happens.
		const weight = (x: Scope) => (statusOf(x)[2] === 'ok' ? 0 : 100) + marks.get(x)!.size;
		return weight(b) - weight(a) || a.scope.localeCompare(b.scope, undefined, { numeric: true });
	});
	const head = (id: string, text: string) => (
		<th scope="col" class={id === 'name' ? '' : 'n'} aria-sort={by === id ? (up ? 'ascending' : 'descending') : undefined}>
			<button type="button" class="quiet" onClick={() => setSort(by === id ? (up ? ['', false] : [id, true]) : [id, false])}>{text}{by === id ? (up ? ' ↑' : ' ↓') : ''}</button>
		</th>
	);
	return (
		<Panel title="Replicas" basis={`${listed.length} of ${all.length} · problems first, ▲ marks what is off its pool's median`} wide error={s.fleet.data ? undefined : s.fleet.error}
			queries={query ? [{ title: 'sparkline: generated tokens/s', ...query }] : []}>
			<label class="find">Find <input type="search" value={wanted} onInput={(e) => want(e.currentTarget.value)} placeholder="replica or pool" id="find" /></label>
			<div class="scroll replicas" tabIndex={0} role="region" aria-label="Replicas, table">
				<table>
					<thead><tr>{head('name', 'Replica')}<th scope="col">State</th>{s.members.pools.length > 1 ? <th scope="col">Pool</th> : null}{columns.map(([id, text]) => head(id, text))}<th scope="col">tok/s over the range</th></tr></thead>
					<tbody>
						{order.map((x) => {
							const [mark, text, kind] = statusOf(x), own = marks.get(x)!;
							return (
								<tr key={x.scope} class={kind === 'bad' ? 'problem' : own.size ? 'odd' : ''}>
									<th scope="row"><a href={addressWith({ replicas: [x.scope], view: '/latency' })}>{x.scope}</a>{s.simulated.has(x.scope) ? <> <Simulated /></> : null}</th>
									<td class={'status ' + kind}><span aria-hidden="true">{mark}</span> {text}</td>
									{s.members.pools.length > 1 ? <td>{x.pool ?? '–'}</td> : null}
									{columns.map(([id]) => (
										<td class="n">
											<Figure compact unit={x.readings[id]?.unit ?? s.bound?.signals.get(id)?.unit ?? ''} mark={own.get(id)}
												of={{ id, where: x.scope, reading: x.readings[id], matchers: matchersOf([x.scope]), time: s.fleet.data?.window.to }} />
										</td>
									))}
									<td><Spark values={byName.get(x.scope) ?? []} label={`generated tokens per second of ${x.scope}`} color={`var(--c${colorIndex(s.members, x.scope) + 1})`} /></td>
								</tr>
							);
						})}
					</tbody>
				</table>
				{order.length ? null : <p class="state empty">{all.length ? 'No replica fits the filters.' : 'No replica has been seen yet.'}</p>}
			</div>
		</Panel>
	);
}

export interface FindingsReport extends Report {
	findings: Finding[];
}

export default function Overview({ s }: { s: Scene }) {
	const { count } = useLive();
	// Not drawn again when only the findings are.
	const rest = useMemo(() => (
		<>
			<Tiles s={s} />
			<div class="grid">
				<GoodputChart s={s} />
				<Pools s={s} />
				<Replicas s={s} />
			</div>
		</>
	), [s]);
	const found = useData('findings', count, (signal) => ask<FindingsReport>('/api/goodput/v1/findings', {}, signal).then((a) => a.data));
	return (
		<>
			{found.data ? <Findings s={s} findings={found.data.findings} /> : found.error ? (found.error.kind === 'unavailable' ? <p class="state empty">Waiting for the first evaluation: it takes two scrapes of a target.</p> : <Failure error={found.error} what="Findings" />) : <Loading what="Findings" />}
			{rest}
		</>
	);
}
