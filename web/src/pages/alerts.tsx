// Alerts and the rules behind them, now and over the range.
import { useMemo, useState } from 'preact/hooks';
import { ask, useData, useLive } from '../api';
import { useQuery, type Scene } from '../scene';
import { number } from '../format';
import { dateText } from '../time';
import { Ago, Code, Failure, Loading, Severity } from '../ui/basics';
import { Panel } from '../ui/panel';
import { addressWith } from '../state';

interface Alert {
	labels: Record<string, string>;
	annotations: Record<string, string>;
	state: 'pending' | 'firing' | 'inactive';
	activeAt: string;
	value: string;
}

interface Rule {
	name: string;
	query: string;
	type: 'alerting' | 'recording';
	state?: string;
	health: string;
	lastError?: string;
	duration?: number;
	evaluationTime: number;
	alerts?: Alert[];
}

interface Groups {
	groups: { name: string; file: string; interval: number; rules: Rule[] }[];
}

function AlertCard({ a }: { a: Alert }) {
	const [open, set] = useState(false);
	const since = Date.parse(a.annotations.onset ?? a.activeAt) / 1000;
	return (
		<article class={'finding ' + (a.labels.severity ?? '')} aria-label={a.labels.alertname}>
			<h2>
				{a.labels.severity ? <Severity of={a.labels.severity} /> : null} {a.labels.alertname} <span class="badge">{a.state}</span>
			</h2>
			<p>{a.annotations.summary ?? a.annotations.description}</p>
			<dl class="facts">
				<div>
					<dt>since</dt>
					<dd>
						<a href={addressWith({ view: '/', from: String(Math.floor(since - 900)), to: String(Math.ceil(since + 900)), more: {} })}>
							{dateText(since, true)}
						</a>{' '}
						(<Ago at={since} />)
					</dd>
				</div>
				<div>
					<dt>labels</dt>
					<dd>
						<code>
							{Object.entries(a.labels)
								.filter(([k]) => k !== 'alertname')
								.map(([k, v]) => `${k}="${v}"`)
								.join(' ')}
						</code>
					</dd>
				</div>
			</dl>
			<button type="button" class="quiet more" aria-expanded={open} onClick={() => set(!open)}>
				{open ? 'less' : 'description, runbook, command'}
			</button>
			{open ? (
				<div class="details">
					{a.annotations.description ? <p>{a.annotations.description}</p> : null}
					{a.annotations.runbook ? <p class="pre">{a.annotations.runbook}</p> : null}
					{a.annotations.command ? <Code text={a.annotations.command} what="command" /> : null}
				</div>
			) : null}
		</article>
	);
}

/* A strip for each alert over the range: firing filled, pending pale. */
function History({ s }: { s: Scene }) {
	const text = 'max by (alertname, alertstate, pool) (ALERTS)',
		data = useQuery(s, text),
		d = data.data;
	const strips = useMemo(() => {
		const by = new Map<string, { firing?: number[]; pending?: number[] }>();
		for (const c of d?.columns ?? []) {
			const name = c.labels.alertname + (c.labels.pool ? ' · ' + c.labels.pool : ''),
				strip = by.get(name) ?? {};
			strip[c.labels.alertstate === 'firing' ? 'firing' : 'pending'] = c.values;
			by.set(name, strip);
		}
		return [...by].sort((a, b) => a[0].localeCompare(b[0]));
	}, [d]);
	const n = d?.grid.times.length ?? 1;
	const runs = (values: number[] | undefined) => {
		const out: [number, number][] = [];
		(values ?? []).forEach((v, i) => {
			if (!isFinite(v)) return;
			const last = out[out.length - 1];
			if (last && last[1] === i) last[1] = i + 1;
			else out.push([i, i + 1]);
		});
		return out;
	};
	return (
		<Panel
			wide
			title="Over the range"
			basis={d ? `step ${d.grid.step} s` : ''}
			error={data.error}
			loading={data.loading}
			queries={[{ title: 'alerts as series', text }]}
			empty={d && !strips.length ? 'No alert was pending or firing in this range.' : undefined}
		>
			{d ? (
				<div class="strips">
					{strips.map(([name, strip]) => {
						const firing = runs(strip.firing),
							from = firing[0] ? dateText(d.grid.times[firing[0][0]]!) : '';
						return (
							<div>
								<span>{name}</span>
								<svg
									viewBox={`0 0 ${n} 10`}
									preserveAspectRatio="none"
									role="img"
									aria-label={
										firing.length ? `fired ${firing.length} time${firing.length > 1 ? 's' : ''}, first at ${from}` : 'pending only'
									}
								>
									<rect width={n} height="10" fill="var(--grid)" />
									{runs(strip.pending).map(([a, b]) => (
										<rect x={a} width={b - a} height="10" fill="var(--warn)" fill-opacity="0.4" />
									))}
									{firing.map(([a, b]) => (
										<rect x={a} width={b - a} height="10" fill="var(--bad)" />
									))}
								</svg>
								<small class="dim">{from ? 'from ' + from : 'pending'}</small>
							</div>
						);
					})}
				</div>
			) : null}
		</Panel>
	);
}

function Rules({ s }: { s: Scene }) {
	const { count } = useLive();
	const found = useData('rules', count, (signal) => ask<Groups>('/api/v1/rules', {}, signal).then((a) => a.data.groups));
	const [state, set] = useState('');
	const groups = found.data ?? [],
		all = groups.flatMap((g) => g.rules.map((r) => ({ g, r })));
	const listed = all.filter(
		({ r }) => !state || (state === 'problem' ? r.health === 'err' : r.type === 'recording' ? state === 'recording' : r.state === state),
	);
	return (
		<Panel
			wide
			title="Rules"
			basis={`${listed.length} of ${all.length}`}
			error={found.error}
			loading={found.loading}
			empty={found.data && !all.length ? 'No rules: no rule files are configured, and findings are not alerts here.' : undefined}
		>
			<div class="row" role="group" aria-label="State">
				{['', 'firing', 'pending', 'inactive', 'recording', 'problem'].map((x) => (
					<button type="button" aria-pressed={state === x} onClick={() => set(x)}>
						{x || 'all'}
					</button>
				))}
			</div>
			<div class="scroll" tabIndex={0} role="region" aria-label="Rules, table">
				<table>
					<thead>
						<tr>
							<th scope="col">Rule</th>
							<th scope="col">State</th>
							<th scope="col">For</th>
							<th scope="col">Group</th>
							<th scope="col" class="n">
								Took
							</th>
							<th scope="col">Query</th>
						</tr>
					</thead>
					<tbody>
						{listed.map(({ g, r }) => (
							<tr>
								<th scope="row">{r.name}</th>
								<td class={'status ' + (r.state === 'firing' || r.health === 'err' ? 'bad' : r.state === 'pending' ? 'warn' : '')}>
									{r.health === 'err' ? 'error: ' + r.lastError : (r.state ?? r.type)}
								</td>
								<td>{r.duration ? number(r.duration, 's') : ''}</td>
								<td>{g.name}</td>
								<td class="n">{number(r.evaluationTime, 's')}</td>
								<td class="wrap">
									{g.file === 'findings' ? (
										<span class="dim">
											a finding of the catalogue: <code>goodput signals {r.name}</code>
										</span>
									) : (
										<a href={addressWith({ view: '/query', more: { q: r.query } })}>
											<code>{r.query}</code>
										</a>
									)}
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
			{s.place.pools.length ? <p class="dim">Rules are of all pools.</p> : null}
		</Panel>
	);
}

export default function Alerts({ s }: { s: Scene }) {
	const { count } = useLive();
	const found = useData('alerts', count, (signal) => ask<{ alerts: Alert[] }>('/api/v1/alerts', {}, signal).then((a) => a.data.alerts));
	const alerts = (found.data ?? []).filter((a) => !s.place.pools.length || !a.labels.pool || s.place.pools.includes(a.labels.pool));
	const weight = (a: Alert) => (a.state === 'firing' ? 0 : 10) + ['critical', 'warning', 'info'].indexOf(a.labels.severity ?? 'info');
	return (
		<>
			<section class="findings" aria-label="Active alerts">
				{found.error && !found.data ? <Failure error={found.error} what="Alerts" /> : null}
				{found.data && !alerts.length ? <p class="state empty">No alert is pending or firing.</p> : null}
				{!found.data && !found.error ? <Loading what="Alerts" /> : null}
				{[...alerts]
					.sort((a, b) => weight(a) - weight(b))
					.map((a) => (
						<AlertCard key={JSON.stringify(a.labels)} a={a} />
					))}
			</section>
			<div class="grid">
				<History s={s} />
				<Rules s={s} />
			</div>
		</>
	);
}
