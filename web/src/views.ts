// The views of the page. src/web/page.c has the same list of addresses.
export const views = [
	['/', 'Overview'],
	['/latency', 'Latency'],
	['/workload', 'Workload'],
	['/cache', 'Cache & queue'],
	['/topology', 'Topology'],
	['/compare', 'Compare'],
	['/query', 'Query'],
	['/targets', 'Targets'],
	['/alerts', 'Alerts'],
] as const;
