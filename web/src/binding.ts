// Signals as PromQL, bound to the versions that run here: the daemon prints them from its own catalogue, this narrows and groups them.
import { useEffect, useState } from 'preact/hooks';
import { ask } from './api';
import asked from './asked.json';
import type { Place } from './state';

export interface Signal {
	id: string;
	title: string;
	group: string;
	unit?: string;
	help?: string;
	requirement?: string;
	headline?: boolean;
}

export interface Engine {
	engine: string;
	targets: string[];
	metrics: Record<string, string>; // canonical metric → exposed name
	promql: Record<string, string>;
}

export interface Bound {
	signals: Map<string, Signal>;
	engines: Engine[];
}

/* Stands where the matchers go; narrow() puts the real ones there, or takes it out. */
const mark = asked.signals.matchers;

export async function loadBound(signal?: AbortSignal): Promise<Bound> {
	const { data } = await ask<{ signals: Signal[]; engines: Engine[] }>('/api/goodput/v1/signals', asked.signals, signal);
	return { signals: new Map(data.signals.map((s) => [s.id, s])), engines: data.engines.filter((e) => Object.keys(e.promql).length) };
}

let bound: Bound | undefined;
let loading: Promise<void> | undefined;
const listeners = new Set<() => void>();

export function boundReload(): Promise<void> {
	loading ??= loadBound()
		.then((fresh) => {
			bound = fresh;
			listeners.forEach((tell) => tell());
		})
		.finally(() => (loading = undefined));
	return loading;
}

export function useBound(): Bound | undefined {
	const [, again] = useState({});
	useEffect(() => {
		const tell = () => again({});
		listeners.add(tell);
		if (!bound) boundReload().catch(() => undefined);
		return () => void listeners.delete(tell);
	}, []);
	return bound;
}

const quote = (text: string) => JSON.stringify(text);
const escapeRegex = (text: string) => text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');

/** The matcher for a choice of replicas; '' for all. */
export function matchersOf(instances: string[] | undefined): string {
	if (!instances) return '';
	return instances.length === 1 ? `instance=${quote(instances[0]!)}` : `instance=~${quote(instances.map(escapeRegex).join('|'))}`;
}

export function narrow(text: string, matchers: string, window: string): string {
	const filled = matchers
		? text.split(mark).join(matchers)
		: text.split(`{${mark}}`).join('').split(`{${mark},`).join('{').split(`,${mark}`).join('');
	return filled.split('$w').join(window);
}

/** The same per label: every aggregation keeps it. */
export function grouped(text: string, labels: string[]): string {
	if (!labels.length) return text;
	const by = labels.join(', ');
	return text
		.replace(/\b(sum|max|min|avg|count)\(/g, (_, name) => `${name} by (${by}) (`)
		.replace(/\bsum by \(le\)/g, `sum by (le, ${by})`);
}

/* "sum(X)" and "sum(Y)" of two versions are sum(X or Y): a target has one of them. Other forms cannot be put together as text. */
function merge(texts: string[]): string | undefined {
	const parts = texts.map((t) => /^((?:histogram_quantile\([\d.]+, )?(?:sum|max)(?: by \([\w, ]+\))? ?\()(.*?)(\)+)$/.exec(t));
	if (parts.some((p) => !p)) return undefined;
	const [first] = parts,
		head = first![1]!,
		close = head.startsWith('histogram') ? 2 : 1;
	const bodies: string[] = [];
	for (const [i, p] of parts.entries()) {
		const body = texts[i]!.slice(head.length, texts[i]!.length - close);
		if (p![1] !== head || !balanced(body)) return undefined;
		bodies.push(body);
	}
	return head + bodies.join(' or ') + ')'.repeat(close);
}

function balanced(text: string): boolean {
	let depth = 0;
	for (const c of text.replace(/"(?:[^"\\]|\\.)*"/g, '')) {
		depth += c === '(' ? 1 : c === ')' ? -1 : 0;
		if (depth < 0) return false;
	}
	return depth === 0;
}

/* A status, or a reason to finish, that never occurred has no series; beside others of its family that is 0, and not an empty result for the whole. */
function withZeros(text: string): string {
	return /^sum\(increase\([^()]*\)\)$/.test(text)
		? text
		: text.replace(/sum\(increase\([^(){}]*\{[^{}]*(?:status=~|finished_reason=)[^{}]*\}\[\w+\]\)\)/g, '($& or vector(0))');
}

export interface Query {
	text: string;
	partial?: string; // which targets it does not hold for
}

let interval = 15;
/** The fleet's scrape interval, in seconds. */
export function intervalIs(seconds: number) {
	interval = seconds;
}

/** The window of a query that says what a reading says. A window of just the distance of two samples holds one of them, so it is four intervals at least. */
export function windowFor(elapsed: number | undefined): string {
	if (!elapsed) return '5m';
	return Math.ceil(Math.max(elapsed, 4 * interval)) + 's';
}

/** A signal's query for this fleet; undefined when no engine here exports what it needs. */
export function queryOf(b: Bound | undefined, id: string, matchers: string, window: string, labels: string[] = []): Query | undefined {
	const having = b?.engines.filter((e) => e.promql[id]) ?? [];
	if (!having.length) return undefined;
	const texts = [...new Set(having.map((e) => grouped(narrow(e.promql[id]!, matchers, window), labels)))];
	const merged = texts.length > 1 ? merge(texts) : texts[0];
	if (merged) return { text: labels.length ? merged : withZeros(merged) };
	const most = having.reduce((a, e) => (e.targets.length > a.targets.length ? e : a));
	const all = having.reduce((n, e) => n + e.targets.length, 0);
	return {
		text: grouped(narrow(most.promql[id]!, matchers, window), labels),
		partial: `of ${most.targets.length} of ${all} targets: those of ${most.engine}`,
	};
}

/** Buckets of the histogram behind a quantile or cells: sum by (le) (increase(...)). */
export function bucketsOf(b: Bound | undefined, id: string, matchers: string, window: string): Query | undefined {
	const query = queryOf(b, id, matchers, window);
	if (!query) return undefined;
	const inner = /^histogram_quantile\([\d.]+, (.*)\)$/.exec(query.text);
	return { ...query, text: (inner ? inner[1]! : query.text).replace(/\brate\(/g, 'increase(') };
}

/** The exposed names of a metric, newest binding first. */
export function namesOf(b: Bound | undefined, metric: string): string[] {
	return [...new Set((b?.engines ?? []).map((e) => e.metrics[metric]).filter((n): n is string => !!n))];
}

/** Which instances the filters leave; undefined: all. */
export function chosenInstances(place: Place, poolTargets: Map<string, string[]>): string[] | undefined {
	if (!place.pools.length && !place.replicas.length) return undefined;
	const ofPools = place.pools.flatMap((pool) => poolTargets.get(pool) ?? []);
	if (!place.pools.length) return place.replicas;
	if (!place.replicas.length) return ofPools.length ? ofPools : ['none'];
	const both = place.replicas.filter((r) => ofPools.includes(r));
	return both.length ? both : ['none'];
}
