// What the page must show and do. Each test gets {open, given, shots}.
import assert from 'node:assert/strict';

const text = async (locator) => (await locator.innerText()).replace(/\s+/g, ' ').trim();

async function api(base, path) {
	const answer = await fetch(base + path);
	return (await answer.json()).data;
}

export const tests = {
	async overview({ open, given }) {
		const { page, problems, close } = await open(given.fixed, '/?from=now-5m');
		await page.getByText('Goodput against throughput').waitFor();
		await page.locator('.plot canvas').first().waitFor();
		const fleet = await api(given.fixed, '/api/goodput/v1/readings?kind=fleet');
		assert.match(await text(page.locator('.verdict')), /pod-down/);
		assert.equal(fleet.scopes[0].readings.e2e_p99.kind, 'at_least');
		// A bound is printed as one, and what is not exported is unknown, not 0.
		const tiles = page.locator('.tile');
		assert.match(await text(tiles.filter({ hasText: 'E2E P99' })), /^E2E P99 > 60 s /);
		assert.match(await text(tiles.filter({ hasText: 'TPOT P99' })), /unknown/);
		assert.deepEqual(problems, []);
		await close();
	},
};
