// Small parts that every view uses.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api';
import { durationText } from '../time';

export function Copy({ text, what }: { text: string; what: string }) {
	const [told, tell] = useState('');
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(text);
			tell('copied');
		} catch {
			tell('select the text and copy it: the clipboard is not allowed here');
		}
		setTimeout(() => tell(''), 2500);
	};
	return (
		<span class="copy">
			<button type="button" class="quiet" onClick={copy} aria-label={'Copy ' + what} title={'Copy ' + what}>
				copy
			</button>
			<span role="status" class="told">
				{told}
			</span>
		</span>
	);
}

export function Code({ text, what }: { text: string; what: string }) {
	return (
		<div class="code">
			<pre tabIndex={0} aria-label={what}>
				<code>{text}</code>
			</pre>
			<Copy text={text} what={what} />
		</div>
	);
}

const severities: Record<string, string> = { critical: '✖', warning: '▲', info: 'ℹ', fine: '✔', unknown: '?' };

export function Severity({ of }: { of: string }) {
	return (
		<span class={'severity ' + of}>
			<span aria-hidden="true">{severities[of] ?? '?'}</span> {of}
		</span>
	);
}

export function Simulated() {
	return (
		<span class="badge simulated" title="goodput_simulated_info is 1: this server is a stand-in, not an engine">
			simulated
		</span>
	);
}

export function Failure({ error, what }: { error: ApiError; what: string }) {
	return (
		<div class="state error" role="alert">
			<strong>{what} could not be loaded.</strong> <span>{error.message}</span>
			{error.kind === 'unavailable' ? <span> It is tried again as soon as there is something.</span> : null}
		</div>
	);
}

export function Loading({ what }: { what: string }) {
	return (
		<div class="state loading" role="status">
			{what} …
		</div>
	);
}

export function Empty({ children }: { children: ComponentChildren }) {
	return <div class="state empty">{children}</div>;
}

/** "3 min ago", counted on by itself. */
export function Ago({ at, ended }: { at: number; ended?: boolean }) {
	const [now, set] = useState(Date.now() / 1000);
	useEffect(() => {
		const timer = setInterval(() => set(Date.now() / 1000), 5000);
		return () => clearInterval(timer);
	}, []);
	const seconds = Math.max(0, now - at);
	return (
		<span>
			{seconds < 5 ? 'now' : durationText(seconds < 120 ? Math.floor(seconds) : Math.floor(seconds / 60) * 60) + (ended ? ' ago' : '')}
		</span>
	);
}

/** A line of a few values, without axes. */
export function Spark({ values, label, color }: { values: number[]; label: string; color?: string }) {
	const known = values.filter((v) => isFinite(v));
	if (known.length < 2)
		return (
			<span class="dim" title={label}>
				–
			</span>
		);
	const most = Math.max(...known),
		least = Math.min(0, ...known),
		width = 90,
		height = 20;
	const x = (i: number) => ((i / (values.length - 1)) * width).toFixed(1);
	const y = (v: number) => (height - 1 - ((v - least) / (most - least || 1)) * (height - 2)).toFixed(1);
	let path = '',
		pen = false;
	values.forEach((v, i) => {
		if (isFinite(v)) path += (pen ? 'L' : 'M') + x(i) + ' ' + y(v);
		pen = isFinite(v);
	});
	return (
		<svg class="spark" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
			<path d={path} fill="none" stroke={color ?? 'currentColor'} stroke-width="1.4" />
		</svg>
	);
}

export function Dialog({ title, open, close, children }: { title: string; open: boolean; close: () => void; children: ComponentChildren }) {
	const ref = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const dialog = ref.current!;
		if (open && !dialog.open) dialog.showModal();
		if (!open && dialog.open) dialog.close();
	}, [open]);
	return (
		<dialog ref={ref} onClose={close} aria-label={title} onClick={(e) => e.target === ref.current && close()}>
			<div class="dialog">
				<header>
					<h2>{title}</h2>
					<button type="button" class="quiet" onClick={close} aria-label="Close">
						✕
					</button>
				</header>
				{open ? children : null}
			</div>
		</dialog>
	);
}
