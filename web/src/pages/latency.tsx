// Where requests wait: quantiles with their bounds, stages that add up, and what rises with load.
import { useMemo } from 'preact/hooks';
import { number } from '../format';
import { useSignal, whyEmpty, type Scene } from '../scene';
import { Loading } from '../ui/basics';
import { Chart } from '../ui/chart';
import { Panel } from '../ui/panel';
import { basisText, ByPanel, FactsPanel, QuantilePanel, tableOf } from '../ui/panels';
import type { Line } from '../ui/plot';

const stages = [
	['queue_mean', 'queue', '--c2'],
	['prefill_mean', 'prefill', '--c1'],
	['decode_mean', 'decode', '--c3'],
	['e2e_mean', 'rest', '--c7'],
] as const;

function Stages({ s }: { s: Scene }) {
	const asked = stages.map(([id]) => useSignal(s, id));
	const grid = asked[3]!.data.data?.grid ?? s.grid;
	const lines = useMemo(
		() => {
			const same = asked.every((a) => a.data.data?.grid.from === grid.from && a.data.data?.grid.step === grid.step);
			if (!same) return [];
			const values = asked.map((a) => a.data.data!.columns[0]?.values ?? grid.times.map(() => NaN));
			const out: Line[] = [];
			stages.forEach(([, label, color], i) => {
				const below = out[i - 1]?.values;
				// The last line is E2E itself: what is above decode is the rest, so the stages add up by construction, and the rest is seen.
				const top = i === 3 ? values[3]! : values[i]!.map((v, k) => v + (below ? below[k]! : 0));
				out.push({ label: i === 3 ? 'E2E mean' : label, values: top, color, fillTo: i ? i - 1 : undefined, width: i === 3 ? 2 : 1 });
			});
			return out;
		},
		asked.map((a) => a.data.data),
	);
	const parts = asked.map((a) => a.data.data?.columns[0]?.values ?? []);
	const last = grid.times.length - 1,
		at = (i: number) => parts[i]![last] ?? NaN;
	const rest = at(3) - at(0) - at(1) - at(2);
	const error = asked.map((a) => a.data.error).find(Boolean);
	return (
		<Panel
			title="Stages of a request"
			basis={basisText(grid)}
			help="Means of queue, prefill and decode, stacked; E2E mean above them. Between decode and E2E lies the rest: front end, tokenisation, clocks."
			queries={asked.flatMap((a, i) => (a.query ? [{ title: stages[i]![0], ...a.query }] : []))}
			error={error}
			loading={asked.some((a) => a.data.loading)}
			empty={whyEmpty(s, asked[3]!.query && asked[0]!.query, asked[3]!.data)}
			table={() => tableOf(grid, lines, 's')}
		>
			{lines.length ? (
				<>
					<Chart label="Stages of a request" times={grid.times} lines={lines} unit="s" marks={s.marks} from={grid.from} to={grid.to} />
					<p class="sum">
						{isFinite(rest) ? (
							<>
								last: queue <b>{number(at(0), 's')}</b> + prefill <b>{number(at(1), 's')}</b> + decode <b>{number(at(2), 's')}</b> + rest{' '}
								<b>{number(rest, 's')}</b> = E2E <b>{number(at(3), 's')}</b>
							</>
						) : (
							'last: unknown, no request finished in the window'
						)}
					</p>
				</>
			) : error ? null : (
				<Loading what="Stages" />
			)}
		</Panel>
	);
}

/* ---- TTFT against TPOT under load ---- */

const mean = (v: number[]) => v.reduce((a, b) => a + b, 0) / v.length;

interface Point {
	load: number;
	ttft: number;
	tpot: number;
}

/* The third with the least load against the third with the most: what has grown names the bottleneck. */
function bottleneck(points: Point[]): string {
	if (points.length < 9) return 'Too few points to say what rises with load.';
	const sorted = [...points].sort((a, b) => a.load - b.load),
		third = Math.floor(points.length / 3);
	const low = sorted.slice(0, third),
		high = sorted.slice(-third);
	const grown = (of: (p: Point) => number) => mean(high.map(of)) / mean(low.map(of));
	const load = grown((p) => p.load),
		ttft = grown((p) => p.ttft),
		tpot = grown((p) => p.tpot);
	const figures = `from ${number(mean(low.map((p) => p.load)))} to ${number(mean(high.map((p) => p.load)))} running, TTFT grew ${number(ttft, 'ratio_x')}, TPOT ${number(tpot, 'ratio_x')}`;
	if (!(load > 1.2)) return 'The load hardly changed in this range, so it names no bottleneck.';
	if (ttft > 1.5 && tpot < 1.25) return `TTFT rises and TPOT does not: long prompts, weak compute or a queue (${figures}).`;
	if (tpot > 1.25 && ttft < 1.5) return `TPOT rises and TTFT does not: long outputs, or memory bandwidth is used up (${figures}).`;
	if (tpot > 1.25) return `Both rise: the engine is saturated (${figures}).`;
	return `Neither rises with load: there is room (${figures}).`;
}

function UnderLoad({ s }: { s: Scene }) {
	const ttft = useSignal(s, 'ttft_mean'),
		tpot = useSignal(s, 'tpot_mean'),
		load = useSignal(s, 'running');
	const all = [ttft, tpot, load],
		grid = ttft.data.data?.grid ?? s.grid;
	const points = useMemo(
		() => {
			if (all.some((a) => a.data.data?.grid.from !== grid.from || a.data.data?.grid.step !== grid.step)) return [];
			const column = (a: typeof ttft) => a.data.data!.columns[0]?.values ?? [];
			return grid.times
				.map((_, i): Point => ({ ttft: column(ttft)[i]!, tpot: column(tpot)[i]!, load: column(load)[i]! }))
				.filter((p) => isFinite(p.ttft) && isFinite(p.tpot) && isFinite(p.load));
		},
		all.map((a) => a.data.data),
	);
	const width = 460,
		height = 210,
		left = 58,
		bottom = 34;
	const most = {
		x: Math.max(1e-9, ...points.map((p) => p.tpot)) * 1.08,
		y: Math.max(1e-9, ...points.map((p) => p.ttft)) * 1.08,
		load: Math.max(1, ...points.map((p) => p.load)),
	};
	const x = (v: number) => left + (v / most.x) * (width - left - 10),
		y = (v: number) => height - bottom - (v / most.y) * (height - bottom - 8);
	const said = bottleneck(points);
	return (
		<Panel
			title="TTFT against TPOT under load"
			basis={basisText(grid)}
			help="A point for each step; darker with more requests running. Up: prompts wait or are long. Right: decode is slow."
			queries={all.flatMap((a, i) => (a.query ? [{ title: ['TTFT mean', 'TPOT mean', 'running'][i]!, ...a.query }] : []))}
			error={ttft.data.error}
			loading={ttft.data.loading}
			empty={whyEmpty(s, ttft.query && tpot.query, ttft.data)}
			table={() => ({
				heads: ['running', 'TTFT mean (s)', 'TPOT mean (s)'],
				rows: points.map((p) => [String(p.load), String(p.ttft), String(p.tpot)]),
			})}
		>
			{ttft.data.data ? (
				<>
					<svg viewBox={`0 0 ${width} ${height}`} class="scatter" role="img" aria-label={'TTFT against TPOT. ' + said}>
						{[0, 0.5, 1].map((f) => (
							<g>
								<line x1={left} x2={width - 10} y1={y(f * most.y)} y2={y(f * most.y)} stroke="var(--grid)" />
								<text x={left - 5} y={y(f * most.y) + 4} text-anchor="end">
									{number(f * most.y, 's')}
								</text>
								<text x={x(f * most.x)} y={height - bottom + 15} text-anchor={f === 1 ? 'end' : 'middle'}>
									{number(f * most.x, 's')}
								</text>
							</g>
						))}
						<text x={(left + width) / 2} y={height - 3} text-anchor="middle">
							TPOT mean
						</text>
						<text x={left + 4} y={12}>
							TTFT mean
						</text>
						{points.map((p) => (
							<circle
								cx={x(p.tpot)}
								cy={y(p.ttft)}
								r="3.2"
								fill="var(--c1)"
								fill-opacity={(0.15 + 0.8 * (p.load / most.load)).toFixed(2)}
							/>
						))}
					</svg>
					<p class="sum">{said}</p>
				</>
			) : ttft.data.error ? null : (
				<Loading what="TTFT against TPOT" />
			)}
		</Panel>
	);
}

export default function Latency({ s }: { s: Scene }) {
	const r = s.scope?.readings;
	return (
		<div class="grid">
			<QuantilePanel s={s} id="ttft_p99" title="Time to first token" limit={r?.slo_ttft} help="Queue, prefill and the first decode step." />
			<QuantilePanel
				s={s}
				id="tpot_p99"
				title="Time per output token"
				limit={r?.slo_tpot}
				help="Each request's own mean, without its first token."
			/>
			<QuantilePanel
				s={s}
				id="itl_p99"
				title="Inter-token latency"
				help="The gap between two engine steps of a request: stalls show here, and not in the mean."
			/>
			<QuantilePanel s={s} id="e2e_p99" title="End to end" limit={r?.slo_e2e} help="Arrival to last token." />
			<QuantilePanel s={s} id="queue_p99" title="Queue time" help="Arrival to first scheduled." />
			<Stages s={s} />
			<UnderLoad s={s} />
			<ByPanel
				s={s}
				id="ttft_mean"
				title="TTFT mean by replica"
				unit="s"
				by={['instance']}
				help="Means add up over replicas; quantiles do not. The slow one stands out either way."
			/>
			<FactsPanel
				s={s}
				title="Consistency"
				help="Figures that must agree when the histograms describe the same requests."
				ids={[
					'e2e_consistency',
					'ttft_share_queue',
					'ttft_share_prefill',
					'frontend_other_mean',
					'slow_gap_share',
					'ttft_over_top_bucket_share',
					'e2e_over_top_bucket_share',
				]}
			/>
		</div>
	);
}
