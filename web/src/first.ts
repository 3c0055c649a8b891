// What the server wrote into the page (src/web/first.c): on the screen before this ran, and left there until there is something newer.
import type { Report } from './api';

const box = document.querySelector<HTMLElement>('#page .verdict'),
	section = document.querySelector('#main .findings, #main .state');

function reportOf(from: HTMLElement): Report | undefined {
	const { severity, time, from: start, to } = from.dataset;
	if (!severity) return undefined;
	const text = from.querySelector('p')!.textContent!;
	return { time: Number(time), window: { from: Number(start), to: Number(to) }, verdict: { severity, text, exit_status: 0 } };
}

/** The verdict of the moment at which the page was asked for; undefined: nothing was judged yet. */
export const firstReport = box ? reportOf(box) : undefined;

let findings = section?.outerHTML;
/** Once: whoever comes back to the findings later finds them loaded, or old. */
export function firstFindings(): string | undefined {
	const taken = findings;
	findings = undefined;
	return taken;
}
