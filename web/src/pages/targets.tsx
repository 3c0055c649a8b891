// Who is watched, whether they answer, and what of the catalogue each exports.
import { useState } from 'preact/hooks';
import { ask, useData, useLive, type Report, type Target } from '../api';
import type { Scene } from '../scene';
import { number } from '../format';
import { addressWith } from '../state';
import { Ago, Failure, Loading, Simulated } from '../ui/basics';
import { Panel } from '../ui/panel';
import { FactsPanel } from '../ui/panels';

interface Active {
	discoveredLabels: Record<string, string>;
	labels: Record<string, string>;
	scrapePool: string;
	scrapeUrl: string;
	lastError: string;
	lastScrape: string;
	lastScrapeDuration: number;
	health: string;
	scrapeInterval: string;
}

interface Listed {
	activeTargets: Active[];
	droppedTargets: { discoveredLabels: Record<string, string> }[];
}

const order = ['present', 'absent', 'not enabled', 'not applicable'];
const count = (t: Target, what: string) => t.coverage.filter((c) => c.coverage === what).length;
const labelsText = (l: Record<string, string>) =>
	Object.entries(l)
		.map(([k, v]) => `${k}="${v}"`)
		.join(' ');

function Details({ t, a }: { t: Target; a?: Active }) {
	const [all, set] = useState(false);
	const listed = t.coverage
		.filter((c) => all || c.coverage !== 'not applicable')
		.sort((x, y) => order.indexOf(x.coverage) - order.indexOf(y.coverage));
	return (
		<div class="details">
			{t.detail ? (
				<p>
					<b>{t.detail}</b> {t.advice}
				</p>
			) : null}
			<dl class="facts">
				{a ? (
					<div>
						<dt>URL</dt>
						<dd>
							<code>{a.scrapeUrl}</code>
						</dd>
					</div>
				) : null}
				{a ? (
					<div>
						<dt>labels</dt>
						<dd>
							<code>{labelsText(a.labels)}</code>
						</dd>
					</div>
				) : null}
				{a ? (
					<div>
						<dt>before relabelling</dt>
						<dd>
							<code>{labelsText(a.discoveredLabels)}</code>
						</dd>
					</div>
				) : null}
				{t.samples !== undefined ? (
					<div>
						<dt>page</dt>
						<dd>
							{t.samples} samples{t.dropped_lines ? `, ${t.dropped_lines} lines not understood` : ''}
							{t.duplicates ? `, ${t.duplicates} duplicates` : ''}
						</dd>
					</div>
				) : null}
				{t.checked_up_to ? (
					<div>
						<dt>catalogue</dt>
						<dd>
							checked up to {t.engine} {t.checked_up_to}
						</dd>
					</div>
				) : null}
			</dl>
			{t.unknown_families?.length ? (
				<p>
					Exposed but unknown to us: <code>{t.unknown_families.join(', ')}</code>
				</p>
			) : null}
			{t.coverage.length ? (
				<>
					<label>
						<input type="checkbox" checked={all} onChange={() => set(!all)} /> also what does not apply to this engine
					</label>
					<div class="scroll" tabIndex={0} role="region" aria-label={'Coverage of ' + t.name}>
						<table>
							<thead>
								<tr>
									<th scope="col">Metric</th>
									<th scope="col">Coverage</th>
									<th scope="col">Exposed as</th>
									<th scope="col">Why</th>
								</tr>
							</thead>
							<tbody>
								{listed.map((c) => (
									<tr>
										<th scope="row">{c.metric}</th>
										<td class={'status ' + (c.coverage === 'present' ? 'ok' : c.coverage === 'absent' ? 'warn' : '')}>{c.coverage}</td>
										<td>
											<code>{c.exposed ?? ''}</code>
										</td>
										<td class="wrap">{c.why ?? ''}</td>
									</tr>
								))}
							</tbody>
						</table>
					</div>
				</>
			) : null}
		</div>
	);
}

export default function Targets({ s }: { s: Scene }) {
	const { count: heard } = useLive();
	const found = useData('coverage', heard, (signal) =>
		ask<Report & { targets: Target[] }>('/api/goodput/v1/coverage', {}, signal).then((a) => a.data),
	);
	const listed = useData('targets', heard, (signal) => ask<Listed>('/api/v1/targets', {}, signal).then((a) => a.data));
	const [open, set] = useState('');
	const active = new Map((listed.data?.activeTargets ?? []).map((a) => [a.labels.instance ?? '', a]));
	const targets = (found.data?.targets ?? []).filter((t) => !s.instances || s.instances.includes(t.name));
	const bad = (t: Target) => (t.outcome && t.outcome !== 'ok' ? 1 : 0);
	const sorted = [...targets].sort((a, b) => bad(b) - bad(a) || a.name.localeCompare(b.name, undefined, { numeric: true }));
	const waiting = (listed.data?.activeTargets ?? []).filter((a) => !found.data?.targets.some((t) => t.name === a.labels.instance));
	const dropped = listed.data?.droppedTargets.length ?? 0;
	const problem = found.error ?? listed.error;
	return (
		<div class="grid">
			<Panel
				wide
				title="Targets"
				basis={
					found.data
						? `${targets.filter((t) => !bad(t)).length} of ${targets.length} answered${dropped ? ` · ${dropped} dropped by relabelling` : ''}`
						: ''
				}
			>
				{problem && problem.kind !== 'unavailable' ? <Failure error={problem} what="Targets" /> : null}
				{found.data || listed.data ? (
					<div class="scroll" tabIndex={0} role="region" aria-label="Targets, table">
						<table>
							<thead>
								<tr>
									<th scope="col">Target</th>
									<th scope="col">State</th>
									<th scope="col">Last scrape</th>
									<th scope="col" class="n">
										Took
									</th>
									<th scope="col">Every</th>
									<th scope="col">Job</th>
									<th scope="col">Engine</th>
									<th scope="col" class="n">
										Present
									</th>
									<th scope="col" class="n">
										Absent
									</th>
									<th scope="col">More</th>
								</tr>
							</thead>
							<tbody>
								{sorted.map((t) => {
									const a = active.get(t.name);
									return [
										<tr class={bad(t) ? 'problem' : count(t, 'absent') ? 'odd' : ''}>
											<th scope="row">
												<a href={addressWith({ view: '/latency', replicas: [t.name] })}>{t.name}</a>
												{s.simulated.has(t.name) ? (
													<>
														{' '}
														<Simulated />
													</>
												) : null}
											</th>
											<td class={'status ' + (bad(t) ? 'bad' : 'ok')}>
												<span aria-hidden="true">{bad(t) ? '✖' : '●'}</span> {t.outcome ?? 'not scraped yet'}
											</td>
											<td>{t.last_scrape ? <Ago at={t.last_scrape} ended /> : 'never'}</td>
											<td class="n">{a && a.lastScrapeDuration ? number(a.lastScrapeDuration, 's') : '–'}</td>
											<td>{a?.scrapeInterval ?? ''}</td>
											<td>{a?.scrapePool ?? ''}</td>
											<td>{t.engine_title ?? 'not recognised'}</td>
											<td class="n">{count(t, 'present')}</td>
											<td class="n">{count(t, 'absent')}</td>
											<td>
												<button
													type="button"
													class="quiet"
													aria-expanded={open === t.name}
													aria-label={'Details of ' + t.name}
													onClick={() => set(open === t.name ? '' : t.name)}
												>
													{open === t.name ? 'less' : 'details'}
												</button>
											</td>
										</tr>,
										open === t.name ? (
											<tr>
												<td colSpan={10} class="wrap">
													<Details t={t} a={a} />
												</td>
											</tr>
										) : null,
									];
								})}
								{waiting.map((a) => (
									<tr>
										<th scope="row">{a.labels.instance}</th>
										<td class="status warn">? {a.health}</td>
										<td>{a.lastError || 'not judged yet'}</td>
										<td colSpan={7} />
									</tr>
								))}
							</tbody>
						</table>
					</div>
				) : problem ? null : (
					<Loading what="Targets" />
				)}
				{found.data && listed.data && !sorted.length && !waiting.length ? (
					<p class="state empty">No targets. Name some on the command line, or in a configuration's scrape_configs.</p>
				) : null}
			</Panel>
			<FactsPanel
				s={s}
				title="Processes, now"
				ids={[
					'targets_reporting',
					'targets_expected',
					'engines',
					'restarts',
					'scrape_seconds',
					'rss_bytes',
					'rss_growth_bytes_per_hour',
					'hours_to_memory_limit',
					'gc_gen2_per_s',
					'cpu_usage',
					'open_fds',
					'seconds_since_last_step',
				]}
			/>
		</div>
	);
}
