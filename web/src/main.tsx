// The shell: verdict, views, time range, filters, keys; views are loaded when they are first shown.
import { render, type ComponentType } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { livePause, liveStart, useLive, type Report } from './api';
import { boundReload } from './binding';
import { firstReport } from './first';
import { useFleet, useMembers, useSimulated } from './fleet';
import { useScene, useScrapeSeconds, type Scene } from './scene';
import { addressWith, go, keep, kept, refresh, usePlace } from './state';
import { Filters, RangePicker, shift, widen } from './ui/bar';
import { Ago, Dialog, Severity, Simulated } from './ui/basics';
import { BasisDialog } from './ui/basis';
import { durationText } from './time';
import { views } from './views';
import Overview from './pages/overview';

type View = ComponentType<{ s: Scene }>;
const loaders: Record<string, () => Promise<{ default: View }>> = {
	'/latency': () => import('./pages/latency'),
	'/workload': () => import('./pages/workload'),
	'/cache': () => import('./pages/cache'),
	'/topology': () => import('./pages/topology'),
	'/compare': () => import('./pages/compare'),
	'/query': () => import('./pages/query'),
	'/targets': () => import('./pages/targets'),
	'/alerts': () => import('./pages/alerts'),
};

/* ---- state of the connection, theme, keys ---- */

function Connection() {
	const live = useLive();
	const text = { connecting: 'connecting', connected: 'live', lost: 'disconnected', paused: 'paused' }[live.state];
	return (
		<button
			type="button"
			class={'live ' + live.state}
			onClick={() => livePause(live.state !== 'paused')}
			aria-label={live.state === 'paused' ? 'Resume live updates' : 'Pause live updates'}
		>
			<span aria-hidden="true">●</span> {text}
			{live.state === 'lost' ? (
				<>
					{' '}
					for <Ago at={live.since / 1000} />
				</>
			) : null}
		</button>
	);
}

function themeSet(theme: string) {
	keep('theme', theme);
	document.documentElement.dataset.theme = theme;
}

const keys: [key: string, what: string][] = [
	['1 … 9', 'views'],
	['t', 'time range'],
	['f', 'filters'],
	['/', 'find a replica'],
	['p', 'pause or resume live updates'],
	['[ and ]', 'earlier, later'],
	['z', 'zoom out'],
	['d', 'dark, light, as the system'],
	['?', 'these keys'],
	['← → Home End + - Esc', 'in a chart: cursor and zoom'],
];

function focusOn(id: string) {
	const element = document.getElementById(id);
	const details = element?.closest('details');
	if (details) details.open = true;
	element?.focus();
	return !!element;
}

function useKeys(help: () => void) {
	const live = useLive();
	const state = useRef(live.state);
	state.current = live.state;
	useEffect(() => {
		const onKey = (event: KeyboardEvent) => {
			const target = event.target as HTMLElement;
			if (event.key === 'Escape')
				document.querySelectorAll('details.menu[open]').forEach((d) => {
					(d as HTMLDetailsElement).open = false;
					d.querySelector('summary')!.focus();
				});
			if (
				event.ctrlKey ||
				event.metaKey ||
				event.altKey ||
				/INPUT|TEXTAREA|SELECT/.test(target.tagName) ||
				document.querySelector('dialog[open]')
			)
				return;
			const view = views[Number(event.key) - 1];
			if (view) go({ view: view[0] });
			else if (event.key === '?') help();
			else if (event.key === 't') focusOn('range');
			else if (event.key === 'f') focusOn('filter');
			else if (event.key === '/') focusOn('find');
			else if (event.key === 'p') livePause(state.current !== 'paused');
			else if (event.key === '[') shift(-0.5);
			else if (event.key === ']') shift(0.5);
			else if (event.key === 'z') widen();
			else if (event.key === 'd') themeNext();
			else return;
			event.preventDefault();
		};
		addEventListener('keydown', onKey);
		return () => removeEventListener('keydown', onKey);
	}, []);
}

function themeNext() {
	const all = ['auto', 'light', 'dark'];
	themeSet(all[(all.indexOf(kept('theme', 'auto')) + 1) % all.length]!);
	refresh();
}

/* A menu closes when something else is used. */
function useMenus() {
	useEffect(() => {
		const onPress = (event: Event) =>
			document.querySelectorAll<HTMLDetailsElement>('details.menu[open]').forEach((d) => {
				if (!d.contains(event.target as Node)) d.open = false;
			});
		addEventListener('pointerdown', onPress);
		addEventListener('focusin', onPress);
		return () => {
			removeEventListener('pointerdown', onPress);
			removeEventListener('focusin', onPress);
		};
	}, []);
}

function Verdict({ report, error, live }: { report: Report | undefined; error?: { kind: string; message: string }; live: boolean }) {
	if (!report)
		return (
			<div class="verdict unknown" role="status">
				<Severity of="unknown" />
				<p>
					{!error || error.kind === 'unavailable' ? 'Not judged yet: two scrapes and one evaluation are needed.' : error.message}
				</p>
			</div>
		);
	const { verdict, window } = report;
	const text = verdict.text.replace(/^[A-Z]+: /, '');
	return (
		<div class={'verdict ' + verdict.severity} role="status">
			<Severity of={verdict.severity} />
			<p>{text}</p>
			<small class="dim">
				judged <Ago at={report.time} ended /> over {durationText(window.to - window.from)}
				{error ? <strong> · stale: {error.message}</strong> : null}
				{!live ? <strong> · the verdict and the figures are of now; the charts are of the range chosen</strong> : null}
			</small>
		</div>
	);
}

function Page() {
	const place = usePlace(),
		fleet = useFleet(),
		live = useLive(),
		members = useMembers(fleet.data);
	const simulated = useSimulated(Math.floor(live.count / 20)),
		scrapeSeconds = useScrapeSeconds();
	const scene = useScene(fleet, simulated, scrapeSeconds);
	const [help, setHelp] = useState(false);
	const [loaded, setLoaded] = useState<{ view: string; show: View } | undefined>();
	const [failed, fail] = useState('');
	useKeys(() => setHelp(true));
	useMenus();
	const title = views.find(([path]) => path === place.view)?.[1] ?? 'Overview';
	useEffect(() => {
		document.title = `${title} · goodput`;
		const load = loaders[place.view];
		fail('');
		if (!load) return setLoaded({ view: place.view, show: Overview });
		load().then(
			(module) => setLoaded({ view: place.view, show: module.default }),
			() => fail('This view could not be loaded: goodput does not answer, or it was replaced by another version. Load the page again.'),
		);
	}, [place.view]);
	// Engines that come later bring names of their own.
	const size = fleet.data?.scopes.length,
		known = useRef(size);
	useEffect(() => {
		if (known.current !== undefined) boundReload().catch(() => undefined);
		known.current = size;
	}, [size, Math.floor(live.count / 20)]);
	const Show = place.view === '/' || !loaders[place.view] ? Overview : loaded?.view === place.view ? loaded.show : undefined;
	const shown = useMemo(() => (Show ? <Show s={scene} /> : undefined), [Show, scene]);
	return (
		<>
			<a class="skip" href="#main">
				Skip to the content
			</a>
			<header class="top">
				<a class="brand" href="/">
					goodput
				</a>
				<nav aria-label="Views">
					{views.map(([path, name]) => (
						<a href={addressWith({ view: path, more: {} })} aria-current={path === place.view ? 'page' : undefined}>
							{name}
						</a>
					))}
				</nav>
				<Connection />
				<button type="button" class="quiet" onClick={themeNext} aria-label={`Theme: ${kept('theme', 'auto')}; change it`}>
					◐
				</button>
				<button type="button" class="quiet" onClick={() => setHelp(true)} aria-label="Keys and help">
					?
				</button>
			</header>
			<Verdict report={fleet.data ?? firstReport} error={fleet.error} live={scene.range.live} />
			<div class="bar">
				<RangePicker />
				<Filters pools={members.pools} targets={members.targets} simulated={simulated} />
				{simulated.size ? (
					<span class="dim">
						<Simulated /> {simulated.size} of {members.targets.length} targets
					</span>
				) : null}
			</div>
			<main id="main" tabIndex={-1}>
				<h1 class="hidden">{title}</h1>
				{failed ? (
					<p class="state error" role="alert">
						{failed}
					</p>
				) : (
					(shown ?? (
						<p class="state loading" role="status">
							{title} …
						</p>
					))
				)}
			</main>
			<BasisDialog />
			<Dialog title="Keys" open={help} close={() => setHelp(false)}>
				<dl>
					{keys.map(([key, what]) => [
						<dt>
							<kbd>{key}</kbd>
						</dt>,
						<dd>{what}</dd>,
					])}
				</dl>
				<p>
					Every number is a button: it shows its window, how many events it rests on, where it was read, and its query. Dragging over a
					chart zooms all of them; the range is in the address.
				</p>
			</Dialog>
		</>
	);
}

function start() {
	liveStart();
	render(<Page />, document.getElementById('page')!);
}

// What the server wrote is painted first; this takes it over.
if (document.hidden) start();
else requestAnimationFrame(() => setTimeout(start));
