// node build.mjs OUTPUT: the page into the folder OUTPUT: index.html and assets/, whose names hold a hash of their content. Prints its inputs.
import { build } from 'esbuild';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const output = resolve(process.argv[2]);

const { metafile } = await build({
	absWorkingDir: root,
	entryPoints: { goodput: 'src/main.tsx', style: 'src/style.css' },
	outdir: join(output, 'assets'),
	entryNames: '[name]-[hash]',
	chunkNames: '[name]-[hash]',
	bundle: true,
	splitting: true,
	format: 'esm',
	target: 'es2020',
	minify: true,
	jsx: 'automatic',
	jsxImportSource: 'preact',
	legalComments: 'none',
	metafile: true,
	logLevel: 'warning',
});

// Where each entry went, from esbuild's own account.
const made = {};
for (const [path, about] of Object.entries(metafile.outputs))
	if (about.entryPoint) made[about.entryPoint] = '/' + relative(output, resolve(root, path));

// The parts that the entry cannot do without are asked for at once.
const entry = Object.values(metafile.outputs).find((about) => about.entryPoint === 'src/main.tsx');
const preloads = entry.imports
	.filter((i) => i.kind === 'import-statement')
	.map((i) => `<link rel="modulepreload" href="/${relative(output, resolve(root, i.path))}">\n`);

// So are the first readings, the way api.ts asks for them.
const form = new URLSearchParams();
for (const [name, values] of Object.entries(JSON.parse(readFileSync(join(root, 'src/readings.json'), 'utf8'))))
	values.forEach((value) => form.append(name, value));
preloads.push(
	`<link rel="preload" as="fetch" crossorigin="anonymous" href="/api/goodput/v1/readings?${form.toString().replaceAll('&', '&amp;')}">\n`,
);

const shell = readFileSync(join(root, 'index.html'), 'utf8')
	.replace('src/style.css', made['src/style.css'])
	.replace('src/main.tsx', made['src/main.tsx'])
	.replace('</head>', preloads.join('') + '</head>');
mkdirSync(output, { recursive: true });
writeFileSync(join(output, 'index.html'), shell);
copyFileSync(join(root, 'icon.svg'), join(output, 'assets', 'icon.svg'));

const inputs = Object.keys(metafile.inputs).map((path) => resolve(root, path));
console.log([join(root, 'index.html'), join(root, 'icon.svg'), ...inputs].join('\n'));
