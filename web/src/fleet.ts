// What every view needs to know of the fleet: the newest report's readings, who is in which pool, who is simulated.
import { useMemo } from 'preact/hooks';
import { ask, useData, useLive, type Answer, type Data, type Report, type Scope } from './api';
import { chosenInstances } from './binding';
import asked from './asked.json';
import type { Place } from './state';

/* The overview's figures: small enough to come with every report. build.mjs has the shell ask for them before any script has come. */
export interface Fleet extends Report {
	scopes: Scope[];
}

export interface Members {
	pools: string[];
	targets: string[];
	byPool: Map<string, string[]>;
}

export function useFleet(): Data<Fleet> {
	const { count } = useLive();
	return useData('readings', count, (signal) => ask<Fleet>('/api/goodput/v1/readings', asked.readings, signal).then((a) => a.data));
}

export function membersOf(fleet: Fleet | undefined): Members {
	const byPool = new Map<string, string[]>(),
		targets: string[] = [],
		pools: string[] = [];
	for (const s of fleet?.scopes ?? []) {
		if (s.kind === 'pool') pools.push(s.scope);
		if (s.kind !== 'target') continue;
		targets.push(s.scope);
		if (s.pool) byPool.set(s.pool, [...(byPool.get(s.pool) ?? []), s.scope]);
	}
	return { pools, targets, byPool };
}

export function useMembers(fleet: Fleet | undefined): Members {
	return useMemo(() => membersOf(fleet), [fleet]);
}

export function instancesOf(place: Place, members: Members): string[] | undefined {
	return chosenInstances(place, members.byPool);
}

/** The scope whose readings answer for the filters: one replica, one pool, or the fleet. */
export function scopeOf(fleet: Fleet | undefined, place: Place): Scope | undefined {
	const find = (kind: string, name: string) => fleet?.scopes.find((s) => s.kind === kind && s.scope === name);
	if (place.replicas.length === 1) return find('target', place.replicas[0]!);
	if (place.pools.length === 1 && !place.replicas.length) return find('pool', place.pools[0]!);
	return find('fleet', 'fleet');
}

type Vector = { result: { metric: Record<string, string>; value: [number, string] }[] };

export function useSimulated(tick: number): Set<string> {
	const found = useData('simulated', tick, (signal) =>
		ask<Vector>('/api/v1/query', { query: 'goodput_simulated_info == 1' }, signal).then((a: Answer<Vector>) =>
			a.data.result.map((r) => r.metric.instance ?? ''),
		),
	);
	return useMemo(() => new Set(found.data ?? []), [found.data?.join()]);
}

/** One colour per replica, the same in every chart. */
export function colorIndex(members: Members, name: string): number {
	return Math.max(0, members.targets.indexOf(name)) % 8;
}
