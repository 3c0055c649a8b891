// Numbers and readings as text, the way the command line prints them (src/signals/reading_print.c): bounds as bounds, unknown with its reason.
export interface Reading {
	kind: 'unknown' | 'value' | 'at_least' | 'at_most' | 'between' | 'text' | 'cells';
	value?: number;
	low?: number;
	high?: number;
	text?: string;
	reason?: string;
	why?: string;
	unit?: string;
	events?: number;
	elapsed_s?: number;
	interval?: [number, number];
	mean?: number;
	share_beyond?: number;
	stale?: boolean;
	stale_since?: number;
	trust_unknown?: boolean;
	over_reset?: boolean;
	targets?: [number, number];
	exposed?: string;
	note?: string;
	cells?: [number, number | null, number][];
}

const reasons: Record<string, string> = {
	absent: 'not exported by this target',
	'not-enabled': 'not switched on',
	'not-applicable': 'not in this engine version',
	'target-down': 'target down',
	'no-traffic': 'no traffic',
	invalid: 'invalid data',
	'one-scrape': 'one scrape only',
	'old-end': 'no sample near an end of the window',
	guarded: 'meaningless here',
	'mixed-models': 'several models: ask per pool',
	'no-reference': 'no window to compare with',
};

/** Three significant digits. */
export function plain(v: number): string {
	const size = Math.abs(v);
	if (Number.isInteger(v) && size < 1e15) return String(v);
	const decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : size >= 0.01 ? 4 : -1;
	if (size >= 1e15 || decimals < 0) return String(Number(v.toPrecision(3)));
	const text = v.toFixed(decimals);
	return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

type Step = [from: number, scale: number, suffix: string];
const bytes: Step[] = [
	[2 ** 40, 2 ** 40, 'TiB'],
	[2 ** 30, 2 ** 30, 'GiB'],
	[2 ** 20, 2 ** 20, 'MiB'],
	[1024, 1024, 'KiB'],
	[0, 1, 'B'],
];
const seconds: Step[] = [
	[172800, 86400, 'd'],
	[7200, 3600, 'h'],
	[600, 60, 'min'],
	[1, 1, 's'],
	[1e-3, 1e-3, 'ms'],
	[0, 1e-6, 'us'],
];

function scaled(v: number, steps: Step[], tail = ''): string {
	const [, scale, suffix] = steps.find(([from]) => Math.abs(v) >= from)!;
	return `${plain(v / scale)} ${suffix}${tail}`;
}

export function number(v: number, unit = ''): string {
	if (!isFinite(v)) return v > 0 ? 'inf' : v < 0 ? '-inf' : 'unknown';
	if (unit === 's') return v === 0 ? '0 s' : scaled(v, seconds);
	if (unit === 'ratio') return plain(v * 100) + ' %';
	if (unit === 'ratio_x') return plain(v) + 'x';
	if (unit.startsWith('bytes')) return scaled(v, bytes, unit.slice(5));
	if (unit === 'B/s') return scaled(v, bytes, '/s');
	if (unit === '1/s' || unit === '1/h') return plain(v) + '/' + unit[2];
	return plain(v) + (unit ? ' ' + unit : '');
}

/** Large counts short: "1.2k". For cells and axes, where the unit stands at the head. */
export function short(v: number, unit = ''): string {
	if (/^(s|ratio|ratio_x|bytes.*|B\/s)$/.test(unit)) return number(v, unit);
	const size = Math.abs(v);
	if (size >= 1e9) return plain(v / 1e9) + 'G';
	if (size >= 1e6) return plain(v / 1e6) + 'M';
	if (size >= 1e4) return plain(v / 1e3) + 'k';
	return plain(v);
}

export function reason(r: Reading): string {
	const text = reasons[r.reason ?? ''] ?? r.reason ?? 'not known';
	return r.why ? `${text} (${r.why})` : text;
}

/* A bound without its number says nothing. */
export const isKnown = (r: Reading | undefined): r is Reading =>
	!!r && r.kind !== 'unknown' && !(r.kind === 'at_least' && r.low === undefined) && !(r.kind === 'at_most' && r.high === undefined);

/** The figure alone; `print` decides on the unit. */
export function figure(r: Reading | undefined, unit: string, print = number): string {
	if (!r) return 'unknown';
	switch (r.kind) {
		case 'unknown':
			return 'unknown';
		case 'text':
			return r.text ?? '';
		case 'cells':
			return `${r.cells?.length ?? 0} cells`;
		case 'value':
			return print(r.value!, unit);
		case 'at_least':
			return r.low === undefined ? 'unknown' : (r.share_beyond! > 0 ? '> ' : '≥ ') + print(r.low!, unit);
		case 'at_most':
			return r.high === undefined ? 'unknown' : '≤ ' + print(r.high!, unit);
		case 'between':
			return `${print(r.low!, unit)} .. ${print(r.high!, unit)}`;
	}
}

/** One number to sort and compare by; NaN when unknown. */
export function rank(r: Reading | undefined): number {
	if (!r) return NaN;
	if (r.kind === 'value') return r.value!;
	if (r.kind === 'at_least' || r.kind === 'between') return r.low ?? NaN;
	return r.kind === 'at_most' ? (r.high ?? NaN) : NaN;
}
