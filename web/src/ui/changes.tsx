// Changes of capacity that were told: a link to what was before and after each.
import { addressWith } from '../state';
import { dateText } from '../time';
import type { Mark } from './plot';

const most = 3;

export const changeAddress = (t: number) => addressWith({ view: '/compare', more: { event: String(t) } });

/** The newest of the range. */
export function ChangeLinks({ marks }: { marks: Mark[] }) {
	const told = marks.filter((m) => m.kind === 'deploy').slice(-most);
	if (!told.length) return null;
	return (
		<ul class="changes">
			{told.reverse().map((m) => (
				<li>
					<span class="dim">{dateText(m.t)}</span> {m.text}: <a href={changeAddress(m.t)}>before and after</a>
				</li>
			))}
		</ul>
	);
}
