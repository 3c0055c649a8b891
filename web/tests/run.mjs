// node run.mjs JSON: every test of page.mjs against the servers that tests/page/test_page.py started. One browser; one line a test.
import { chromium } from 'playwright-core';
import { mkdirSync } from 'node:fs';

const given = JSON.parse(process.argv[2]);
const { tests } = await import(given.module ?? './page.mjs');
const shotsAt = given.args.indexOf('--shots');
const shots = shotsAt >= 0 ? given.args[shotsAt + 1] : process.env.GOODPUT_SHOTS;
const wanted = given.args.filter((a, i) => !a.startsWith('-') && !(shotsAt >= 0 && i === shotsAt + 1));
if (shots) mkdirSync(shots, { recursive: true });

const browser = await chromium.launch({
	executablePath: given.chromium,
	args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});

/** A page that keeps account: what it told its console, and where it went. */
async function open(base, path, { width = 1440, height = 900, dark = false, script = true } = {}) {
	const context = await browser.newContext({
		viewport: { width, height },
		colorScheme: dark ? 'dark' : 'light',
		reducedMotion: 'reduce',
		javaScriptEnabled: script,
	});
	const page = await context.newPage();
	page.setDefaultTimeout(60000);
	const problems = [];
	page.on('console', (m) => m.type() === 'error' && problems.push('console: ' + m.text()));
	page.on('pageerror', (e) => problems.push('error: ' + e.message));
	page.on('request', (r) => !r.url().startsWith(base) && !/^(data|blob):/.test(r.url()) && problems.push('off the host: ' + r.url()));
	await page.goto(base + path);
	return { page, problems, close: () => context.close() };
}

let passed = 0,
	failed = 0;
for (const [name, test] of Object.entries(tests)) {
	if (wanted.length && !wanted.includes(name)) continue;
	const begin = Date.now();
	try {
		await test({ open, given, shots });
		passed++;
		console.log(`${name.padEnd(40)} ${((Date.now() - begin) / 1000).toFixed(1)} s  ok`);
	} catch (problem) {
		failed++;
		console.log(`${name.padEnd(40)} ${((Date.now() - begin) / 1000).toFixed(1)} s  FAILED: ${String(problem.stack).slice(0, 3000)}`);
	}
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
