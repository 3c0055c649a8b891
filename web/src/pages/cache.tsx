// Cache and scheduler: what fills, what waits, what is thrown away and done again.
import type { Scene } from '../scene';
import { ByPanel, FactsPanel, SignalPanel } from '../ui/panels';

export default function Cache({ s }: { s: Scene }) {
	return (
		<div class="grid">
			<ByPanel
				s={s}
				id="kv_usage"
				title="KV cache by engine"
				unit="ratio"
				by={['instance', 'engine']}
				top={1}
				help="A fraction of each engine's blocks. Fractions are never summed: one full engine is not helped by an empty one."
			/>
			<SignalPanel
				s={s}
				title="Running and waiting"
				unit="requests"
				help="Waiting that rises while running stays flat points at the KV cache or max_num_seqs, not at the CPU."
				signals={[
					{ id: 'running', label: 'running', color: '--c1' },
					{ id: 'waiting', label: 'waiting', color: '--c2' },
					{ id: 'waiting_capacity', label: 'waiting for capacity', color: '--c5', dash: true },
					{ id: 'waiting_deferred', label: 'deferred', color: '--c8', dash: true },
				]}
			/>
			<ByPanel s={s} id="waiting" title="Waiting by replica" unit="requests" by={['instance']} />
			<ByPanel
				s={s}
				id="preemptions_per_s"
				title="Preemptions by replica"
				unit="1/s"
				by={['instance']}
				help="Work that is thrown away and done again. A rate that stays above 0 is a red line."
			/>
			<SignalPanel
				s={s}
				title="Prefix cache"
				unit="ratio"
				top={1}
				help="Prompt tokens that needed no prefill; local and external caches apart."
				signals={[
					{ id: 'prefix_hit_rate', label: 'local hits', color: '--c3' },
					{ id: 'external_hit_rate', label: 'external hits', color: '--c8' },
					{ id: 'cached_share_total', label: 'from any cache', color: '--c1', dash: true },
				]}
			/>
			<SignalPanel
				s={s}
				title="System efficiency"
				unit="ratio_x"
				help="Finished over arrived. About 1 is healthy; below 0.7 the queue outgrows the engine."
				signals={[{ id: 'system_efficiency', label: 'finished / arrived', color: '--c1' }]}
				limit={{ value: 0.7, label: 'red line' }}
			/>
			<SignalPanel
				s={s}
				title="Queue, two ways"
				unit="requests"
				help="Little's law (arrivals × wait) catches the queue that the gauge misses between scrapes."
				signals={[
					{ id: 'waiting', label: 'gauge', color: '--c2' },
					{ id: 'queue_depth_mean', label: 'arrivals × wait', color: '--c1' },
				]}
			/>
			<FactsPanel
				s={s}
				title="Cache and scheduler, now"
				ids={[
					'kv_usage',
					'kv_usage_weighted',
					'kv_capacity_tokens',
					'kv_reclaimable',
					'kv_idle_floor',
					'kv_idle_floor_growth_per_hour',
					'preemptions_per_finished',
					'prefix_tokens_saved',
					'prefix_hit_rate_ceiling',
					'system_efficiency',
					'queue_missed_by_gauge',
					'batch_depth',
					'imbalance_max_over_mean',
				]}
			/>
		</div>
	);
}
