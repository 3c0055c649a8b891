// node build.mjs OUTPUT: the page into the folder OUTPUT: index.html and assets/, whose names hold a hash of their content. Prints its inputs.
import { build } from 'esbuild';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const output = resolve(process.argv[2]);

const common = {
	absWorkingDir: root,
	outdir: join(output, 'assets'),
	entryNames: '[name]-[hash]',
	chunkNames: '[name]-[hash]',
	bundle: true,
	target: 'es2020',
	minify: true,
	legalComments: 'none',
	metafile: true,
	logLevel: 'warning',
};
const results = await Promise.all([
	build({
		...common,
		entryPoints: { goodput: 'src/main.tsx', style: 'src/style.css' },
		splitting: true,
		format: 'esm',
		jsx: 'automatic',
		jsxImportSource: 'preact',
	}),
	build({ ...common, entryPoints: { theme: 'src/theme.ts' }, format: 'iife' }),
]);
const outputs = Object.assign({}, ...results.map((r) => r.metafile.outputs));

// Where each entry went, from esbuild's own account.
const made = {};
for (const [path, about] of Object.entries(outputs)) if (about.entryPoint) made[about.entryPoint] = '/' + relative(output, resolve(root, path));

// The parts that the entry cannot do without are asked for at once.
const entry = Object.values(outputs).find((about) => about.entryPoint === 'src/main.tsx');
const preloads = entry.imports
	.filter((i) => i.kind === 'import-statement')
	.map((i) => `<link rel="modulepreload" href="/${relative(output, resolve(root, i.path))}">\n`);

// So is what every view begins with, the way the scripts ask for it.
const routes = { readings: '/api/goodput/v1/readings', targets: '/api/v1/targets', signals: '/api/goodput/v1/signals' };
for (const [what, params] of Object.entries(JSON.parse(readFileSync(join(root, 'src/asked.json'), 'utf8')))) {
	const form = new URLSearchParams();
	for (const [name, values] of Object.entries(params)) [values].flat().forEach((value) => form.append(name, value));
	const address = `${routes[what]}?${form.toString().replaceAll('&', '&amp;')}`;
	preloads.push(`<link rel="preload" as="fetch" crossorigin="anonymous" href="${address}">\n`);
}

const shell = readFileSync(join(root, 'index.html'), 'utf8')
	.replace('src/style.css', made['src/style.css'])
	.replace('src/theme.ts', made['src/theme.ts'])
	.replace('src/main.tsx', made['src/main.tsx'])
	.replace('</head>', preloads.join('') + '</head>');
mkdirSync(output, { recursive: true });
writeFileSync(join(output, 'index.html'), shell);
copyFileSync(join(root, 'icon.svg'), join(output, 'assets', 'icon.svg'));

const inputs = results.flatMap((r) => Object.keys(r.metafile.inputs)).map((path) => resolve(root, path));
console.log([join(root, 'index.html'), join(root, 'icon.svg'), ...inputs].join('\n'));
