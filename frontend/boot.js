// Runs before the first paint, so a remembered theme never flashes; then starts the console, and says so if it stops.
(() => {
	try {
		const theme = localStorage.getItem("carillon.theme");
		if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
	} catch {
		// Storage may be forbidden: the system's theme will do.
	}
	const say = (words) => {
		if (document.querySelector(".boot-failure")) return;
		const notice = document.createElement("p");
		notice.setAttribute("role", "alert");
		notice.className = "boot-failure";
		notice.textContent = words;
		document.body.prepend(notice);
	};
	// A console that has come to a halt looks like one that works.
	const halted = (error) => {
		if (error instanceof WebAssembly.RuntimeError) say("The console has stopped. Reload the page.");
	};
	addEventListener("error", (event) => halted(event.error));
	addEventListener("unhandledrejection", (event) => halted(event.reason));
	addEventListener("DOMContentLoaded", async () => {
		try {
			const address = (id) => document.getElementById(id).href;
			const { default: start } = await import(address("console-js"));
			await start({ module_or_path: address("console-wasm") });
		} catch (error) {
			say(`The console could not start: ${error}. Reload the page; if that does not help, this browser may lack WebAssembly.`);
		}
	});
})();
