// Asking the daemon, and hearing from it.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Reading } from './format';

export class ApiError extends Error {
	constructor(
		readonly kind: string,
		readonly status: number,
		text: string,
	) {
		super(text);
	}
}

export interface Answer<T> {
	data: T;
	warnings?: string[];
	infos?: string[];
}

type Params = Record<string, string | number | string[]>;

export async function ask<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<Answer<T>> {
	const form = new URLSearchParams();
	for (const [name, value] of Object.entries(params))
		(Array.isArray(value) ? value : [value]).forEach((one) => form.append(name, String(one)));
	const query = form.toString();
	let response: Response;
	try {
		// Long queries do not fit an address.
		response =
			query.length > 2000 && path.startsWith('/api/v1/')
				? await fetch(path, { method: 'POST', body: form, signal })
				: await fetch(path + (query ? '?' + query : ''), { signal });
	} catch (problem) {
		if (signal?.aborted) throw problem;
		throw new ApiError('unreachable', 0, 'goodput does not answer: it was stopped, or the network is down');
	}
	let body: { status?: string; errorType?: string; error?: string } & Answer<T>;
	try {
		body = await response.json();
	} catch {
		throw new ApiError('invalid', response.status, `the answer to ${path} is no JSON (HTTP ${response.status})`);
	}
	if (body.status !== 'success') throw new ApiError(body.errorType ?? 'unknown', response.status, body.error ?? `HTTP ${response.status}`);
	return body;
}

/* ---- what the routes give ---- */

export interface Verdict {
	severity: string;
	text: string;
	exit_status: number;
}

export interface Report {
	time: number;
	window: { from: number; to: number };
	verdict: Verdict;
}

export interface Scope {
	scope: string;
	kind: 'fleet' | 'pool' | 'target' | 'engine' | 'gpu';
	target?: string;
	key?: string;
	model?: string;
	pool?: string;
	role?: string;
	readings: Record<string, Reading>;
}

export interface Evidence {
	signal: string;
	title: string;
	text: string;
	reading: Reading;
}

export interface Action {
	grade: string;
	text: string;
	risk?: string;
	command?: string;
}

export interface Finding {
	id: string;
	severity: string;
	scope?: string;
	kind?: string;
	pool?: string;
	where: string[];
	where_all: number;
	title: string;
	detail?: string;
	onset?: number;
	last?: number;
	now: boolean;
	undecided: boolean;
	suppressed_by: string | null;
	evidence: Evidence[];
	counter: Evidence[];
	changed: string[];
	actions: Action[];
	blast?: Reading;
	explain?: string;
}

export interface Target {
	name: string;
	url?: string;
	outcome?: string;
	http_status?: number;
	detail?: string;
	advice?: string;
	last_scrape?: number;
	samples?: number;
	dropped_lines?: number;
	duplicates?: number;
	engine?: string;
	engine_title?: string;
	checked_up_to?: string;
	exporters?: string[];
	flavour?: string;
	unknown_families?: string[];
	coverage: { metric: string; coverage: string; why?: string; exposed?: string }[];
}

export interface Matrix {
	resultType: 'matrix';
	result: { metric: Record<string, string>; values: [number, string][] }[];
}

/* ---- live ---- */

export interface Live {
	state: 'connecting' | 'connected' | 'lost' | 'paused';
	since: number; // of the state, in ms
	count: number; // reports heard
	annotations: number;
}

let live: Live = { state: 'connecting', since: Date.now(), count: 0, annotations: 0 };
let events: EventSource | undefined;
const listeners = new Set<() => void>();

function become(change: Partial<Live>) {
	live = { ...live, ...change, since: change.state && change.state !== live.state ? Date.now() : live.since };
	listeners.forEach((tell) => tell());
}

/** One connection for the whole page; the browser connects again by itself, and slower where it was refused. */
let wait = 1000;
export function liveStart() {
	events?.close();
	events = new EventSource('/api/goodput/v1/events');
	events.onopen = () => {
		wait = 1000;
		become({ state: 'connected', count: live.count + (live.state === 'lost' ? 1 : 0) });
	};
	events.onerror = () => {
		become({ state: 'lost' });
		if (events!.readyState !== EventSource.CLOSED) return;
		setTimeout(() => live.state === 'lost' && liveStart(), wait);
		wait = Math.min(wait * 2, 30000);
	};
	events.addEventListener('report', () => {
		// Nobody looks at a hidden page: it catches up when it is shown.
		if (document.hidden) missed = true;
		else become({ count: live.count + 1 });
	});
	events.addEventListener('annotation', () => become({ annotations: live.annotations + 1 }));
}

let missed = false;
document.addEventListener('visibilitychange', () => {
	if (document.hidden || !missed) return;
	missed = false;
	become({ count: live.count + 1 });
});

export function livePause(paused: boolean) {
	if (paused) {
		events?.close();
		become({ state: 'paused' });
	} else {
		become({ state: 'connecting', count: live.count + 1 });
		liveStart();
	}
}

export function useLive(): Live {
	const [, again] = useState({});
	useEffect(() => {
		const tell = () => again({});
		listeners.add(tell);
		return () => void listeners.delete(tell);
	}, []);
	return live;
}

/** Counts reports, but at most one in so many seconds: a chart need not be drawn more often than it has points. */
export function useTick(seconds: number, active: boolean): number {
	const { count } = useLive();
	const last = useRef({ count, at: 0 });
	const now = Date.now() / 1000;
	if (active && count !== last.current.count && now - last.current.at >= seconds - 0.2) last.current = { count, at: now };
	return last.current.count;
}

export interface Data<T> {
	data?: T;
	error?: ApiError;
	loading: boolean; // the first time, or for another question
	at: number; // when `data` came, in ms
}

/** Loads for a key, and again for each tick. What was there stays until there is something newer; a failure leaves it and says so. */
export function useData<T>(key: string, tick: number, load: (signal: AbortSignal) => Promise<T>): Data<T> {
	const [state, set] = useState<Data<T> & { key: string }>({ key, loading: true, at: 0 });
	const running = useRef<{ key: string; controller: AbortController } | undefined>(undefined);
	// Before the browser paints: the answer comes that much sooner.
	useLayoutEffect(() => {
		if (!key || running.current?.key === key) return; // still on its way: the next tick is soon
		running.current?.controller.abort();
		const mine = { key, controller: new AbortController() };
		running.current = mine;
		load(mine.controller.signal)
			.then((data) => set({ key, data, loading: false, at: Date.now() }))
			.catch((problem) => {
				if (mine.controller.signal.aborted) return;
				const error = problem instanceof ApiError ? problem : new ApiError('internal', 0, String(problem));
				set((old) => ({ ...old, key, data: old.key === key ? old.data : undefined, error, loading: false }));
			})
			.finally(() => {
				if (running.current === mine) running.current = undefined;
			});
	}, [key, tick]);
	useEffect(() => () => running.current?.controller.abort(), []);
	if (!key) return { loading: false, at: 0 };
	return state.key === key ? state : { ...state, loading: true, error: undefined };
}
