// Times: ranges as people write them, and clocks. Seconds since 1970 everywhere.
import { kept } from './state';

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** "now", "now-1h30m", unix seconds, or a date; NaN when it is none of them. */
export function parseTime(text: string, now: number): number {
	const t = text.trim();
	const relative = /^now(?:-((?:\d+[smhdw])+))?$/.exec(t);
	if (relative) return now - (relative[1] ? parseDuration(relative[1]) : 0);
	if (/^\d{9,11}(\.\d+)?$/.test(t)) return Number(t);
	const date = /^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?(Z)?$/.exec(t);
	if (!date) return NaN;
	const utc = date[3] || zone() === 'utc';
	const day = t.replace('Z', '').replace(' ', 'T');
	return Date.parse((day.includes('T') ? day : day + 'T00:00') + (utc ? 'Z' : '')) / 1000;
}

export function parseDuration(text: string): number {
	let seconds = 0;
	for (const [, count, unit] of text.matchAll(/(\d+)([smhdw])/g)) seconds += Number(count) * units[unit!]!;
	return seconds;
}

/** "1h30m" */
export function durationText(seconds: number): string {
	let rest = Math.max(0, Math.round(seconds)),
		text = '';
	for (const [unit, size] of [
		['d', 86400],
		['h', 3600],
		['m', 60],
		['s', 1],
	] as const) {
		const count = Math.floor(rest / size);
		if (count && text.length < 6) text += count + unit;
		rest -= count * size;
	}
	return text || '0s';
}

export const zone = () => kept('zone', 'local');

const two = (n: number) => String(n).padStart(2, '0');

/** "2026-01-15 03:02:30", with the zone where it must be unambiguous. */
export function dateText(t: number, withZone = false): string {
	const d = new Date(t * 1000);
	if (zone() === 'utc') return d.toISOString().slice(0, 19).replace('T', ' ') + (withZone ? 'Z' : '');
	const text = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clockText(t)}`;
	return withZone ? text + ' ' + zoneName(d) : text;
}

export function clockText(t: number): string {
	const d = new Date(t * 1000);
	return zone() === 'utc' ? d.toISOString().slice(11, 19) : `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

function zoneName(d: Date): string {
	const offset = -d.getTimezoneOffset(),
		size = Math.abs(offset);
	return offset ? `UTC${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}` : 'UTC';
}

export interface Range {
	from: number;
	to: number;
	live: boolean; // ends now
}

export function rangeOf(from: string, to: string, now: number): Range {
	const end = parseTime(to, now),
		start = parseTime(from, now);
	const good = isFinite(end) && isFinite(start) && start < end;
	return good ? { from: start, to: end, live: to.startsWith('now') } : { from: now - 3600, to: now, live: true };
}

/** Steps that people can read: 1 s to a day. */
export function stepFor(range: Range, points: number, least: number): number {
	const wanted = Math.max((range.to - range.from) / points, least);
	return [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400].find((s) => s >= wanted) ?? 86400;
}
