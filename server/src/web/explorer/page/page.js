// The page's behaviour. Everything from the server is shown as text, never as markup.

import { follow, post } from "./client.js";
import { complete, operationAt } from "./complete.js";
import { INTROSPECTION, Schema, named, spelled } from "./schema.js";

const $ = (id) => document.getElementById(id);
const [query, variables, answer, token] = ["query", "variables", "answer", "token"].map($);
const KEPT = "carillon-graphiql";
/** Maximum number of a subscription's events on the page, the latest first. */
const MOST_EVENTS = 100;
const FIRST = `# Ctrl+Enter runs what stands at the cursor.
query {
  me { name kind role }
  schedules(first: 10) { totalCount nodes { name nextFireAt } }
}
`;

let schema = null;
let stop = null;

function element(name, text, ...children) {
	const made = document.createElement(name);
	made.append(text, ...children);
	return made;
}

function say(text) {
	$("state").textContent = text;
}

function show(value) {
	answer.textContent = typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** Loads the schema again, with the rights of the current token. */
async function load() {
	schema = null;
	const told = await post(token.value, { query: INTROSPECTION }).catch((error) => ({ error: String(error) }));
	if (told.data?.__schema) {
		schema = new Schema(told.data);
		say(`${schema.types.size} types.`);
	} else {
		const why = told.error ?? told.errors?.[0]?.message ?? "no schema came";
		say(`No schema: ${why}. Sign in to the console in this browser, or give a token.`);
	}
	showHere();
	showTypes();
}

function showHere() {
	const { from, candidates } = schema ? complete(schema, query.value, query.selectionStart) : { candidates: [] };
	const items = candidates.slice(0, 200).map((candidate) => {
		const button = element("button", element("code", candidate.name), ` ${candidate.type}`);
		button.type = "button";
		button.title = candidate.about;
		button.onclick = () => write(from, candidate.write);
		return element("li", button);
	});
	$("here").replaceChildren(...items);
}

/** Replaces the word at the cursor. */
function write(from, word) {
	query.focus();
	query.setRangeText(word, from, query.selectionStart, "end");
	changed();
}

function changed() {
	try {
		// Stored for this tab only, and without the variables, which may contain a password or a secret.
		sessionStorage.setItem(KEPT, query.value);
	} catch {
		// The page also works if the browser stores nothing.
	}
	showHere();
}

function showTypes() {
	const text = $("search").value.trim();
	const found = schema ? schema.find(text).slice(0, 40) : [];
	$("types").replaceChildren(...found.map((type) => described(type, type.name === text)));
}

function described(type, isOpen) {
	const parts = [...(type.fields ?? type.inputFields ?? []), ...(type.enumValues ?? [])];
	const list = parts.map((part) => {
		const args = part.args?.length
			? `(${part.args.map((arg) => `${arg.name}: ${spelled(arg.type)}`).join(", ")})`
			: "";
		const line = element("div", element("code", `${part.name}${args}`));
		if (part.type) {
			const link = element("button", spelled(part.type));
			link.type = "button";
			link.onclick = () => {
				$("search").value = named(part.type);
				showTypes();
			};
			line.append(" ", link);
		}
		const about = element("p", part.description ?? "");
		about.className = "about";
		return element("div", line, about);
	});
	const about = element("p", type.description ?? "");
	about.className = "about";
	const details = element("details", element("summary", element("code", type.name)), about, ...list);
	details.open = isOpen;
	return details;
}

async function run() {
	stop?.();
	const operation = operationAt(query.value, query.selectionStart);
	if (!operation) return show("There is no operation to run.");
	const request = { query: query.value, operationName: operation.name };
	try {
		if (variables.value.trim()) request.variables = JSON.parse(variables.value);
	} catch (error) {
		return show(`The variables are not JSON: ${error.message}`);
	}
	if (operation.kind === "subscription") return subscribe(request);
	say("Asking …");
	try {
		show(await post(token.value, request));
		say("Answered.");
	} catch (error) {
		show(String(error));
		say("No answer.");
	}
}

function subscribe(request) {
	const events = [];
	show("");
	say("Connecting …");
	const close = follow(token.value, request, {
		begun: () => stop === close && say("Following …"),
		next(event) {
			events.unshift(JSON.stringify(event, null, 2));
			events.length = Math.min(events.length, MOST_EVENTS);
			show(events.join("\n\n"));
		},
		end(why) {
			if (stop !== close) return;
			stop = null;
			$("stop").hidden = true;
			say(`The subscription ${why}.`);
		},
	});
	stop = close;
	$("stop").hidden = false;
}

/** The query from an earlier visit in this tab; empty if there is none or it cannot be read. */
function remembered() {
	try {
		return sessionStorage.getItem(KEPT);
	} catch {
		return null;
	}
}

const asked = new URLSearchParams(location.search);
query.value = asked.get("query") ?? remembered() ?? FIRST;
variables.value = asked.get("variables") ?? "";

$("run").onclick = run;
$("stop").onclick = () => stop?.();
$("search").oninput = showTypes;
token.onchange = load;
for (const event of ["input", "keyup", "click"]) query.addEventListener(event, changed);
document.addEventListener("keydown", (event) => {
	if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
		event.preventDefault();
		run();
	}
});
query.addEventListener("keydown", (event) => {
	if (event.key === " " && event.ctrlKey && schema) {
		event.preventDefault();
		const { from, candidates } = complete(schema, query.value, query.selectionStart);
		if (candidates[0]) write(from, candidates[0].write);
	}
});
await load();
