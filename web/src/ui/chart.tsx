// A chart as a component: legend with the figures under the cursor, zoom into the URL, arrow keys.
import { useEffect, useRef, useState } from 'preact/hooks';
import { figure, short, type Reading } from '../format';
import { go, kept } from '../state';
import { dateText } from '../time';
import type { Heat, Line, Mark, Plot, PlotOptions } from './plot';

export interface ChartProps {
	label: string; // for those who do not see it
	times: number[];
	lines?: Line[];
	heat?: Heat;
	unit: string;
	log?: boolean;
	top?: number;
	marks?: Mark[];
	from: number;
	to: number;
	height?: number;
}

/** A figure of a line at a time, as the page prints readings: bounds as bounds. */
export function textAt(line: Line, i: number, unit: string): string {
	const v = line.values[i],
		way = line.bounds?.[i] ?? 0;
	if (v === undefined || !isFinite(v)) return '–';
	const reading: Reading =
		way > 0 ? { kind: 'at_least', low: v, share_beyond: 1 } : way < 0 ? { kind: 'at_most', high: v } : { kind: 'value', value: v };
	return figure(reading, unit, short);
}

function lastKnown(line: Line): number {
	for (let i = line.values.length - 1; i >= 0; i--) if (isFinite(line.values[i]!)) return i;
	return line.values.length - 1;
}

function heatText(heat: Heat, i: number): string {
	const total = heat.cells.reduce((sum, row) => sum + (row[i]! || 0), 0);
	return `n = ${short(Math.round(total))}`;
}

export function zoomTo(from: number, to: number) {
	const least = Math.max(10, to - from),
		middle = (from + to) / 2;
	go({ from: String(Math.round(middle - least / 2)), to: String(Math.round(middle + least / 2)) });
}

/* With the other charts' cursors; the types leave that parameter out. */
function moveTo(u: Plot, left: number) {
	(u.setCursor as (at: { left: number; top: number }, tell: boolean, others: boolean) => void)(
		{ left, top: left < 0 ? -10 : 10 },
		true,
		true,
	);
}

export function Chart(p: ChartProps) {
	const box = useRef<HTMLDivElement>(null),
		drawn = useRef<Plot | undefined>(undefined);
	const [at, setAt] = useState<number | null>(null);
	const [off, setOff] = useState<ReadonlySet<string>>(new Set());
	const [failed, fail] = useState('');
	const lines = (p.lines ?? []).map((line) => ({ ...line, hidden: off.has(line.label) }));
	const shape = JSON.stringify([
		lines.map((l) => [l.label, l.color, l.hidden]),
		p.unit,
		p.log,
		p.heat?.bounds,
		p.top,
		kept('theme', 'auto'),
		kept('zone', 'local'),
	]);
	const options: PlotOptions = {
		times: p.times,
		lines,
		unit: p.unit,
		log: p.log,
		top: p.top,
		marks: p.marks ?? [],
		heat: p.heat,
		from: p.from,
		to: p.to,
		height: p.height ?? 200,
		onCursor: setAt,
		onZoom: zoomTo,
	};
	const current = useRef(options);
	Object.assign(current.current, options);

	useEffect(() => {
		let gone = false;
		import('./plot').then(
			(module) => {
				if (gone || !box.current) return;
				drawn.current?.destroy();
				drawn.current = module.plot(current.current, box.current);
			},
			() => fail('the part of the page that draws charts could not be loaded'),
		);
		return () => {
			gone = true;
			drawn.current?.destroy();
			drawn.current = undefined;
		};
	}, [shape]);

	useEffect(() => {
		if (!drawn.current) return;
		import('./plot').then((module) => drawn.current?.setData(module.dataOf(current.current)));
	}, [p.times, p.lines, p.heat, p.marks, p.from, p.to]);

	useEffect(() => {
		const observer = new ResizeObserver(() => {
			const width = box.current!.clientWidth;
			if (drawn.current && width && width !== drawn.current.width) drawn.current.setSize({ width, height: current.current.height });
		});
		observer.observe(box.current!);
		return () => observer.disconnect();
	}, []);

	const onKey = (event: KeyboardEvent) => {
		const u = drawn.current;
		if (!u || event.ctrlKey || event.metaKey || event.altKey) return;
		const i = at ?? p.times.length - 1,
			last = p.times.length - 1;
		const move: Record<string, number> = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: last };
		const span = p.to - p.from,
			middle = p.times[i] ?? p.from;
		if (event.key in move) {
			const to = Math.min(last, Math.max(0, move[event.key]!));
			moveTo(u, u.valToPos(p.times[to]!, 'x'));
		} else if (event.key === '+') zoomTo(middle - span / 4, middle + span / 4);
		else if (event.key === '-') zoomTo(p.from - span / 2, p.to + span / 2);
		else if (event.key === 'Escape') moveTo(u, -10);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};

	const marksNear = at === null ? [] : (p.marks ?? []).filter((m) => Math.abs(m.t - p.times[at]!) <= (p.to - p.from) / 60);
	return (
		<div class="chart">
			<div
				ref={box}
				class="plot"
				tabIndex={0}
				role="application"
				aria-roledescription="chart"
				aria-label={`${p.label}. Arrow keys move the cursor, plus and minus zoom.`}
				onKeyDown={onKey}
				onDblClick={() => history.back()}
			/>
			{failed ? <p class="note">{failed}</p> : null}
			<ul class="legend">
				<li class="dim clock">{at === null ? 'last' : dateText(p.times[at]!)}</li>
				{lines.map((line) => (
					<li>
						<button
							type="button"
							class="quiet"
							aria-pressed={!line.hidden}
							onClick={() => {
								const next = new Set(off);
								next.has(line.label) ? next.delete(line.label) : next.add(line.label);
								setOff(next);
							}}
						>
							<svg class="key" viewBox="0 0 14 8" width="14" height="8" aria-hidden="true">
								<line
									x1="0"
									y1="4"
									x2="14"
									y2="4"
									stroke={`var(${line.color})`}
									stroke-width="3"
									stroke-dasharray={line.dash ? '4 2' : undefined}
								/>
							</svg>
							{line.label}
						</button>{' '}
						<b>{textAt(line, at ?? lastKnown(line), p.unit)}</b>
					</li>
				))}
				{p.heat ? (
					<li>
						<b>{heatText(p.heat, at ?? p.times.length - 1)}</b>
					</li>
				) : null}
				{marksNear.map((m) => (
					<li class="mark">{m.text}</li>
				))}
			</ul>
		</div>
	);
}
