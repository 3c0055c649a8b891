// Is useful work being done, where is it lost, what to do first.
import { useMemo, useState } from 'preact/hooks';
import { ask, useData, useLive, type Finding, type Report, type Scope } from '../api';
import { firstFindings } from '../first';
import { isKnown, rank } from '../format';
import { goodputOf } from '../goodput';
import { shareWithin } from '../histogram';
import { useBuckets, useSignal, whyEmpty, type Scene } from '../scene';
import { Failure, Loading } from '../ui/basics';
import { Figure } from '../ui/basis';
import { ChangeLinks } from '../ui/changes';
import { Chart } from '../ui/chart';
import { Panel } from '../ui/panel';
import { Findings } from './findings';
import { Pools, Replicas } from './replicas';
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
	const scope = s.scope,
		signals = s.bound?.signals;
	if (!scope) return null;
	const g = goodputOf(scope),
		where = whereOf(scope),
		time = s.fleet.data?.window.to;
	return (
		<section class="tiles" aria-label="Figures of now">
			<div class="tile main">
				<span>Goodput</span>
				<Figure
					unit="1/s"
					of={{
						id: 'good_per_s',
						where,
						reading: g.reading,
						matchers: s.matchers,
						time,
						explain:
							`Completed requests a second that meet every objective (${g.text || 'none is known'}). Histograms of single latencies bound it: ` +
							'at least 1 minus the sum of the misses, at most 1 minus the largest.' +
							(g.binding ? ` Most requests miss ${g.binding}.` : '') +
							(g.missing ? ` ${g.missing} is unknown, so all may miss it.` : ''),
					}}
				/>
				<small class="dim">
					{g.text}
					{g.missing ? `; ${g.missing} is unknown` : g.binding ? `; ${g.binding} binds` : ''}
				</small>
			</div>
			{tiles.map(([id, label]) => {
				const reading = scope.readings[id],
					n = reading?.events;
				return (
					<div class="tile">
						<span>{label}</span>
						<Figure
							compact={!/_p99|rate|per_s/.test(id)}
							unit={reading?.unit ?? signals?.get(id)?.unit ?? ''}
							of={{ id, where, reading, matchers: s.matchers, time }}
						/>
						<small class="dim">
							{n !== undefined ? `n = ${Math.round(n)}` : reading?.targets ? `${reading.targets[0]} of ${reading.targets[1]} targets` : ' '}
						</small>
					</div>
				);
			})}
		</section>
	);
}

function GoodputChart({ s }: { s: Scene }) {
	const all = useSignal(s, 'requests_per_s'),
		good = useSignal(s, 'good_per_s'),
		arrived = useSignal(s, 'arrivals_per_s');
	const ttft = useBuckets(s, 'ttft_p99'),
		tpot = useBuckets(s, 'tpot_p99');
	const slo = s.scope?.readings;
	const shown = all.data.data,
		grid = shown?.grid ?? s.grid;
	const lines = useMemo(() => {
		const column = (d: typeof shown) =>
			(d?.grid === grid || d?.grid.from === grid.from ? d?.columns[0]?.values : undefined) ?? grid.times.map(() => NaN);
		const completed = column(good.data.data);
		const limits = [
			[ttft, slo?.slo_ttft],
			[tpot, slo?.slo_tpot],
		] as const;
		const low = [...completed],
			high = [...completed];
		grid.times.forEach((_, k) => {
			let misses = 0,
				largest = 0;
			for (const [h, limit] of limits) {
				if (!isKnown(limit)) continue;
				// An objective whose latency is not exported may be missed by all.
				if (!h.query) {
					misses += 1;
					continue;
				}
				const at = h.data.data,
					within = at && at.grid.from === grid.from && at.grid.step === grid.step ? shareWithin(at.buckets, k, rank(limit)) : undefined;
				if (!within) {
					misses = NaN;
					break;
				}
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
	const queries = [all, good, arrived, ttft, tpot].flatMap((a, i) =>
		a.query ? [{ title: ['finished', 'completed', 'arrived', 'TTFT buckets', 'TPOT buckets'][i]!, ...a.query }] : [],
	);
	return (
		<Panel
			wide
			title="Goodput against throughput"
			basis={`requests/s · window ${grid.window} · step ${grid.step} s`}
			queries={queries}
			error={all.data.error}
			loading={all.data.loading}
			empty={whyEmpty(s, all.query, all.data)}
			stale={!!all.data.error && !!shown}
			notes={shown?.notes}
			help="Arrived, finished, completed (stop or length), and of these the ones that meet every objective: a band, as histograms of single latencies only bound it."
			table={() => ({
				heads: ['time', ...lines.map((l) => l.label)],
				rows: grid.times.map((t, i) => [
					new Date(t * 1000).toISOString(),
					...lines.map((l) => (isFinite(l.values[i]!) ? String(l.values[i]) : '')),
				]),
			})}
		>
			{shown ? (
				<Chart
					label="Goodput against throughput"
					times={grid.times}
					lines={lines}
					unit="1/s"
					marks={s.marks}
					from={grid.from}
					to={grid.to}
					height={210}
				/>
			) : (
				<Loading what="Goodput" />
			)}
			<ChangeLinks marks={s.marks} />
		</Panel>
	);
}

export interface FindingsReport extends Report {
	findings: Finding[];
}

export default function Overview({ s }: { s: Scene }) {
	const { count } = useLive();
	// Not drawn again when only the findings are.
	const rest = useMemo(
		() => (
			<>
				<Tiles s={s} />
				<div class="grid">
					<GoodputChart s={s} />
					<Pools s={s} />
					<Replicas s={s} />
				</div>
			</>
		),
		[s],
	);
	const found = useData('findings', count, (signal) => ask<FindingsReport>('/api/goodput/v1/findings', {}, signal).then((a) => a.data));
	const [first] = useState(firstFindings);
	return (
		<>
			{found.data ? (
				<Findings s={s} findings={found.data.findings} />
			) : first && !found.error ? (
				<div dangerouslySetInnerHTML={{ __html: first }} />
			) : found.error ? (
				found.error.kind === 'unavailable' ? (
					<p class="state empty">Waiting for the first evaluation: it takes two scrapes of a target.</p>
				) : (
					<Failure error={found.error} what="Findings" />
				)
			) : (
				<Loading what="Findings" />
			)}
			{rest}
		</>
	);
}
