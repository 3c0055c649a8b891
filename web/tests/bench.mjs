// node bench.mjs CHROMIUM URL: loads views on request and tells when the verdict and when all panels were there, in ms from the request for the page.
import { chromium } from 'playwright-core';
import { createInterface } from 'node:readline';

const [executablePath, url] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
let page;

// From before the page's own scripts. The verdict: the time of the frame that shows it; where its words came into an element that was painted before, which has
// no time of its own, that of the frame after the one that found it. The panels: looked for at every frame.
function watch() {
	const seen = (window.seen = {});
	const marking = new MutationObserver(() => {
		if (seen.verdict) marking.disconnect();
		else document.querySelector('.verdict:not(.unknown) p')?.setAttribute('elementtiming', 'verdict');
	});
	marking.observe(document, { childList: true, subtree: true });
	new PerformanceObserver((list) => {
		for (const entry of list.getEntries()) if (entry.identifier === 'verdict') seen.verdict ??= entry.renderTime;
	}).observe({ type: 'element', buffered: true });
	let known = false;
	const look = () => {
		if (known) seen.after ??= performance.now();
		known ||= !!document.querySelector('.verdict:not(.unknown) p');
		const busy = document.querySelector('.state.loading, .panel.busy'),
			plots = [...document.querySelectorAll('.plot')];
		if (!busy && document.querySelector('.panel') && plots.length && plots.every((p) => p.querySelector('canvas')))
			seen.panels ??= performance.now();
		else delete seen.panels;
		// What stays for a moment has come to rest; then nobody looks any more, so that a live page is measured alone.
		if (seen.after && seen.panels && performance.now() - seen.panels > 400) {
			seen.verdict ??= seen.after;
			seen.done = true;
		} else requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
}

for await (const line of createInterface({ input: process.stdin })) {
	const [command, path] = JSON.parse(line);
	if (page) await page.context().close();
	page = undefined;
	if (command === 'load') {
		const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
		page = await context.newPage();
		await page.addInitScript(watch);
		await page.goto(url + path);
		await page.waitForFunction(() => window.seen.done, undefined, { timeout: 120000, polling: 200 });
		console.log(JSON.stringify(await page.evaluate(() => window.seen)));
	} else {
		console.log('{}');
	}
}
await browser.close();
