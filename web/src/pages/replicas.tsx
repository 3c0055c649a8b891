// Pools and replicas: figures of now, who is off its pool's median, and how it went over the range.
import { useMemo, useState } from 'preact/hooks';
import type { Scope } from '../api';
import { matchersOf, queryOf } from '../binding';
import { isKnown, rank } from '../format';
import { colorIndex } from '../fleet';
import { goodputOf } from '../goodput';
import { useQuery, type Scene } from '../scene';
import { gridOf } from '../series';
import { addressWith } from '../state';
import { Simulated, Spark } from '../ui/basics';
import { Figure } from '../ui/basis';
import { Panel } from '../ui/panel';

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

export function Pools({ s }: { s: Scene }) {
	const pools = (s.fleet.data?.scopes ?? []).filter((x) => x.kind === 'pool');
	if (pools.length < 2) return null;
	return (
		<Panel title="Pools" basis={`${pools.length}`}>
			<div class="scroll" tabIndex={0} role="region" aria-label="Pools, table">
				<table>
					<thead>
						<tr>
							<th scope="col">Pool</th>
							<th scope="col">Role</th>
							<th scope="col">Mix</th>
							<th scope="col" class="n">
								Goodput
							</th>
							{columns.map(([, head]) => (
								<th scope="col" class="n">
									{head}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{pools.map((p) => (
							<tr>
								<th scope="row">
									<a href={addressWith({ pools: [p.scope], replicas: [] })}>{p.scope}</a>
								</th>
								<td>{p.role ?? '–'}</td>
								<td>{isKnown(p.readings.workload_class) ? p.readings.workload_class.text : '–'}</td>
								<td class="n">
									<Figure
										compact
										unit="1/s"
										of={{
											id: 'good_per_s',
											where: 'pool ' + p.scope,
											reading: goodputOf(p).reading,
											matchers: matchersOf(s.members.byPool.get(p.scope) ?? []),
										}}
									/>
								</td>
								{columns.map(([id]) => (
									<td class="n">
										<Figure
											compact
											unit={p.readings[id]?.unit ?? ''}
											of={{
												id,
												where: 'pool ' + p.scope,
												reading: p.readings[id],
												matchers: matchersOf(s.members.byPool.get(p.scope) ?? []),
											}}
										/>
									</td>
								))}
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

export function Replicas({ s }: { s: Scene }) {
	const [sort, setSort] = useState<[string, boolean]>(['', false]);
	const [wanted, want] = useState('');
	const all = (s.fleet.data?.scopes ?? []).filter((x) => x.kind === 'target');
	const listed = all.filter(
		(x) => (!s.instances || s.instances.includes(x.scope)) && (!wanted || x.scope.includes(wanted) || (x.pool ?? '').includes(wanted)),
	);
	const peers = new Map<string, Scope[]>();
	all.forEach((x) => peers.set(x.pool ?? '', [...(peers.get(x.pool ?? '') ?? []), x]));
	const mids = useMemo(() => {
		const out = new Map<string, number>();
		for (const [pool, members] of peers)
			for (const [id] of columns) out.set(pool + ' ' + id, median(members.map((m) => rank(m.readings[id]))));
		return out;
	}, [s.fleet.data]);
	const sparkGrid = useMemo(() => gridOf(s.range, s.grid.step, 45), [s.grid]);
	const query = queryOf(s.bound, 'generation_tps', s.matchers, sparkGrid.window, ['instance']);
	const sparks = useQuery(s, query?.text, sparkGrid);
	const byName = new Map((sparks.data?.columns ?? []).map((c) => [c.labels.instance ?? '', c.values]));
	const marks = new Map<Scope, Map<string, string>>();
	for (const x of all) {
		const own = new Map<string, string>(),
			pool = x.pool ?? '';
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
			const x = rank(a.readings[by]),
				y = rank(b.readings[by]);
			return (isFinite(x) ? 0 : 1) - (isFinite(y) ? 0 : 1) || (up ? x - y : y - x);
		}
		// Problems first, then by name: the order does not move while nothing happens.
		const weight = (x: Scope) => (statusOf(x)[2] === 'ok' ? 0 : 100) + marks.get(x)!.size;
		return weight(b) - weight(a) || a.scope.localeCompare(b.scope, undefined, { numeric: true });
	});
	const head = (id: string, text: string) => (
		<th scope="col" class={id === 'name' ? '' : 'n'} aria-sort={by === id ? (up ? 'ascending' : 'descending') : undefined}>
			<button type="button" class="quiet" onClick={() => setSort(by === id ? (up ? ['', false] : [id, true]) : [id, false])}>
				{text}
				{by === id ? (up ? ' ↑' : ' ↓') : ''}
			</button>
		</th>
	);
	return (
		<Panel
			title="Replicas"
			basis={`${listed.length} of ${all.length} · problems first, ▲ marks what is off its pool's median`}
			wide
			error={s.fleet.data ? undefined : s.fleet.error}
			queries={query ? [{ title: 'sparkline: generated tokens/s', ...query }] : []}
		>
			<label class="find">
				Find <input type="search" value={wanted} onInput={(e) => want(e.currentTarget.value)} placeholder="replica or pool" id="find" />
			</label>
			<div class="scroll replicas" tabIndex={0} role="region" aria-label="Replicas, table">
				<table>
					<thead>
						<tr>
							{head('name', 'Replica')}
							<th scope="col">State</th>
							{s.members.pools.length > 1 ? <th scope="col">Pool</th> : null}
							{columns.map(([id, text]) => head(id, text))}
							<th scope="col">tok/s over the range</th>
						</tr>
					</thead>
					<tbody>
						{order.map((x) => {
							const [mark, text, kind] = statusOf(x),
								own = marks.get(x)!;
							return (
								<tr key={x.scope} class={kind === 'bad' ? 'problem' : own.size ? 'odd' : ''}>
									<th scope="row">
										<a href={addressWith({ replicas: [x.scope], view: '/latency' })}>{x.scope}</a>
										{s.simulated.has(x.scope) ? (
											<>
												{' '}
												<Simulated />
											</>
										) : null}
									</th>
									<td class={'status ' + kind}>
										<span aria-hidden="true">{mark}</span> {text}
									</td>
									{s.members.pools.length > 1 ? <td>{x.pool ?? '–'}</td> : null}
									{columns.map(([id]) => (
										<td class="n">
											<Figure
												compact
												unit={x.readings[id]?.unit ?? s.bound?.signals.get(id)?.unit ?? ''}
												mark={own.get(id)}
												of={{ id, where: x.scope, reading: x.readings[id], matchers: matchersOf([x.scope]), time: s.fleet.data?.window.to }}
											/>
										</td>
									))}
									<td>
										<Spark
											values={byName.get(x.scope) ?? []}
											label={`generated tokens per second of ${x.scope}`}
											color={`var(--c${colorIndex(s.members, x.scope) + 1})`}
										/>
									</td>
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
