// A query being typed: names, labels, values and functions complete themselves.
import { useRef, useState } from 'preact/hooks';
import { ask } from '../api';
import { functions, keywords, typingAt } from '../promql';

const lists = new Map<string, Promise<string[]>>();

function list(path: string, metric?: string): Promise<string[]> {
	const key = path + ' ' + (metric ?? '');
	if (!lists.has(key)) {
		const asked = ask<string[]>(path, metric ? { 'match[]': metric } : {}).then((a) => a.data);
		asked.catch(() => lists.delete(key));
		lists.set(key, asked);
	}
	return lists.get(key)!;
}

/* Names that begin so first, then those that hold it, then those that hold its letters in order. */
function match(all: string[], word: string): string[] {
	const w = word.toLowerCase(),
		loose = new RegExp([...w].map((c) => c.replace(/[^\w]/g, '\\$&')).join('.*'));
	const weight = (name: string) => {
		const n = name.toLowerCase();
		return n.startsWith(w) ? 0 : n.includes(w) ? 1 : loose.test(n) ? 2 : 3;
	};
	return all
		.map((n) => [weight(n), n] as const)
		.filter(([k]) => k < 3)
		.sort((a, b) => a[0] - b[0] || a[1].length - b[1].length || a[1].localeCompare(b[1]))
		.slice(0, 12)
		.map(([, n]) => n);
}

interface Choice {
	from: number;
	items: string[];
	at: number;
}

async function choicesAt(text: string, cursor: number): Promise<Choice | undefined> {
	const typing = typingAt(text, cursor);
	if (typing.kind === 'none') return undefined;
	const all =
		typing.kind === 'value'
			? await list(`/api/v1/label/${typing.label}/values`, typing.metric)
			: typing.kind === 'label'
				? await list('/api/v1/labels', typing.metric)
				: [...Object.keys(functions), ...keywords, ...(await list('/api/v1/label/__name__/values'))];
	const items = match(
		all.filter((n) => n !== '__name__'),
		typing.word,
	).filter((n) => n !== typing.word);
	return items.length ? { from: typing.from, items, at: 0 } : undefined;
}

export function Editor({ text, change, run, error }: { text: string; change: (text: string) => void; run: () => void; error?: string }) {
	const [choice, set] = useState<Choice | undefined>();
	const ref = useRef<HTMLTextAreaElement>(null),
		asked = useRef(0);
	const look = (value: string, cursor: number) => {
		const mine = ++asked.current;
		choicesAt(value, cursor).then(
			(c) => mine === asked.current && set(c),
			() => set(undefined),
		);
	};
	const take = (item: string) => {
		const area = ref.current!,
			after = text.slice(area.selectionStart);
		const tail = functions[item] && !after.startsWith('(') ? '(' : '';
		const next = text.slice(0, choice!.from) + item + tail + after,
			cursor = choice!.from + item.length + tail.length;
		asked.current++;
		set(undefined);
		// At once, so that what is typed next goes where it belongs.
		area.value = next;
		area.focus();
		area.setSelectionRange(cursor, cursor);
		change(next);
	};
	const onKey = (event: KeyboardEvent) => {
		if (choice && ['ArrowDown', 'ArrowUp'].includes(event.key)) {
			const n = choice.items.length;
			set({ ...choice, at: (choice.at + (event.key === 'ArrowDown' ? 1 : n - 1)) % n });
		} else if (choice && event.key === 'Tab' && !event.shiftKey) take(choice.items[choice.at]!);
		else if (choice && event.key === 'Enter' && !event.ctrlKey && !event.metaKey) take(choice.items[choice.at]!);
		else if (choice && event.key === 'Escape') {
			asked.current++;
			set(undefined);
			event.stopPropagation();
		} else if (event.key === 'Enter' && !event.shiftKey) {
			asked.current++;
			set(undefined);
			run();
		} else return;
		event.preventDefault();
	};
	const where = /(\d+):(\d+)/.exec(error ?? '');
	return (
		<div class="editor">
			<textarea
				ref={ref}
				class="query"
				value={text}
				rows={Math.min(8, text.split('\n').length + 1)}
				spellcheck={false}
				id="q"
				aria-label="PromQL"
				aria-haspopup="listbox"
				aria-autocomplete="list"
				aria-controls="choices"
				aria-activedescendant={choice ? 'choice-' + choice.at : undefined}
				placeholder="sum(rate(vllm:generation_tokens_total[1m]))"
				onInput={(e) => {
					change(e.currentTarget.value);
					look(e.currentTarget.value, e.currentTarget.selectionStart);
				}}
				onKeyDown={onKey}
				onBlur={() => setTimeout(() => set(undefined), 150)}
			/>
			<ul id="choices" role="listbox" aria-label="Completions" hidden={!choice}>
				{choice?.items.map((item, i) => (
					<li
						role="option"
						id={'choice-' + i}
						aria-selected={i === choice.at}
						onMouseDown={(e) => {
							e.preventDefault();
							take(item);
						}}
					>
						<code>{item}</code> <span class="dim">{functions[item] ?? ''}</span>
					</li>
				))}
			</ul>
			{error ? (
				<p class="note" role="alert">
					{error}
					{where ? (
						<span class="hidden">
							{' '}
							line {where[1]}, column {where[2]}
						</span>
					) : null}
				</p>
			) : null}
			{error && where ? (
				<pre class="caret" aria-hidden="true">
					{text.split('\n')[Number(where[1]) - 1]}
					{'\n' + ' '.repeat(Math.max(0, Number(where[2]) - 1)) + '^'}
				</pre>
			) : null}
		</div>
	);
}
