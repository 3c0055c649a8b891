// Under and beside the engines: GPUs, transfers between prefill and decode, speculation. What is not there is said, not drawn as 0.
import type { Scene } from '../scene';
import { isKnown, number, rank } from '../format';
import { Figure } from '../ui/basis';
import { Panel } from '../ui/panel';
import { ByPanel, FactsPanel, QuantilePanel, SignalPanel, hasQuery, useReadings } from '../ui/panels';

const positions = [0, 1, 2, 3, 4].map((i) => `spec_acceptance_pos${i}`);

function Positions({ s }: { s: Scene }) {
	const { scopes } = useReadings(positions, ['fleet', 'pool', 'target']);
	const scope = scopes.find((x) => x.kind === s.scope?.kind && x.scope === s.scope?.scope);
	return (
		<Panel
			title="Acceptance by position"
			basis="now"
			help="The share of drafts whose token at that position was accepted. It falls with the position; a cliff says that the draft is too long."
		>
			<ul class="bars">
				{positions.map((id, i) => {
					const r = scope?.readings[id],
						share = isKnown(r) ? rank(r) : 0;
					return (
						<li>
							<span>position {i}</span>
							<svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={isKnown(r) ? number(share, 'ratio') : 'unknown'}>
								<rect width="100" height="10" fill="var(--grid)" />
								<rect width={100 * share} height="10" fill="var(--c1)" />
							</svg>
							<Figure unit="ratio" of={{ id, where: scope?.scope ?? '', reading: r, matchers: s.matchers }} />
						</li>
					);
				})}
			</ul>
		</Panel>
	);
}

function Group({
	title,
	there,
	missing,
	children,
}: {
	title: string;
	there: boolean;
	missing: string;
	children: preact.ComponentChildren;
}) {
	return (
		<section class="group">
			<h2>{title}</h2>
			{there ? <div class="grid">{children}</div> : <p class="state empty">{missing}</p>}
		</section>
	);
}

export default function Topology({ s }: { s: Scene }) {
	if (!s.bound)
		return (
			<p class="state loading" role="status">
				What is exported …
			</p>
		);
	return (
		<>
			<Group
				title="GPUs"
				there={hasQuery(s, 'gpu_util') || hasQuery(s, 'gpu_power_watts')}
				missing="No GPU metrics: the engines do not export them. Add the DCGM exporters of the same machines as targets."
			>
				<ByPanel
					s={s}
					id="gpu_util"
					title="GPU utilisation"
					unit="ratio"
					by={['instance', 'gpu']}
					top={1}
					help="Whether any kernel was resident. High with short queues is wanted; with deep ones it is saturation; alone it decides nothing."
				/>
				<SignalPanel
					s={s}
					title="What the GPUs do"
					unit="ratio"
					top={1}
					signals={[
						{ id: 'sm_active', label: 'SMs active', color: '--c1' },
						{ id: 'tensor_active', label: 'tensor cores', color: '--c3' },
						{ id: 'dram_active', label: 'memory', color: '--c2' },
					]}
					help="Prefill keeps tensor cores busy, decode the memory."
				/>
				<ByPanel s={s} id="gpu_power_watts" title="Power" unit="W" by={['instance', 'gpu']} />
				<FactsPanel
					s={s}
					title="GPUs, now"
					ids={[
						'gpu_util',
						'sm_active',
						'sm_occupancy',
						'tensor_active',
						'dram_active',
						'vram_used_share',
						'gpu_power_watts',
						'gpu_temperature',
						'xid_last',
						'ecc_uncorrectable',
						'thermal_violation_share',
						'power_violation_share',
					]}
				/>
			</Group>
			<Group
				title="Prefill and decode apart"
				there={hasQuery(s, 'kv_transfer_mean_s')}
				missing="No KV transfers: no engine here exports NIXL or Mooncake figures, so prefill and decode run on the same engines as far as can be seen."
			>
				<QuantilePanel s={s} id="kv_transfer_p99" title="KV transfer time" />
				<SignalPanel
					s={s}
					title="Transfer bandwidth"
					unit="B/s"
					signals={[{ id: 'kv_transfer_bytes_per_s', label: 'bytes over transfer time', color: '--c1' }]}
				/>
				<SignalPanel
					s={s}
					title="Failed transfers"
					unit="1/s"
					signals={[{ id: 'kv_transfer_failures_per_s', label: 'failed', color: '--bad' }]}
					help="Critical even when HTTP looks clean."
				/>
				<FactsPanel
					s={s}
					title="Transfers, now"
					ids={[
						'kv_transfer_mean_s',
						'kv_transfer_p99',
						'kv_transfer_mean_bytes',
						'kv_transfer_bytes_per_s',
						'kv_transfers_failed',
						'kv_transfer_failure_rate',
						'kv_notifications_failed',
						'kv_expired_requests',
						'kv_transfer_share_of_ttft',
					]}
				/>
			</Group>
			<Group
				title="Speculative decoding"
				there={hasQuery(s, 'spec_mean_acceptance_length')}
				missing="No speculation: no engine here exports draft counters."
			>
				<SignalPanel
					s={s}
					title="Tokens per draft step"
					unit="tokens"
					signals={[
						{ id: 'spec_mean_acceptance_length', label: 'accepted + 1', color: '--c3' },
						{ id: 'spec_tokens_per_draft', label: 'drafted', color: '--c7', dash: true },
					]}
					help="1 + accepted over drafts. Near 1 the drafts are wasted work."
				/>
				<SignalPanel
					s={s}
					title="Acceptance"
					unit="ratio"
					top={1}
					signals={[{ id: 'spec_acceptance_rate', label: 'draft tokens accepted', color: '--c1' }]}
				/>
				<Positions s={s} />
				<FactsPanel
					s={s}
					title="Speculation, now"
					ids={[
						'spec_mean_acceptance_length',
						'spec_tokens_per_draft',
						'spec_acceptance_rate',
						'spec_alpha',
						'spec_alpha_change',
						'spec_identity_ok',
						'spec_drafts',
						'tokens_per_step',
					]}
				/>
			</Group>
		</>
	);
}
