// PromQL on the page: words to complete with, and a parsed query as text and in words again.

export const functions: Record<string, string> = {
	rate: 'increase per second over the window, resets corrected',
	increase: 'increase over the window, resets corrected',
	irate: 'rate of the last two samples',
	histogram_quantile: 'quantile from buckets',
	sum: 'sum over series',
	avg: 'mean over series',
	max: 'largest',
	min: 'smallest',
	count: 'number of series',
	topk: 'the k largest',
	bottomk: 'the k smallest',
	quantile: 'quantile over series',
	stddev: 'standard deviation',
	group: '1 for each group',
	count_values: 'series by value',
	avg_over_time: 'mean over the window',
	max_over_time: 'largest in the window',
	min_over_time: 'smallest in the window',
	sum_over_time: 'sum over the window',
	count_over_time: 'samples in the window',
	quantile_over_time: 'quantile over the window',
	last_over_time: 'newest in the window',
	changes: 'how often it changed',
	resets: 'how often it fell',
	delta: 'last minus first',
	idelta: 'last minus the one before',
	deriv: 'slope by least squares',
	predict_linear: 'where the slope leads',
	absent: '1 when there is nothing',
	absent_over_time: '1 when there was nothing',
	abs: 'without sign',
	ceil: 'rounded up',
	floor: 'rounded down',
	round: 'rounded',
	clamp: 'limited to a range',
	clamp_min: 'at least',
	clamp_max: 'at most',
	label_replace: 'a label made from another',
	label_join: 'labels joined',
	sort: 'sorted',
	sort_desc: 'sorted, largest first',
	time: 'the time of evaluation',
	timestamp: 'the time of the sample',
	vector: 'a number as a vector',
	scalar: 'a vector of one as a number',
	ln: 'natural logarithm',
	log2: 'logarithm',
	log10: 'logarithm',
	exp: 'exponential',
	sqrt: 'square root',
};
export const keywords = ['by', 'without', 'on', 'ignoring', 'group_left', 'group_right', 'offset', 'bool', 'and', 'or', 'unless'];

/* ---- the tree that /api/v1/parse_query gives ---- */

export interface Node {
	type: string;
	op?: string;
	lhs?: Node;
	rhs?: Node;
	expr?: Node;
	param?: Node | null;
	grouping?: string[];
	without?: boolean;
	func?: { name: string };
	args?: Node[];
	name?: string;
	matchers?: { name: string; value: string; type: string }[];
	range?: number;
	step?: number;
	offset?: number;
	timestamp?: number | null;
	startOrEnd?: string | null;
	matching?: { card: string; labels: string[]; on: boolean; include: string[] } | null;
	bool?: boolean;
	val?: string;
}

export function children(n: Node): Node[] {
	return [n.param ?? undefined, n.lhs, n.rhs, n.expr, ...(n.args ?? [])].filter((c): c is Node => !!c);
}

function duration(ms: number): string {
	let rest = ms,
		text = '';
	for (const [unit, size] of [
		['w', 604800000],
		['d', 86400000],
		['h', 3600000],
		['m', 60000],
		['s', 1000],
		['ms', 1],
	] as const) {
		const count = Math.floor(rest / size);
		if (count) text += count + unit;
		rest -= count * size;
	}
	return text || '0s';
}

function modifiers(n: Node): string {
	const at = n.timestamp != null ? ` @ ${(n.timestamp / 1000).toFixed(3)}` : n.startOrEnd ? ` @ ${n.startOrEnd}()` : '';
	return at + (n.offset ? ` offset ${n.offset < 0 ? '-' : ''}${duration(Math.abs(n.offset))}` : '');
}

function selector(n: Node): string {
	const plain = n.name && /^[a-zA-Z_:][\w:]*$/.test(n.name) ? n.name : '';
	const matchers = (n.matchers ?? [])
		.filter((m) => !(plain && m.name === '__name__' && m.type === '='))
		.map((m) => `${m.name}${m.type}${JSON.stringify(m.value)}`);
	return plain + (matchers.length ? `{${matchers.join(',')}}` : plain ? '' : '{}');
}

function grouping(n: Node): string {
	return n.without ? ` without (${(n.grouping ?? []).join(', ')})` : n.grouping?.length ? ` by (${n.grouping.join(', ')})` : '';
}

function matching(n: Node): string {
	const m = n.matching;
	if (!m) return n.bool ? ' bool' : '';
	const side =
		m.card === 'many-to-one'
			? ` group_left (${m.include.join(', ')})`
			: m.card === 'one-to-many'
				? ` group_right (${m.include.join(', ')})`
				: '';
	const on = m.on ? ` on (${m.labels.join(', ')})` : m.labels.length ? ` ignoring (${m.labels.join(', ')})` : '';
	return (n.bool ? ' bool' : '') + on + side;
}

export function print(n: Node): string {
	switch (n.type) {
		case 'numberLiteral':
			return n.val!;
		case 'stringLiteral':
			return JSON.stringify(n.val);
		case 'vectorSelector':
			return selector(n) + modifiers(n);
		case 'matrixSelector':
			return `${selector(n)}[${duration(n.range!)}]` + modifiers(n);
		case 'subquery':
			return `${print(n.expr!)}[${duration(n.range!)}:${n.step ? duration(n.step) : ''}]` + modifiers(n);
		case 'parenExpr':
			return `(${print(n.expr!)})`;
		case 'unaryExpr':
			return n.op + print(n.expr!);
		case 'call':
			return `${n.func!.name}(${(n.args ?? []).map(print).join(', ')})`;
		case 'aggregation':
			return `${n.op}${grouping(n)} (${n.param ? print(n.param) + ', ' : ''}${print(n.expr!)})`;
		default:
			return `${print(n.lhs!)} ${n.op}${matching(n)} ${print(n.rhs!)}`;
	}
}

/** One sentence on what a node does. */
export function explain(n: Node): string {
	switch (n.type) {
		case 'numberLiteral':
			return 'a number';
		case 'stringLiteral':
			return 'a text';
		case 'vectorSelector':
			return 'the newest sample of each such series, at most 5 minutes old';
		case 'matrixSelector':
			return `all samples of the last ${duration(n.range!)} of each such series`;
		case 'subquery':
			return `evaluated again and again over the last ${duration(n.range!)}`;
		case 'parenExpr':
			return 'in parentheses';
		case 'unaryExpr':
			return 'with the other sign';
		case 'call':
			return functions[n.func!.name] ?? 'a function';
		case 'aggregation': {
			const what = functions[n.op!] ?? n.op;
			return (
				what +
				(n.without
					? `, one for each combination of labels without ${n.grouping!.join(', ')}`
					: n.grouping?.length
						? `, one for each ${n.grouping.join(', ')}`
						: ', of all series together')
			);
		}
		default: {
			const m = n.matching;
			if (!m) return 'with a number on one side';
			const pairs = m.on
				? `equal ${m.labels.join(', ') || 'everything'}`
				: m.labels.length
					? `equal labels but ${m.labels.join(', ')}`
					: 'all labels equal';
			return `pairs of series with ${pairs}, ${m.card}; what has no partner is left out`;
		}
	}
}

/** What is being typed at the cursor: a word, and of what kind. */
export interface Typing {
	kind: 'name' | 'label' | 'value' | 'none';
	from: number;
	word: string;
	label?: string;
	metric?: string;
}

export function typingAt(text: string, cursor: number): Typing {
	const before = text.slice(0, cursor);
	const brace = before.lastIndexOf('{');
	if (brace >= 0 && !/\}/.test(before.slice(brace).replace(/"(?:[^"\\]|\\.)*"/g, ''))) {
		const metric = /([a-zA-Z_:][\w:]*)$/.exec(before.slice(0, brace))?.[1];
		const value = /([a-zA-Z_]\w*)\s*(?:=|!=|=~|!~)\s*"([^"]*)$/.exec(before.slice(brace));
		if (value) return { kind: 'value', from: cursor - value[2]!.length, word: value[2]!, label: value[1], metric };
		const label = /(?:\{|,)\s*([a-zA-Z_]\w*)?$/.exec(before.slice(brace));
		return label
			? { kind: 'label', from: cursor - (label[1] ?? '').length, word: label[1] ?? '', metric }
			: { kind: 'none', from: cursor, word: '' };
	}
	if (/\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*,)?\s*(\w*)$/.test(before)) {
		const word = /(\w*)$/.exec(before)![1]!;
		return { kind: 'label', from: cursor - word.length, word };
	}
	const word = /([a-zA-Z_:][\w:]*)$/.exec(before)?.[1] ?? '';
	return word ? { kind: 'name', from: cursor - word.length, word } : { kind: 'none', from: cursor, word: '' };
}
