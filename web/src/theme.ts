// Before anything is painted: the theme that was chosen. A classic script of its own, so that it runs while the rest is still on its way.
try {
	document.documentElement.dataset.theme = localStorage.getItem('goodput.theme') ?? 'auto';
} catch {
	// Storage may be switched off; then it is as the system has it.
}
