// uPlot, loaded when the first chart is drawn, and what this page draws over it: bounds, annotations, heat maps.
import uPlot from 'uplot';
import { clockText, dateText } from '../time';
import { short } from '../format';

export interface Line {
	label: string;
	values: number[];
	color: string; // a CSS variable's name
	dash?: boolean;
	width?: number;
	/** 1: the true value lies above, -1: below, 0: it is the value. */
	bounds?: number[];
	fillTo?: number; // index of the line down to which the ribbon goes
	hidden?: boolean;
}

export interface Mark {
	t: number;
	text: string;
	kind: 'restart' | 'deploy' | 'finding' | 'other';
}

export interface Heat {
	bounds: number[]; // upper bounds of the rows
	cells: number[][];
}

export interface PlotOptions {
	times: number[];
	lines: Line[];
	unit: string;
	log?: boolean;
	top?: number; // of the scale, where it is known
	marks: Mark[];
	heat?: Heat;
	from: number;
	to: number;
	height: number;
	onCursor(index: number | null): void;
	onZoom(from: number, to: number): void;
}

export function colorOf(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}

function alpha(color: string, share: number): string {
	const hex = /^#(..)(..)(..)$/.exec(color);
	return hex
		? `rgba(${hex
				.slice(1)
				.map((h) => parseInt(h, 16))
				.join(',')},${share})`
		: color;
}

/* Triangles at bounds, and hatching towards where the true values lie. */
function drawBounds(u: uPlot, lines: Line[]) {
	const { ctx } = u,
		ratio = devicePixelRatio || 1,
		box = u.bbox;
	ctx.save();
	ctx.beginPath();
	ctx.rect(box.left, box.top, box.width, box.height);
	ctx.clip();
	lines.forEach((line, n) => {
		if (!line.bounds || !u.series[n + 1]!.show) return;
		const color = colorOf(line.color),
			gap = 14 * ratio;
		let last = -Infinity;
		ctx.strokeStyle = ctx.fillStyle = color;
		line.bounds.forEach((way, i) => {
			if (!way || !isFinite(line.values[i]!)) return;
			const x = u.valToPos(u.data[0][i]!, 'x', true),
				y = u.valToPos(line.values[i]!, 'y', true),
				size = 4 * ratio;
			if (x - last < gap && !(i && line.bounds![i - 1] !== way)) return;
			last = x;
			ctx.beginPath();
			ctx.moveTo(x - size, y);
			ctx.lineTo(x + size, y);
			ctx.lineTo(x, y - way * size * 1.6);
			ctx.fill();
			ctx.globalAlpha = 0.35;
			ctx.setLineDash([2 * ratio, 3 * ratio]);
			ctx.beginPath();
			ctx.moveTo(x, y - way * size);
			ctx.lineTo(x, way > 0 ? box.top : box.top + box.height);
			ctx.stroke();
			ctx.setLineDash([]);
			ctx.globalAlpha = 1;
		});
	});
	ctx.restore();
}

function drawMarks(u: uPlot, marks: Mark[]) {
	const { ctx } = u,
		ratio = devicePixelRatio || 1,
		box = u.bbox;
	const colors = { restart: '--bad', deploy: '--accent', finding: '--warn', other: '--dim' };
	const letters = { restart: 'R', deploy: 'D', finding: 'F', other: 'A' };
	ctx.save();
	ctx.font = `bold ${10 * ratio}px sans-serif`;
	ctx.textAlign = 'center';
	for (const mark of marks) {
		const x = u.valToPos(mark.t, 'x', true);
		if (x < box.left || x > box.left + box.width) continue;
		ctx.strokeStyle = ctx.fillStyle = colorOf(colors[mark.kind]);
		ctx.globalAlpha = 0.8;
		ctx.setLineDash([4 * ratio, 3 * ratio]);
		ctx.lineWidth = ratio;
		ctx.beginPath();
		ctx.moveTo(x, box.top);
		ctx.lineTo(x, box.top + box.height);
		ctx.stroke();
		ctx.setLineDash([]);
		ctx.fillText(letters[mark.kind], x, box.top - 2 * ratio);
	}
	ctx.restore();
}

function drawHeat(u: uPlot, heat: Heat) {
	const { ctx } = u,
		times = u.data[0],
		color = colorOf('--heat');
	const most = Math.max(...heat.cells.flatMap((row) => row.filter((v) => isFinite(v))), 0);
	const step = times.length > 1 ? times[1]! - times[0]! : 1;
	ctx.save();
	ctx.fillStyle = color;
	heat.cells.forEach((row, r) =>
		row.forEach((count, i) => {
			if (!(count > 0)) return;
			const left = u.valToPos(times[i]! - step, 'x', true),
				right = u.valToPos(times[i]!, 'x', true);
			const low = u.valToPos(r, 'y', true),
				high = u.valToPos(r + 1, 'y', true);
			ctx.globalAlpha = 0.08 + 0.92 * Math.sqrt(count / most);
			ctx.fillRect(left, high, Math.max(1, right - left), low - high);
		}),
	);
	ctx.restore();
}

function axes(o: PlotOptions): uPlot.Axis[] {
	const stroke = colorOf('--dim'),
		grid = { stroke: colorOf('--grid'), width: 1 };
	const span = o.to - o.from;
	const x: uPlot.Axis = {
		stroke,
		grid,
		ticks: grid,
		font: '11px sans-serif',
		values: (_, ticks) =>
			ticks.map((t) => (span > 172800 ? dateText(t).slice(5, 16) : span > 1200 ? clockText(t).slice(0, 5) : clockText(t))),
		space: 70,
		size: 28,
	};
	const y: uPlot.Axis = {
		stroke,
		grid,
		ticks: grid,
		font: '11px sans-serif',
		size: 62,
		values: (_, ticks) => ticks.map((v) => (v === null ? '' : short(v, o.unit))),
	};
	if (o.heat) {
		const bounds = o.heat.bounds,
			every = Math.ceil(bounds.length / 9);
		y.splits = () => bounds.map((_, i) => i + 1).filter((i) => i % every === 0);
		y.values = (_, ticks) =>
			ticks.map((v) => {
				const b = bounds[v - 1];
				return b === undefined ? '' : isFinite(b) ? short(b, o.unit) : 'more';
			});
	}
	return [x, y];
}

function scaleY(o: PlotOptions): uPlot.Scale {
	if (o.heat) return { range: [0, o.heat.bounds.length] };
	if (o.log)
		return {
			distr: 3,
			range: (_, low, high) =>
				low > 0 && isFinite(low) && isFinite(high)
					? [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high * 1.05))]
					: [0.001, 1],
		};
	return { range: (_, __, high) => [0, o.top ?? (high > 0 ? high * 1.08 : 1)] };
}

export function plot(o: PlotOptions, element: HTMLElement): uPlot {
	const series: uPlot.Series[] = [{}];
	const bands: uPlot.Band[] = [];
	o.lines.forEach((line, i) => {
		const color = colorOf(line.color);
		series.push({
			label: line.label,
			stroke: color,
			width: line.width ?? 1.5,
			dash: line.dash ? [5, 4] : undefined,
			show: !line.hidden,
			spanGaps: false,
			points: { show: o.times.length < 3 },
		});
		if (line.fillTo !== undefined) bands.push({ series: [i + 1, line.fillTo + 1], fill: alpha(color, 0.14) });
	});
	if (o.heat) series.push({ show: true, stroke: 'transparent', points: { show: false } });
	return new uPlot(
		{
			width: element.clientWidth || 600,
			height: o.height,
			series,
			bands,
			legend: { show: false },
			padding: [12, 26, 0, 0],
			scales: { x: { time: true, range: () => [o.from, o.to] }, y: scaleY(o) },
			axes: axes(o),
			cursor: {
				sync: { key: 'goodput', setSeries: false, scales: ['x', null] as unknown as [string, string] },
				drag: { x: true, y: false, setScale: false },
				points: { size: 6 },
				y: false,
			},
			hooks: {
				draw: [
					(u) => {
						if (o.heat) drawHeat(u, o.heat);
						drawBounds(u, o.lines);
						drawMarks(u, o.marks);
					},
				],
				setCursor: [(u) => o.onCursor(u.cursor.idx ?? null)],
				setSelect: [
					(u) => {
						if (u.select.width < 4) return;
						const from = u.posToVal(u.select.left, 'x'),
							to = u.posToVal(u.select.left + u.select.width, 'x');
						u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
						o.onZoom(from, to);
					},
				],
			},
		},
		dataOf(o),
		element,
	);
}

export function dataOf(o: PlotOptions): uPlot.AlignedData {
	const clean = (values: number[]) => values.map((v) => (isFinite(v) && (!o.log || v > 0) ? v : null));
	const data = [o.times, ...o.lines.map((line) => clean(line.values))];
	if (o.heat) data.push(o.times.map(() => 0));
	return data as uPlot.AlignedData;
}

export type Plot = uPlot;
