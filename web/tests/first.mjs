// The first viewport says what is wrong: cause, pool, replica, onset, first action as text, an absolute link, and a query that gives the figure beside it.
import assert from 'node:assert/strict';

const text = async (locator) => (await locator.innerText()).replace(/\s+/g, ' ').trim();

export const tests = {
	async [process.env.GOODPUT_FINDING ?? 'finding']({ open, given, shots }) {
		const { page, problems, close } = await open(given.url, '/?from=now-15m');
		const card = page
			.locator('.finding')
			.filter({ has: page.locator('h2 code', { hasText: new RegExp(`^${given.finding}$`) }) })
			.first();
		await card.waitFor();
		await page.locator('.finding .query').first().waitFor();
		if (shots) await page.screenshot({ path: `${shots}/fault-${given.finding}.png` });
		const words = await text(card),
			box = await card.boundingBox();
		assert.ok(box.y >= 0 && box.y + box.height <= 900, `at ${box.y}, ${box.height} high`);
		assert.match(words, /pool \S+/);
		if (given.replica) assert.ok(words.includes(given.replica), words);
		assert.match(words, /since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
		assert.match(words, /first \S+ \S+/);
		assert.match(await card.locator('dd a').first().getAttribute('href'), /from=\d{10}&to=\d{10}/);
		const query = await card.locator('.query').first().innerText();
		const answer = await (await fetch(given.url + '/api/v1/query?' + new URLSearchParams({ query }))).json();
		assert.equal(answer.status, 'success');
		assert.ok(answer.data.result.length, query);
		console.log(`  ${words.slice(0, 400)}\n  ${query} = ${answer.data.result[0].value[1]}`);
		assert.deepEqual(problems, []);
		await close();
	},
};
