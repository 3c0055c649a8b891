// A panel: a title that explains itself, its state, and on request its query and its numbers.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { ApiError } from '../api';
import { addressWith } from '../state';
import { Code, Failure } from './basics';
import { dateText } from '../time';

export interface Table {
	heads: string[];
	rows: string[][]; // as text, the first column is the time
}

export interface PanelProps {
	title: string;
	help?: string;
	basis?: string; // "window 1m · step 20s"
	queries?: { title: string; text: string; partial?: string }[];
	error?: ApiError;
	loading?: boolean;
	stale?: boolean;
	notes?: string[]; // partial, truncated ...
	empty?: string; // why there is nothing to draw
	table?: () => Table;
	wide?: boolean;
	children?: ComponentChildren;
}

function csvOf(table: Table): string {
	const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
	return [table.heads, ...table.rows].map((row) => row.map(cell).join(',')).join('\n') + '\n';
}

function save(name: string, text: string) {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
	link.download = name + '.csv';
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function Numbers({ table, caption }: { table: Table; caption: string }) {
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label={caption + ', numbers'}>
			<table>
				<thead>
					<tr>
						{table.heads.map((h) => (
							<th scope="col">{h}</th>
						))}
					</tr>
				</thead>
				<tbody>
					{table.rows.map((row) => (
						<tr>{row.map((text, i) => (i ? <td class="n">{text}</td> : <th scope="row">{text}</th>))}</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

export function Panel(p: PanelProps) {
	const [open, set] = useState<'' | 'query' | 'table'>('');
	const id = useId();
	const toggle = (what: 'query' | 'table') => set(open === what ? '' : what);
	const state = p.error && !p.children ? 'failed' : p.loading ? 'busy' : p.stale ? 'old' : '';
	return (
		<section class={'panel ' + state + (p.wide ? ' wide' : '')} aria-labelledby={id} aria-busy={p.loading}>
			<header>
				<h2 id={id} title={p.help}>
					{p.title}
				</h2>
				<span class="dim">{p.basis}</span>
				<span class="tools">
					{p.queries?.length ? (
						<button
							type="button"
							class="quiet"
							aria-expanded={open === 'query'}
							aria-label={'Query of ' + p.title}
							onClick={() => toggle('query')}
						>
							query
						</button>
					) : null}
					{p.table && !p.empty ? (
						<button
							type="button"
							class="quiet"
							aria-expanded={open === 'table'}
							aria-label={'Numbers of ' + p.title}
							onClick={() => toggle('table')}
						>
							numbers
						</button>
					) : null}
				</span>
			</header>
			{p.help ? <p class="help">{p.help}</p> : null}
			{p.notes?.map((text) => (
				<p class="note">{text}</p>
			))}
			{open === 'query'
				? p.queries!.map((q) => (
						<div class="asked">
							<h3>{q.title}</h3>
							<Code text={q.text} what={'query of ' + q.title} />
							{q.partial ? <p class="dim">{q.partial}</p> : null}
							<a href={addressWith({ view: '/query', more: { q: q.text } })}>open in Query</a>
						</div>
					))
				: null}
			{p.error ? <Failure error={p.error} what={p.title} /> : null}
			{p.empty && !p.error ? <div class="state empty">{p.empty}</div> : null}
			{open === 'table' && p.table ? (
				<>
					<Numbers table={p.table()} caption={p.title} />
					<button
						type="button"
						onClick={() => save(p.title.replace(/\W+/g, '-') + '-' + dateText(Date.now() / 1000).replace(/\D+/g, ''), csvOf(p.table!()))}
					>
						Save as CSV
					</button>
				</>
			) : null}
			{!p.empty ? p.children : null}
		</section>
	);
}
