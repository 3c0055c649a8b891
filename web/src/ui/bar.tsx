// Time range and filters: what the address says, and how to change it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { addressWith, go, here, keep, refresh, usePlace } from '../state';
import { dateText, durationText, parseTime, rangeOf, zone } from '../time';
import { Copy } from './basics';

const ranges = ['now-5m', 'now-15m', 'now-30m', 'now-1h', 'now-3h', 'now-6h', 'now-12h', 'now-1d', 'now-7d'];

/* ---- time range ---- */

export function shift(by: number) {
	const place = here(),
		range = rangeOf(place.from, place.to, Date.now() / 1000),
		span = range.to - range.from;
	go({ from: String(Math.round(range.from + by * span)), to: String(Math.round(range.to + by * span)) });
}

export function widen() {
	const place = here(),
		range = rangeOf(place.from, place.to, Date.now() / 1000),
		span = range.to - range.from;
	if (range.live) go({ from: 'now-' + durationText(span * 2), to: 'now' });
	else go({ from: String(Math.round(range.from - span / 2)), to: String(Math.round(range.to + span / 2)) });
}

export function RangePicker() {
	const place = usePlace(),
		now = Date.now() / 1000,
		range = rangeOf(place.from, place.to, now);
	const [from, setFrom] = useState(place.from),
		[to, setTo] = useState(place.to),
		[why, tell] = useState('');
	const box = useRef<HTMLDetailsElement>(null);
	// What had the focus is gone with the sheet: its head takes it.
	const leave = () => {
		box.current!.open = false;
		box.current!.querySelector('summary')!.focus();
	};
	const shown = (text: string) => (/^\d/.test(text) ? dateText(parseTime(text, now)) : text);
	useEffect(() => {
		setFrom(shown(place.from));
		setTo(shown(place.to));
	}, [place.from, place.to]);
	const apply = (event: Event) => {
		event.preventDefault();
		const start = parseTime(from, now),
			end = parseTime(to, now);
		if (!isFinite(start) || !isFinite(end)) return tell('A time is now-1h30m, 2026-01-15 03:00, or unix seconds.');
		if (start >= end) return tell('The range ends before it begins.');
		const text = (t: string, at: number) => (t.trim().startsWith('now') ? t.trim() : String(Math.round(at)));
		tell('');
		leave();
		go({ from: text(from, start), to: text(to, end) });
	};
	const label =
		place.to === 'now' && place.from.startsWith('now-')
			? 'last ' + place.from.slice(4)
			: `${dateText(range.from)} to ${dateText(range.to)}`;
	const absolute = location.origin + addressWith({ from: String(Math.round(range.from)), to: String(Math.round(range.to)) });
	return (
		<div class="range">
			<button type="button" class="quiet" onClick={() => shift(-0.5)} aria-label="Earlier by half the range">
				‹
			</button>
			<details class="menu" ref={box}>
				<summary id="range">{label}</summary>
				<div class="sheet">
					<div class="choices">
						{ranges.map((r) => (
							<button
								type="button"
								aria-pressed={place.from === r && place.to === 'now'}
								onClick={() => {
									leave();
									go({ from: r, to: 'now' });
								}}
							>
								{r.slice(4)}
							</button>
						))}
					</div>
					<form onSubmit={apply}>
						<label>
							From <input value={from} onInput={(e) => setFrom(e.currentTarget.value)} />
						</label>
						<label>
							To <input value={to} onInput={(e) => setTo(e.currentTarget.value)} />
						</label>
						<button type="submit">Show</button>
						{why ? (
							<p role="alert" class="note">
								{why}
							</p>
						) : null}
					</form>
					<p>
						Times are {zone() === 'utc' ? 'UTC' : 'local'}.{' '}
						<button
							type="button"
							class="quiet"
							onClick={() => {
								keep('zone', zone() === 'utc' ? 'local' : 'utc');
								refresh();
							}}
						>
							{zone() === 'utc' ? 'Show local time' : 'Show UTC'}
						</button>
					</p>
					<p>
						Link to this range, absolute: <Copy text={absolute} what="link" />
					</p>
				</div>
			</details>
			<button type="button" class="quiet" onClick={() => shift(0.5)} aria-label="Later by half the range">
				›
			</button>
			<button type="button" class="quiet" onClick={widen} aria-label="Zoom out">
				zoom out
			</button>
		</div>
	);
}

/* ---- filters ---- */

export function Filters({ pools, targets, simulated }: { pools: string[]; targets: string[]; simulated: Set<string> }) {
	const place = usePlace();
	const [find, set] = useState('');
	const chosen = place.pools.length + place.replicas.length;
	const flip = (list: string[], name: string) => (list.includes(name) ? list.filter((x) => x !== name) : [...list, name]);
	const listed = targets.filter((t) => t.includes(find));
	const check = (kind: 'pools' | 'replicas', name: string) => (
		<label>
			<input type="checkbox" checked={place[kind].includes(name)} onChange={() => go({ [kind]: flip(place[kind], name) })} /> {name}
			{kind === 'replicas' && simulated.has(name) ? ' (simulated)' : ''}
		</label>
	);
	return (
		<div class="filters">
			<details class="menu">
				<summary id="filter">{chosen ? `${chosen} filter${chosen > 1 ? 's' : ''}` : 'all pools, all replicas'}</summary>
				<div class="sheet">
					{pools.length ? (
						<fieldset>
							<legend>Pools</legend>
							{pools.map((name) => check('pools', name))}
						</fieldset>
					) : null}
					<fieldset>
						<legend>Replicas</legend>
						{targets.length > 8 ? (
							<label>
								Find <input type="search" value={find} onInput={(e) => set(e.currentTarget.value)} />
							</label>
						) : null}
						<div class="list">{listed.slice(0, 100).map((name) => check('replicas', name))}</div>
					</fieldset>
					{chosen ? (
						<button type="button" onClick={() => go({ pools: [], replicas: [] })}>
							Show all
						</button>
					) : null}
				</div>
			</details>
			{[...place.pools.map((n) => ['pools', n] as const), ...place.replicas.map((n) => ['replicas', n] as const)]
				.slice(0, 4)
				.map(([kind, name]) => (
					<button
						type="button"
						class="chip"
						aria-label={'Remove the filter ' + name}
						onClick={() => go({ [kind]: place[kind].filter((x) => x !== name) })}
					>
						{name} ✕
					</button>
				))}
		</div>
	);
}
