// What a view is drawn from: the fleet, the range, the filters; put together once for all panels.
import { useMemo } from 'preact/hooks';
import { ask, useData, useLive, useTick, type Data } from './api';
import asked from './asked.json';
import { intervalIs, matchersOf, queryOf, bucketsOf, useBound, type Bound, type Query } from './binding';
import { instancesOf, scopeOf, useMembers, type Fleet, type Members } from './fleet';
import { useMarks } from './marks';
import { drawn, gridOf, queryRange, type Drawn, type Grid } from './series';
import { bucketsFrom, type Buckets } from './histogram';
import { usePlace, type Place } from './state';
import { rangeOf, parseDuration, type Range } from './time';
import type { Scope } from './api';
import type { Mark } from './ui/plot';

export interface Scene {
	fleet: Data<Fleet>;
	place: Place;
	members: Members;
	scope: Scope | undefined; // whose readings answer for the filters
	instances: string[] | undefined;
	matchers: string;
	bound: Bound | undefined;
	range: Range;
	grid: Grid;
	tick: number;
	marks: Mark[];
	simulated: Set<string>;
	ready: boolean; // grid and filters are known: before, nothing is asked
}

interface Active {
	activeTargets: { scrapeInterval: string }[];
}

/** The longest scrape interval of the fleet: a window has at least four of them. */
export function useScrapeSeconds(): number | undefined {
	const found = useData('interval', 0, (signal) =>
		ask<Active>('/api/v1/targets', asked.targets, signal).then((a) =>
			Math.max(1, ...a.data.activeTargets.map((t) => parseDuration(t.scrapeInterval))),
		),
	);
	return found.data ?? (found.error ? 15 : undefined);
}

export function useScene(fleet: Data<Fleet>, simulated: Set<string>, interval: number | undefined): Scene {
	const scrapeSeconds = interval ?? 15;
	intervalIs(scrapeSeconds);
	const place = usePlace(),
		bound = useBound();
	const live = place.to.startsWith('now');
	const span = useMemo(() => rangeOf(place.from, place.to, 1e9), [place.from, place.to]);
	const tick = useTick(Math.max(scrapeSeconds, (span.to - span.from) / 180), live);
	const members = useMembers(fleet.data);
	const range = useMemo(
		() => rangeOf(place.from, place.to, Math.max(fleet.data?.time ?? 0, fleet.data ? 0 : Date.now() / 1000)),
		[place.from, place.to, tick, !fleet.data],
	);
	const grid = useMemo(() => gridOf(range, scrapeSeconds), [range, scrapeSeconds]);
	const instances = useMemo(() => instancesOf(place, members), [place.pools.join('\n'), place.replicas.join('\n'), members]);
	const ready = interval !== undefined && (!!fleet.data || !!fleet.error);
	// An annotation is drawn when it is told, not a step later.
	const marks = useMarks(ready ? grid : undefined, instances, tick + useLive().annotations);
	const { data, error, at } = fleet;
	// The same object while nothing in it has changed: views are drawn again when it does.
	return useMemo(
		() => ({
			fleet,
			place,
			members,
			scope: scopeOf(data, place),
			instances,
			matchers: matchersOf(instances),
			bound,
			range,
			grid,
			tick,
			marks,
			simulated,
			ready,
		}),
		[data, error, at, place, instances, bound, grid, tick, marks, simulated, ready],
	);
}

export interface Asked {
	query: Query | undefined;
	data: Data<Drawn>;
}

/** A signal over the range. */
export function useSignal(s: Scene, id: string, labels: string[] = [], rate = false): Asked {
	const found = queryOf(s.bound, id, s.matchers, s.grid.window, labels);
	const query = found && rate ? { ...found, text: found.text.replace(/\bincrease\(/g, 'rate(') } : found;
	return { query, data: useQuery(s, query?.text) };
}

export function useQuery(s: Scene, text: string | undefined, grid: Grid = s.grid): Data<Drawn> {
	return useData(text && s.ready ? `${text} ${grid.key}` : '', s.tick, (signal) => drawn(text!, grid, signal));
}

export interface Bucketed {
	grid: Grid;
	buckets: Buckets;
	notes: string[];
}

export function useBuckets(s: Scene, id: string): { query: Query | undefined; data: Data<Bucketed> } {
	const grid = s.grid,
		query = bucketsOf(s.bound, id, s.matchers, grid.window);
	const data = useData(query && s.ready ? `${query.text} ${grid.key} buckets` : '', s.tick, async (signal) => {
		const answer = await queryRange(query!.text, grid, signal);
		return { grid, buckets: bucketsFrom(answer.data, grid.times), notes: answer.warnings ?? [] };
	});
	return { query, data };
}

/** Why a panel is empty, in words; undefined when it is not. */
export function whyEmpty(
	s: Scene,
	query: Query | undefined,
	data: Data<{ grid: Grid } & { columns?: unknown[]; buckets?: Buckets }>,
): string | undefined {
	if (s.fleet.error && !s.fleet.data) return 'The signals have not been judged yet; this takes two scrapes and one evaluation.';
	if (s.bound && !query) return 'Not exported: no engine in this fleet has what this needs. Targets says what is there and what is not.';
	if (!data.data || data.loading) return undefined;
	const nothing = data.data.columns ? !data.data.columns.length : !data.data.buckets?.bounds.length;
	return nothing ? 'No samples in this range. A longer range, or fewer filters, may have some.' : undefined;
}
