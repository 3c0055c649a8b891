// What the page must show and do. Each test gets {open, given, shots}. The figures of `given.fixed` are known: see tests/page/recorded.py.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const views = [
	'/',
	'/latency',
	'/workload',
	'/cache',
	'/topology',
	'/compare',
	'/query?q=sum(vllm%3Anum_requests_running)',
	'/targets',
	'/alerts',
];

const text = async (locator) => (await locator.innerText()).replace(/\s+/g, ' ').trim();
const tile = (page, name) => page.locator('.tile').filter({ hasText: name });
const panel = (page, name) => page.locator('section.panel').filter({ has: page.getByRole('heading', { name, exact: true }) });

async function api(base, path, params = {}) {
	const answer = await fetch(base + path + '?' + new URLSearchParams(params));
	return (await answer.json()).data;
}

/* Nothing is on its way any more: no panel is busy, nothing says that it loads. */
async function settled(page) {
	await page.waitForFunction(
		() => document.querySelector('.tile, .panel, .state') && !document.querySelector('.state.loading, .panel.busy'),
	);
	await page.waitForFunction(() => [...document.querySelectorAll('.plot')].every((p) => p.querySelector('canvas')));
}

/* All rules, or one: colours are all that the themes differ in. */
async function clean(page, what, rule) {
	const found = await page.evaluate(
		`${axe}; axe.run(document, { resultTypes: ['violations']${rule ? `, runOnly: ['${rule}']` : ''} }).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 160) + ' ' + (n.any[0] ? n.any[0].message : '')).slice(0, 3).join(' | ')))`,
	);
	assert.deepEqual(found, [], what);
}

async function shoot(page, shots, name) {
	if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
}

export const tests = {
	async figures({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/?from=now-5m');
		await settled(page);
		const fleet = (await api(given.fixed, '/api/goodput/v1/readings', { kind: 'fleet' })).scopes[0].readings;
		assert.match(await text(page.locator('.verdict')), /pod-down/);
		assert.equal(fleet.e2e_p99.kind, 'at_least');
		assert.equal(fleet.e2e_p99.low, 60);
		assert.match(await text(tile(page, 'E2E P99')), /^E2E P99 > 60 s n = \d+$/);
		assert.equal(fleet.tpot_p99.kind, 'unknown');
		assert.match(await text(tile(page, 'TPOT P99')), /unknown/);
		assert.ok(Math.abs(fleet.ttft_p99.value - 0.74) < 1e-6);
		assert.match(await text(tile(page, 'TTFT P99')), /^TTFT P99 740 ms /);
		assert.match(await text(tile(page, 'Completion')), /99 %/);
		assert.match(await text(tile(page, 'Running')), /^Running ≥ 18 3 of 4 targets/);
		assert.match(await text(tile(page, 'KV, fullest')), /97 % \.\. 100 %/);
		// One objective is unknown, so that goodput is a bound down to 0 and never a value.
		assert.match(await text(tile(page, 'Goodput')), /^Goodput ≥ 0\/s .*TPOT is unknown/);
		// Rows of replicas: the one that does not answer is unknown throughout.
		const row = page.locator('tbody tr').filter({ hasText: 'pod-down' });
		assert.match(await text(row), /unknown unknown unknown unknown unknown/);
		assert.match(await text(page.locator('tbody tr').filter({ hasText: 'pod-c' })), /97 %/);
		assert.doesNotMatch(await page.locator('body').innerText(), /NaN|undefined|Infinity/);
		assert.deepEqual(problems, []);
		await close();
	},

	async basis({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/?from=now-5m');
		await settled(page);
		const shown = async (name) => {
			await tile(page, name).locator('.figure').click();
			const dialog = page.locator('dialog[open]');
			const query = await dialog.locator('pre').first().innerText();
			const all = await text(dialog);
			await page.keyboard.press('Escape');
			const { result } = await api(given.fixed, '/api/v1/query', { query });
			return { all, value: Number(result[0].value[1]) };
		};
		const ttft = await shown('TTFT P99');
		assert.match(ttft.all, /Window .* Events in it n = \d+ .*95 % interval .*Targets 3 of 4.*Read from vllm:time_to_first_token_seconds/);
		assert.ok(Math.abs(ttft.value - 0.74) < 0.01, `PromQL says ${ttft.value}`);
		const e2e = await shown('E2E P99');
		assert.equal(e2e.value, 60); // the bucket's bound
		assert.match(e2e.all, /Beyond the last bucket 12.5 %/);
		assert.deepEqual(problems, []);
		await close();
	},

	/* What the server writes is what the script draws, and stands where that does. */
	async first_paint({ open, given, shots }) {
		const boxes = (page) =>
			page.evaluate(() =>
				['.brand', 'nav', '.verdict', '.verdict p', '.finding', '.finding h2', '.finding .facts'].map((what) => {
					const box = document.querySelector(what).getBoundingClientRect();
					return [what, Math.round(box.left), Math.round(box.top)];
				}),
			);
		for (const width of [1440, 390]) {
			const plain = await open(given.fixed, '/?from=now-5m', { width, height: 844, script: false });
			// More may be found from one report to the next.
			const sentence = async (page) => (await text(page.locator('.verdict p'))).replace(/ \(\d+ more findings?\)/, '');
			const words = await sentence(plain.page),
				said = await text(plain.page.locator('.finding').first());
			assert.match(words, /pod-down/);
			assert.match(said, /pool acme\/chat · 1 of 4: pod-down since .* first Ask the target that is missing/);
			await shoot(plain.page, shots, `first-${width}`);
			const scripted = await open(given.fixed, '/?from=now-5m', { width, height: 844 });
			await settled(scripted.page);
			assert.equal(await sentence(scripted.page), words);
			assert.deepEqual(await boxes(scripted.page), await boxes(plain.page), `${width} wide`);
			assert.deepEqual([...plain.problems, ...scripted.problems], []);
			await plain.close();
			await scripted.close();
		}
		// It stays while nothing else has come, and is never taken back.
		const { page, close } = await open(given.fixed, '/targets');
		await page.addInitScript(() => {
			window.said = new Set();
			const look = () => {
				const p = document.querySelector('.verdict p');
				if (p) window.said.add(p.textContent);
			};
			new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });
		});
		let go;
		const held = new Promise((resolve) => (go = resolve));
		await page.route('**/api/goodput/**', async (route) => {
			await held;
			await route.continue().catch(() => undefined);
		});
		await page.goto(given.fixed + '/?from=now-5m');
		await page.locator('.bar .range').waitFor();
		assert.match(await text(page.locator('.verdict')), /pod-down.* judged/);
		assert.match(await text(page.locator('.finding').first()), /first Ask the target that is missing/);
		assert.equal(await page.locator('.tile').count(), 0);
		go();
		await settled(page);
		assert.deepEqual(await page.evaluate(() => [...window.said].filter((t) => !/pod-down/.test(t))), []);
		await close();
	},

	async findings({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/?from=now-5m');
		const card = page.locator('.finding').filter({ hasText: 'scrape-partial' });
		await card.waitFor();
		const words = await text(card);
		assert.match(words, /WARNING only 3 of 4 targets answered/i);
		assert.match(words, /pool acme\/chat · 1 of 4: pod-down/);
		assert.match(words, /since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
		assert.match(words, /first Ask the target that is missing/);
		const link = await card.locator('dd a').first().getAttribute('href');
		assert.match(link, /from=\d+&to=\d+/); // absolute
		await card.getByRole('button', { name: /all evidence/ }).click();
		assert.match(await text(card), /curl -sS/);
		assert.deepEqual(problems, []);
		await close();
	},

	async every_view_is_clean({ open, given, shots }) {
		for (const dark of [false, true]) {
			const { page, problems, close } = await open(given.fixed, '/', { dark });
			for (const view of views) {
				await page.goto(given.fixed + view + (view.includes('?') ? '&' : '?') + 'from=now-5m');
				await settled(page);
				await clean(page, view + (dark ? ' dark' : ' light'), dark && 'color-contrast');
				assert.doesNotMatch(await page.locator('body').innerText(), /NaN|undefined|Infinity/);
				await shoot(page, shots, `${view.slice(1).split('?')[0] || 'overview'}-1440-${dark ? 'dark' : 'light'}`);
			}
			assert.deepEqual(problems, []);
			await close();
		}
	},

	async narrow({ open, given, shots }) {
		const { page, problems, close } = await open(given.live, '/', { width: 390, height: 844 });
		for (const view of views) {
			await page.goto(given.live + view + (view.includes('?') ? '&' : '?') + 'from=now-5m');
			await settled(page);
			assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, view + ' is wider than the screen');
			await shoot(page, shots, `${view.slice(1).split('?')[0] || 'overview'}-390`);
		}
		assert.deepEqual(problems, []);
		await close();
	},

	async charts({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/latency?from=now-2m');
		await settled(page);
		// Bounds are drawn and printed as bounds.
		assert.match(await text(panel(page, 'End to end').locator('.legend')), /P99 > 60 s/);
		assert.match(await text(panel(page, 'End to end')), /beyond the last bucket: only > 60 s is known/);
		assert.match(await text(panel(page, 'Queue time').locator('.legend')), /P50 150 ms|P50 ≤|P50/);
		assert.match(await text(panel(page, 'Time per output token')), /Not exported/);
		// The stages add up to E2E.
		const sum = await text(panel(page, 'Stages of a request').locator('.sum'));
		const figures = [...sum.matchAll(/([\d.]+) (ms|s)/g)].map(([, v, unit]) => Number(v) * (unit === 'ms' ? 1e-3 : 1));
		assert.equal(figures.length, 5, sum);
		assert.ok(Math.abs(figures[0] + figures[1] + figures[2] + figures[3] - figures[4]) < 0.02 * figures[4], sum);
		// The crosshair is shared, and the arrow keys move it.
		const first = panel(page, 'Time to first token'),
			other = panel(page, 'End to end');
		await first.locator('.plot').focus();
		await page.keyboard.press('ArrowLeft');
		const clock = await text(first.locator('.clock'));
		assert.match(clock, /^\d{4}-/);
		assert.equal(await text(other.locator('.clock')), clock);
		// Zoom by keyboard goes into the address, and back comes out of it.
		await page.keyboard.press('+');
		await page.waitForURL(/from=\d+&to=\d+/);
		await page.goBack();
		await page.waitForURL(/from=now-2m/);
		// So does a drag.
		await settled(page);
		const box = await first.locator('.u-over').boundingBox();
		await page.mouse.move(box.x + box.width * 0.55, box.y + 40);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.995, box.y + 40, { steps: 4 });
		await page.mouse.up();
		await page.waitForURL(/from=\d+&to=\d+/);
		// Numbers and query of a panel.
		await settled(page);
		await first.getByRole('button', { name: 'Query of Time to first token' }).click();
		assert.match(await text(first.locator('pre')), /^sum by \(le\) \(increase\(vllm:time_to_first_token_seconds_bucket\[\w+\]\)\)$/);
		await first.getByRole('button', { name: 'Numbers of Time to first token' }).click();
		assert.match(await text(first.locator('thead')), /time P50 \(s\) P90 \(s\) P95 \(s\) P99 \(s\) objective/);
		assert.deepEqual(problems, []);
		await close();
	},

	async annotations({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/cache?from=now-15m');
		await settled(page);
		const told = (await api(given.fixed, '/api/goodput/v1/annotations'))[0];
		const chart = panel(page, 'Running and waiting');
		await chart.locator('.plot').focus();
		let seen = '';
		for (let i = 0; i < 185 && !seen.includes(told.text); i++) {
			await page.keyboard.press('ArrowLeft');
			seen = await text(chart.locator('.legend'));
		}
		assert.match(seen, /acme 2\.0 rolled out/);
		// One that is told now is drawn now.
		const body = JSON.stringify({ text: 'a node was drained' });
		await fetch(given.fixed + '/api/goodput/v1/annotations', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
		for (let i = 0; i < 300 && !seen.includes('drained'); i++) {
			await page.keyboard.press(i % 2 ? 'ArrowLeft' : 'End');
			await page.waitForTimeout(100);
			seen = await text(chart.locator('.legend'));
		}
		assert.match(seen, /a node was drained/);
		assert.deepEqual(problems, []);
		await close();
	},

	async keyboard({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/');
		await settled(page);
		const key = (k) => page.keyboard.press(k);
		await key('Tab');
		assert.match(await page.evaluate(() => document.activeElement.textContent), /Skip/);
		await key('2');
		await page.waitForURL(/\/latency/);
		await key('8');
		await page.waitForURL(/\/targets/);
		await key('1');
		await page.waitForURL((u) => u.pathname === '/');
		await settled(page);
		await key('?');
		await page.locator('dialog[open]').waitFor();
		await clean(page, 'help');
		await key('Escape');
		await page
			.locator('dialog[open]')
			.waitFor({ state: 'detached' })
			.catch(() => undefined);
		assert.equal(await page.locator('dialog[open]').count(), 0);
		// A time range, typed.
		await key('t');
		assert.equal(await page.evaluate(() => document.activeElement.id), 'range');
		const from = page.locator('.range input').first();
		while (!(await from.evaluate((e) => e === document.activeElement))) await key('Tab');
		await key('Control+a');
		await page.keyboard.type('now-10m');
		await key('Enter');
		await page.waitForURL(/from=now-10m/);
		// A filter, chosen.
		await key('f');
		const box = page.getByRole('checkbox', { name: 'pod-c' });
		while (!(await box.evaluate((e) => e === document.activeElement))) await key('Tab');
		await key(' ');
		await page.waitForURL(/replica=pod-c/);
		await key('Escape');
		assert.match(await text(tile(page, 'Waiting')), /^Waiting 9/);
		// A figure's basis, opened and closed; focus comes back to it.
		const figure = tile(page, 'Waiting').locator('.figure');
		await figure.focus();
		await key('Enter');
		await page.locator('dialog[open]').waitFor();
		await clean(page, 'basis');
		await key('Escape');
		assert.ok(await figure.evaluate((e) => e === document.activeElement));
		// Sorted by a column.
		const head = page.getByRole('button', { name: 'KV', exact: true });
		await head.focus();
		await key('Enter');
		assert.equal(await page.locator('th[aria-sort="descending"]').count(), 1);
		// Theme.
		const before = await page.evaluate(() => document.documentElement.dataset.theme);
		await key('d');
		await page.waitForFunction((b) => document.documentElement.dataset.theme !== b, before);
		// Nothing that can be used is out of reach.
		assert.equal(await page.locator('[onclick]:not(button):not(a)').count(), 0);
		assert.deepEqual(problems, []);
		await close();
	},

	async query({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/query?from=now-2m');
		const area = page.getByRole('textbox', { name: 'PromQL' });
		await area.focus();
		await page.keyboard.type('sum(rate(generation_tok');
		await page.getByRole('option').filter({ hasText: 'vllm:generation_tokens_total' }).waitFor();
		await page.keyboard.press('Tab');
		await page.keyboard.type('{insta');
		await page.getByRole('option').filter({ hasText: 'instance' }).waitFor();
		await page.keyboard.press('Tab');
		await page.keyboard.type('="pod');
		await page.getByRole('option').filter({ hasText: 'pod-a' }).waitFor();
		await page.keyboard.press('Tab');
		await page.keyboard.type('"}[30s]))');
		await page.keyboard.press('Enter');
		await page.waitForURL(/q=sum/);
		await panel(page, 'Graph').locator('canvas').waitFor();
		await page.getByRole('button', { name: 'table', exact: true }).click();
		await panel(page, 'Table').locator('tbody td').first().waitFor();
		const value = Number(await text(panel(page, 'Table').locator('tbody td').first()));
		assert.ok(Math.abs(value - 600) < 60, `600 tokens a second, ${value} shown`);
		await page.getByRole('button', { name: 'explain', exact: true }).click();
		await page.getByText('increase per second over the window').waitFor();
		await page.waitForFunction(
			() =>
				document.querySelectorAll('.tree .dim').length === 3 &&
				[...document.querySelectorAll('.tree .dim')].every((e) => / series /.test(e.textContent)),
		);
		await clean(page, 'explain');
		// A mistake says where.
		await area.fill('sum(rate(x[1m])');
		await area.press('Enter');
		const told = page.getByRole('alert');
		await told.waitFor();
		assert.match(await text(told), /1:\d+: parse error/);
		assert.deepEqual(
			problems.filter((p) => !/status of 400/.test(p)),
			[],
		);
		await close();
	},

	async compare({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/compare?from=now-15s&replica=pod-c&breplica=pod-a&bfrom=now-15s&bto=now');
		await page.locator('tbody tr').filter({ hasText: 'KV cache usage' }).waitFor();
		const row = (name) => text(page.locator('tbody tr').filter({ has: page.getByRole('rowheader', { name, exact: true }) }));
		assert.match(await row('KV cache usage'), /42 % 97 % ▲ worse \+131 %/);
		assert.match(await row('E2E P99'), /> 60 s n = \d+ > 60 s n = \d+ both are bounds/);
		assert.match(await row('TPOT P99'), /unknown unknown unknown/);
		assert.match(await row('TTFT P99'), /same|within noise/);
		assert.deepEqual(problems, []);
		await close();
	},

	/* A change that was told leads to what was before and after it, with windows that nobody chose. */
	async changes({ open, given, shots }) {
		// Far enough from what was told at the start, with some seconds behind it.
		const first = (await api(given.fixed, '/api/goodput/v1/annotations'))[0].time;
		while (Date.now() / 1000 < first + 24) await new Promise((done) => setTimeout(done, 200));
		const told = { text: 'scaled out', tags: ['capacity'], time: Math.floor(Date.now() / 1000) - 11 };
		const body = JSON.stringify(told);
		await fetch(given.fixed + '/api/goodput/v1/annotations', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
		const { page, problems, close } = await open(given.fixed, '/?from=now-5m');
		await settled(page);
		const link = page.locator('.changes li').filter({ hasText: 'scaled out' }).getByRole('link', { name: 'before and after' });
		await link.click();
		await page.waitForURL((u) => u.pathname === '/compare' && u.searchParams.get('event') === String(told.time));
		const card = page.getByRole('region', { name: /^Before and after: scaled out/ }).or(panel(page, 'Before and after: scaled out'));
		await card.first().waitFor();
		// It is too early for the usual three minutes: said, with what is known of the time before.
		assert.match(await text(card.first()), /no window after it|Only \d+s after it/);
		await page.goto(given.fixed + `/compare?event=${told.time}&settle=1s&length=9s`);
		await page.locator('tbody tr').filter({ hasText: 'replicas that answer' }).waitFor();
		const what = await text(page.getByRole('region', { name: 'What is compared' }));
		const [, from, to] = /This: (\S+ \S+) to (\S+ \S+) \(\d+s\)/.exec(what) ?? [];
		assert.ok(from < to, what + (await text(card.first())));
		assert.match(what, /after the change/);
		await page.locator('tbody tr').filter({ hasText: 'KV cache usage' }).waitFor();
		await clean(page, 'changes');
		await shoot(page, shots, 'changes');
		// All of them, with their links.
		await page.getByRole('link', { name: 'all changes, and other windows' }).click();
		await page.locator('.changes li').filter({ hasText: 'acme 2.0 rolled out' }).waitFor();
		assert.deepEqual(problems, []);
		await close();
	},

	async states({ open, given, shots }) {
		// Empty: nothing was judged yet.
		let { page, problems, close } = await open(given.empty, '/?from=now-5m');
		await page.locator('.state.empty').first().waitFor();
		assert.match(await text(page.locator('.verdict')), /unknown/i);
		await clean(page, 'empty');
		await shoot(page, shots, 'state-empty');
		assert.deepEqual(
			problems.filter((p) => !/status of 503/.test(p)),
			[],
		);
		await close();
		// Stale and failed: what was there stays, and says that it is old.
		({ page, problems, close } = await open(given.fixed, '/?from=now-5m'));
		await settled(page);
		await page.route('**/api/**', (route) =>
			route.fulfill({
				status: 500,
				contentType: 'application/json',
				body: '{"status":"error","errorType":"internal","error":"the disk is full"}',
			}),
		);
		await page.getByText('stale: the disk is full').waitFor();
		assert.match(await text(tile(page, 'E2E P99')), /> 60 s/);
		await page.locator('.panel .state.error').first().waitFor();
		await clean(page, 'stale');
		await shoot(page, shots, 'state-stale');
		// Gone: it says for how long.
		await page.unroute('**/api/**');
		await page.route('**/api/**', (route) => route.abort());
		await page.evaluate(() => document.querySelector('.live').click());
		await page.evaluate(() => document.querySelector('.live').click());
		await page.locator('.live.lost').waitFor();
		assert.match(await text(page.locator('.live')), /disconnected for/);
		await close();
		// Nothing in this range.
		({ page, problems, close } = await open(given.fixed, '/latency?from=1500000000&to=1500003600'));
		await page.getByText('No samples in this range').first().waitFor();
		assert.match(await text(page.locator('.verdict')), /of now; the charts are of the range chosen/);
		assert.deepEqual(problems, []);
		await close();
	},

	async live({ open, given }) {
		const { page, problems, close } = await open(given.live, '/?from=now-5m');
		await settled(page);
		assert.match(await text(page.locator('.bar')), /simulated 3 of 3 targets/);
		assert.equal(await page.locator('tbody .simulated').count(), 3);
		assert.match(await text(page.locator('.live')), /live/);
		// A report comes, and what is shown changes with it, without being asked for.
		const judged = await text(tile(page, 'Tokens/s out'));
		await page.waitForFunction(
			(old) =>
				[...document.querySelectorAll('.tile')].some(
					(t) => t.textContent.includes('Tokens/s out') && t.innerText.replace(/\s+/g, ' ').trim() !== old,
				),
			judged,
		);
		// Paused, it stays.
		await page.getByRole('button', { name: 'Pause live updates' }).click();
		await page.getByRole('button', { name: 'Resume live updates' }).waitFor();
		assert.deepEqual(problems, []);
		await close();
	},

	async size_and_policy({ given }) {
		const shell = await fetch(given.fixed + '/');
		assert.match(shell.headers.get('content-security-policy'), /default-src 'none'; script-src 'self'; style-src 'self'/);
		const html = await shell.text();
		assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
		const seen = new Map();
		const load = async (path) => {
			if (seen.has(path)) return;
			const answer = await fetch(given.fixed + path);
			assert.equal(answer.status, 200, path);
			assert.match(answer.headers.get('cache-control'), /immutable/);
			const body = await answer.text();
			seen.set(path, gzipSync(body, { level: 9 }).length);
			const eager = [];
			for (const [, name] of body.matchAll(/["'](?:\.\/)?([\w-]+-[A-Z0-9]{8}\.js)["']/g)) eager.push('/assets/' + name);
			for (const next of eager) await load(next);
		};
		const first = [...html.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
		for (const path of first) await load(path);
		const statics = new Set(first);
		const entry = await (await fetch(given.fixed + first.find((p) => /goodput-\w+\.js$/.test(p)))).text();
		for (const [, name] of entry.matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g)) statics.add('/assets/' + name);
		const itself = gzipSync(html, { level: 9 }).length;
		const total = [...seen.values()].reduce((a, b) => a + b, itself),
			shellSize = [...statics].reduce((a, p) => a + seen.get(p), itself);
		console.log(`shell ${shellSize} bytes, all ${total} bytes, gzip`);
		assert.ok(shellSize <= 40 * 1024 && total <= 120 * 1024, `shell ${shellSize}, all ${total}`);
		// Clients without gzip get it plain; other paths are not there.
		assert.equal((await fetch(given.fixed + '/assets/none.js')).status, 404);
	},
};
