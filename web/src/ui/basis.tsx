// What a number rests on: its definition, window, n, interval, the name read, and the query to copy.
import { useEffect, useState } from 'preact/hooks';
import { queryOf, useBound, windowFor } from '../binding';
import { figure, isKnown, number, reason, short, type Reading } from '../format';
import { dateText, durationText } from '../time';
import { addressWith } from '../state';
import { Code, Dialog } from './basics';

export interface BasisOf {
	id: string; // of the signal
	where: string;
	reading: Reading | undefined;
	matchers: string;
	time?: number; // end of the window
	explain?: string; // for figures that the page makes from several
}

let show: (of: BasisOf) => void = () => undefined;

/** A figure as a button that shows its basis. */
export function Figure({ of, unit, compact, mark }: { of: BasisOf; unit: string; compact?: boolean; mark?: string }) {
	const r = of.reading;
	const text = figure(r, unit, compact ? short : number);
	const known = isKnown(r);
	return (
		<button
			type="button"
			class={'figure' + (known ? '' : ' unknown') + (r?.stale ? ' stale' : '') + (mark ? ' marked' : '')}
			onClick={() => show(of)}
			title={known ? (mark ?? 'What is this number?') : r ? reason(r) : 'not known'}
		>
			{mark ? <span aria-hidden="true">▲ </span> : null}
			{text}
			{mark ? <span class="hidden"> {mark}</span> : null}
			{r?.stale ? <span class="hidden"> stale</span> : null}
		</button>
	);
}

function rows(r: Reading, unit: string): [string, string][] {
	const out: [string, string][] = [];
	if (r.kind === 'unknown') out.push(['Why unknown', reason(r)]);
	if (r.elapsed_s !== undefined) out.push(['Window', durationText(r.elapsed_s) + ' between the samples used']);
	if (r.events !== undefined) out.push(['Events in it', 'n = ' + short(Math.round(r.events))]);
	if (r.interval) out.push(['95 % interval', `${number(r.interval[0], unit)} .. ${number(r.interval[1], unit)}`]);
	if (r.mean !== undefined && r.kind !== 'text') out.push(['Mean', number(r.mean, unit)]);
	if (r.share_beyond) out.push(['Beyond the last bucket', number(r.share_beyond, 'ratio') + ' of the events: the figure is a bound']);
	if (r.targets)
		out.push(['Targets', `${r.targets[0]} of ${r.targets[1]}` + (r.targets[0] < r.targets[1] ? '; the others are unknown, not 0' : '')]);
	if (r.exposed) out.push(['Read from', r.exposed]);
	if (r.stale)
		out.push(['Stale', 'since ' + (r.stale_since ? dateText(r.stale_since, true) : 'its heartbeat stood still') + '; judged by nothing']);
	if (r.trust_unknown) out.push(['Trust', 'unknown: its heartbeat was not seen twice']);
	if (r.over_reset) out.push(['Restart', 'a counter began anew inside the window']);
	if (r.note) out.push(['Note', r.note]);
	return out;
}

export function BasisDialog() {
	const [of, set] = useState<BasisOf | undefined>();
	const bound = useBound();
	useEffect(() => {
		show = set;
	}, []);
	const signal = of && bound?.signals.get(of.id);
	const unit = of?.reading?.unit ?? signal?.unit ?? '';
	const seconds = of?.reading?.elapsed_s;
	const query = of && queryOf(bound, of.id, of.matchers, windowFor(seconds));
	return (
		<Dialog title={of ? (signal?.title ?? of.id) + ' · ' + of.where : ''} open={!!of} close={() => set(undefined)}>
			{of ? (
				<>
					<p class="big">{figure(of.reading, unit)}</p>
					{of.explain || signal?.help ? <p>{of.explain ?? signal!.help}</p> : null}
					<dl>
						{of.reading ? rows(of.reading, unit).map(([name, text]) => [<dt>{name}</dt>, <dd>{text}</dd>]) : null}
						{of.time ? [<dt>Judged</dt>, <dd>{dateText(of.time, true)}</dd>] : null}
						<dt>Signal</dt>
						<dd>
							<code>{of.id}</code>
							{signal?.requirement ? ` (${signal.requirement})` : ''}; <code>goodput signals {of.id}</code> says more
						</dd>
					</dl>
					{query ? (
						<>
							<h3>PromQL</h3>
							<Code text={query.text} what="query" />
							{query.partial ? <p class="dim">{query.partial}</p> : null}
							<p>
								<a href={addressWith({ view: '/query', more: { q: query.text } })} onClick={() => set(undefined)}>
									open in Query
								</a>
							</p>
							<p class="dim">
								Prometheus extrapolates rates to the ends of the window, and gives a bucket's bound where this page gives <code>&gt;</code>;
								apart from that it says the same.
							</p>
						</>
					) : (
						<p class="dim">
							There is no PromQL for it here: {bound ? 'no engine in this fleet exports what it needs, or PromQL cannot say it' : 'loading'}
							.
						</p>
					)}
				</>
			) : null}
		</Dialog>
	);
}
