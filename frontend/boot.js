// Runs before the first paint, so a remembered theme never flashes; then starts the console.
(() => {
	try {
		const theme = localStorage.getItem("carillon.theme");
		if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
	} catch {
		// Storage may be forbidden: the system's theme will do.
	}
	addEventListener("DOMContentLoaded", async () => {
		try {
			const address = (id) => document.getElementById(id).href;
			const { default: start } = await import(address("console-js"));
			await start({ module_or_path: address("console-wasm") });
		} catch (error) {
			const notice = document.createElement("p");
			notice.setAttribute("role", "alert");
			notice.className = "boot-failure";
			notice.textContent = `The console could not start: ${error}. Reload the page; if that does not help, this browser may lack WebAssembly.`;
			document.body.append(notice);
		}
	});
})();
