// What is shown is an address: view, time range, filters. Every change goes through the URL, so that links, history and reloads agree.
import { useEffect, useState } from 'preact/hooks';

export interface Place {
	view: string; // "/latency"
	from: string; // "now-1h", or unix seconds
	to: string;
	pools: string[];
	replicas: string[];
	more: Record<string, string>; // what a view keeps for itself
}

const own = ['from', 'to', 'pool', 'replica'];
const preset = { from: 'now-1h', to: 'now' };

export function placeOf(url: URL): Place {
	const p = url.searchParams;
	const more: Record<string, string> = {};
	p.forEach((value, name) => {
		if (!own.includes(name)) more[name] = value;
	});
	return {
		view: url.pathname,
		from: p.get('from') || preset.from,
		to: p.get('to') || preset.to,
		pools: p.getAll('pool'),
		replicas: p.getAll('replica'),
		more,
	};
}

export function addressOf(place: Place): string {
	const p = new URLSearchParams();
	if (place.from !== preset.from || place.to !== preset.to) {
		p.set('from', place.from);
		p.set('to', place.to);
	}
	place.pools.forEach((name) => p.append('pool', name));
	place.replicas.forEach((name) => p.append('replica', name));
	for (const [name, value] of Object.entries(place.more)) if (value) p.set(name, value);
	const query = p.toString();
	return place.view + (query ? '?' + query : '');
}

let place = placeOf(new URL(location.href));
const listeners = new Set<() => void>();

function tellAll() {
	listeners.forEach((tell) => tell());
}

export const here = () => place;

/** The address after a change; views keep their own parameters to themselves. */
export function addressWith(change: Partial<Place>): string {
	const moved = change.view !== undefined && change.view !== place.view;
	return addressOf({ ...place, ...(moved ? { more: {} } : {}), ...change });
}

export function go(change: Partial<Place>) {
	const address = addressWith(change);
	if (address === location.pathname + location.search) return;
	history.pushState(null, '', address);
	place = placeOf(new URL(location.href));
	tellAll();
}

/** Everything is drawn again, as after a change of theme or clock. */
export function refresh() {
	place = placeOf(new URL(location.href));
	tellAll();
}

addEventListener('popstate', refresh);

/** Links inside the page change it without loading it again. */
document.addEventListener('click', (event) => {
	const link = (event.target as Element).closest?.('a');
	if (!link || link.origin !== location.origin || link.hasAttribute('download') || link.target) return;
	if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
	if (link.pathname.startsWith('/api/') || link.pathname === '/metrics' || link.getAttribute('href')!.startsWith('#')) return;
	event.preventDefault();
	const url = new URL(link.href);
	const moved = url.pathname !== place.view;
	history.pushState(null, '', url.pathname + url.search);
	place = placeOf(url);
	tellAll();
	if (moved) {
		scrollTo(0, 0);
		document.getElementById('main')?.focus({ preventScroll: true });
	}
});

export function usePlace(): Place {
	const [, again] = useState({});
	useEffect(() => {
		const tell = () => again({});
		listeners.add(tell);
		return () => void listeners.delete(tell);
	}, []);
	return place;
}

/** A value that outlives the visit: theme, clock, columns. */
export function kept(name: string, otherwise: string): string {
	try {
		return localStorage.getItem('goodput.' + name) ?? otherwise;
	} catch {
		return otherwise;
	}
}

export function keep(name: string, value: string) {
	try {
		localStorage.setItem('goodput.' + name, value);
	} catch {
		// Storage may be switched off; then it lasts as long as the page.
	}
}
