// Findings: what is wrong, where, since when, whom it costs what, and what to do first.
import { useState } from 'preact/hooks';
import { ask, useData, useLive, type Action, type Evidence, type Finding } from '../api';
import { matchersOf, queryOf, windowFor } from '../binding';
import { figure } from '../format';
import { addressWith } from '../state';
import { dateText } from '../time';
import { Ago, Code, Copy, Severity } from '../ui/basics';
import type { Scene } from '../scene';

const grades: Record<string, string> = { now: 'now', shift: 'this shift', later: 'later' };

/** An address that shows the same in a month: a quarter of an hour around it, absolute. */
export function linkOf(f: Finding, onset: number, view = '/'): string {
	const end = Math.max(f.last ?? onset, onset);
	return addressWith({
		view,
		from: String(Math.floor(onset - 900)),
		to: String(Math.ceil(end + 300)),
		more: {},
		pools: f.pool ? [f.pool] : [],
		replicas: [],
	});
}

function whereText(f: Finding): string {
	if (f.where.length === 1 && f.where[0] === f.pool) return `all of it, ${f.where_all} target${f.where_all > 1 ? 's' : ''}`;
	const some = f.where.slice(0, 4).join(', ') + (f.where.length > 4 ? ` and ${f.where.length - 4} more` : '');
	return f.where.length < f.where_all ? `${f.where.length} of ${f.where_all}: ${some}` : f.where_all === 1 ? some : `all ${f.where_all}`;
}

function Actions({ actions }: { actions: Action[] }) {
	return (
		<ul class="actions">
			{actions.map((a) => (
				<li>
					<span class={'grade ' + a.grade}>{grades[a.grade] ?? a.grade}</span> {a.text}
					{a.risk ? <span class="dim"> · risk: {a.risk}</span> : null}
					{a.command ? <Code text={a.command} what="command" /> : null}
				</li>
			))}
		</ul>
	);
}

/* The scope that the evidence was read at, as matchers: a copied query gives the figure beside it. */
function matchersAt(s: Scene, f: Finding): string {
	const name = f.scope ?? '';
	if (f.kind === 'pool') return s.members.pools.length > 1 ? matchersOf(s.members.byPool.get(name) ?? []) : '';
	if (f.kind === 'target') return matchersOf([name]);
	const engine = /^(.*)\/engine(.+)$/.exec(name);
	return f.kind === 'engine' && engine ? `${matchersOf([engine[1]!])},engine=${JSON.stringify(engine[2])}` : '';
}

function EvidenceOf({ s, f, e, long }: { s: Scene; f: Finding; e: Evidence; long?: boolean }) {
	const query = queryOf(s.bound, e.signal, matchersAt(s, f), windowFor(e.reading.elapsed_s));
	return (
		<span class="fact">
			{e.title} <b>{figure(e.reading, e.reading.unit ?? '')}</b>
			{e.reading.events !== undefined ? <span class="dim"> n = {Math.round(e.reading.events)}</span> : null}
			{query && long ? (
				<>
					{' '}
					<code class="query" title={query.text}>
						{query.text}
					</code>
				</>
			) : null}
			{query ? (
				<>
					{' '}
					<Copy text={query.text} what={'PromQL of ' + e.title} />{' '}
				</>
			) : null}
		</span>
	);
}

function EvidenceList({ s, f, list }: { s: Scene; f: Finding; list: Evidence[] }) {
	return (
		<ul class="evidence">
			{list.map((e) => (
				<li>
					<EvidenceOf s={s} f={f} e={e} long />
				</li>
			))}
		</ul>
	);
}

function Card({ s, f, symptoms, since }: { s: Scene; f: Finding; symptoms: Finding[]; since?: number }) {
	const [open, set] = useState(false);
	const now = f.actions.find((a) => a.grade === 'now') ?? f.actions[0];
	// Two that can be copied as queries come first; the rest is a click away.
	const main = [...f.evidence]
		.sort((a, b) => Number(!queryOf(s.bound, a.signal, '', '5m')) - Number(!queryOf(s.bound, b.signal, '', '5m')))
		.slice(0, 2);
	const onset = f.onset ?? since;
	return (
		<article class={'finding ' + f.severity} aria-label={f.title}>
			<h2>
				<Severity of={f.severity} /> {f.title} <code class="dim">{f.id}</code>{' '}
				{f.undecided ? <span class="badge">undecided</span> : !f.now ? <span class="badge">over</span> : null}
			</h2>
			<dl class="facts">
				<div>
					<dt>where</dt>
					<dd>
						{f.pool ? (
							<span>
								pool <b>{f.pool}</b> ·{' '}
							</span>
						) : null}
						<b>{whereText(f)}</b>
					</dd>
				</div>
				<div>
					<dt>since</dt>
					<dd>
						{onset ? (
							<>
								<a href={linkOf(f, onset)} title="this time range, as a link that stays">
									{dateText(onset, true)}
								</a>{' '}
								(<Ago at={onset} />)
							</>
						) : (
							'unknown: it was there when the watch began'
						)}
					</dd>
				</div>
				{f.blast ? (
					<div>
						<dt>affects</dt>
						<dd>
							<b>{figure(f.blast, '1/s')}</b> requests
						</dd>
					</div>
				) : null}
				{now ? (
					<div>
						<dt>first</dt>
						<dd class="first">
							{now.text}
							{now.risk ? <span class="dim"> (risk: {now.risk})</span> : null}{' '}
							{now.command ? <Copy text={now.command} what="command" /> : null}
						</dd>
					</div>
				) : null}
				{main.length ? (
					<div>
						<dt>evidence</dt>
						<dd>
							{main.map((e, i) => (
								<EvidenceOf s={s} f={f} e={e} long={!i} />
							))}
						</dd>
					</div>
				) : null}
			</dl>
			<button type="button" class="quiet more" aria-expanded={open} onClick={() => set(!open)}>
				{open
					? 'less'
					: `all evidence, ${f.actions.length} actions${symptoms.length ? `, ${symptoms.length} symptom${symptoms.length > 1 ? 's' : ''} it explains` : ''}`}
			</button>
			{open ? (
				<div class="details">
					{f.detail ? <p>{f.detail}</p> : null}
					<h3>Evidence</h3>
					<EvidenceList s={s} f={f} list={f.evidence} />
					{f.counter.length ? (
						<>
							<h3>Against it</h3>
							<EvidenceList s={s} f={f} list={f.counter} />
						</>
					) : null}
					{f.changed.length ? (
						<>
							<h3>What else changed then</h3>
							<ul>
								{f.changed.map((c) => (
									<li>{c}</li>
								))}
							</ul>
						</>
					) : null}
					<h3>Do</h3>
					<Actions actions={f.actions} />
					{symptoms.length ? (
						<>
							<h3>Explains</h3>
							<ul>
								{symptoms.map((x) => (
									<li>
										<code>{x.id}</code> {x.title}
									</li>
								))}
							</ul>
						</>
					) : null}
					{f.explain ? <p class="dim">{f.explain}</p> : null}
				</div>
			) : null}
		</article>
	);
}

interface Alert {
	labels: Record<string, string>;
	annotations: Record<string, string>;
	activeAt: string;
}

/* When a finding was first raised, from its alert: the report knows the onset only of what its moments show. */
function useSince(): Map<string, number> {
	const { count } = useLive();
	const found = useData('alerts', count, (signal) => ask<{ alerts: Alert[] }>('/api/v1/alerts', {}, signal).then((a) => a.data.alerts));
	return new Map(
		(found.data ?? []).map((a) => [a.labels.alertname + ' ' + (a.labels.pool ?? ''), Date.parse(a.annotations.onset ?? a.activeAt) / 1000]),
	);
}

export function Findings({ s, findings }: { s: Scene; findings: Finding[] }) {
	const chosen = (f: Finding) =>
		(!s.place.pools.length || !f.pool || s.place.pools.includes(f.pool)) &&
		(!s.place.replicas.length || !f.where.length || f.where.some((w) => s.place.replicas.includes(w.split('/')[0]!)));
	const causes = findings.filter((f) => !f.suppressed_by && chosen(f));
	const weight = (f: Finding) => (f.undecided ? 3 : ['critical', 'warning', 'info'].indexOf(f.severity)) + (f.now ? 0 : 10);
	causes.sort((a, b) => weight(a) - weight(b));
	const since = useSince();
	const [all, set] = useState(false);
	const most = all ? causes.length : 3;
	return (
		<section class="findings" aria-label="Findings">
			{causes.length ? null : (
				<p class="state empty">
					Nothing was found{s.place.pools.length + s.place.replicas.length ? ' with these filters' : ''}: every red line is clear.
				</p>
			)}
			{causes.slice(0, most).map((f) => (
				<Card
					key={f.id + (f.scope ?? '') + f.where.join()}
					s={s}
					f={f}
					since={since.get(f.id + ' ' + (f.pool ?? ''))}
					symptoms={findings.filter((x) => x.suppressed_by === f.id && (!x.pool || x.pool === f.pool))}
				/>
			))}
			{causes.length > 3 ? (
				<button type="button" onClick={() => set(!all)} aria-expanded={all}>
					{all ? 'the first three only' : `${causes.length - 3} more`}
				</button>
			) : null}
		</section>
	);
}
