// Workload: what is asked for.
import type { Scene } from '../scene';
import { FactsPanel, HeatPanel, SignalPanel } from '../ui/panels';

export default function Workload({ s }: { s: Scene }) {
	return (
		<div class="grid">
			<SignalPanel
				s={s}
				title="Tokens"
				unit="tok/s"
				signals={[
					{ id: 'prompt_tps', label: 'prompt', color: '--c1' },
					{ id: 'generation_tps', label: 'generated', color: '--c3' },
				]}
				help="Processed per second; cached prompt tokens count as processed."
			/>
			<SignalPanel
				s={s}
				title="Prompt over generated"
				unit="ratio_x"
				signals={[{ id: 'token_io_ratio', label: 'prompt / generated', color: '--c1' }]}
				limit={{ value: 20, label: 'prefill-heavy above' }}
				help="About 20 and above is prefill-heavy, below about 1 decode-heavy. A pool's shape should suit its mix."
			/>
			<HeatPanel
				s={s}
				id="prompt_len_cells"
				title="Prompt lengths"
				unit="tokens"
				help="Requests by length over time. Two humps or a long tail explain TTFT bursts at modest rates."
			/>
			<HeatPanel
				s={s}
				id="output_len_cells"
				title="Output lengths"
				unit="tokens"
				help="A hard edge at the top is a token limit that cuts answers off."
			/>
			<HeatPanel
				s={s}
				id="ttft_cells"
				title="TTFT, as it is distributed"
				unit="s"
				help="The same events as the TTFT quantiles, not summed up."
			/>
			<SignalPanel
				s={s}
				title="How requests end"
				unit="1/s"
				help="All finishes, completed ones (stop or length), errors and aborts per second."
				signals={[
					{ id: 'requests_per_s', label: 'finished', color: '--c1' },
					{ id: 'good_per_s', label: 'completed', color: '--c3' },
					{ id: 'finish_abort', rate: true, label: 'aborted', color: '--c2' },
					{ id: 'finish_error', rate: true, label: 'errors', color: '--bad' },
				]}
			/>
			<SignalPanel
				s={s}
				title="Tokens per engine step"
				unit="tokens"
				signals={[{ id: 'tokens_per_iteration', label: 'batch', color: '--c1' }]}
				help="How full each step is: prompt and output tokens together."
			/>
			<FactsPanel
				s={s}
				title="The mix, now"
				ids={[
					'workload_class',
					'token_io_ratio',
					'prompt_len_mean',
					'prompt_len_p50',
					'prompt_len_p99',
					'output_len_mean',
					'output_len_p99',
					'tokens_per_request',
					'truncated_rate',
					'abort_rate',
					'error_rate',
					'http_4xx_rate',
					'http_5xx_rate',
					'requests_ended_without_finish',
				]}
			/>
		</div>
	);
}
