// Parses a document for completion: its operations, and the candidates at the cursor. Documents are
// usually incomplete while the user types, so nothing here refuses one.

import { named, spelled } from "./schema.js";

const TOKEN =
	/"""[^]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|#[^\n]*|\.\.\.|\$?[A-Za-z_]\w*|-?\d[\w.]*|[{}()[\]:!=@|&$]/g;

function tokens(text) {
	const found = [...text.matchAll(TOKEN)].map(({ 0: word, index }) => ({ word, at: index }));
	return found.filter(({ word }) => !word.startsWith("#"));
}

/** The operations of a document, each with its kind, its name, and its first and last position. */
export function operations(text) {
	const found = [];
	let depth = 0;
	let open = null;
	for (const { word, at } of tokens(text)) {
		if (depth === 0 && !open && ["query", "mutation", "subscription", "fragment", "{"].includes(word)) {
			open = { kind: word === "{" ? "query" : word, name: undefined, from: at };
		} else if (depth === 0 && open && !open.name && /^\w/.test(word)) {
			open.name = word;
		}
		if ("{([".includes(word)) depth += 1;
		if ("})]".includes(word)) depth = Math.max(0, depth - 1);
		if (word === "}" && depth === 0 && open) {
			found.push({ ...open, to: at + 1 });
			open = null;
		}
	}
	return found.filter(({ kind }) => kind !== "fragment");
}

/** The operation that contains the cursor, or else the first one. */
export function operationAt(text, cursor) {
	const all = operations(text);
	return all.find(({ from, to }) => from <= cursor && cursor <= to) ?? all[0];
}

/**
 * The completions at the cursor: the position where the word there begins, and the candidates that
 * begin with that word. Each candidate has its name, the text to insert, its type and its
 * description.
 */
export function complete(schema, text, cursor) {
	const written = /\w*$/.exec(text.slice(0, cursor))[0];
	const from = cursor - written.length;
	const isLike = ({ name }) => name.toLowerCase().startsWith(written.toLowerCase());
	return { from, candidates: candidates(schema, tokens(text.slice(0, from))).filter(isLike) };
}

function candidates(schema, before) {
	const frames = [];
	// The kind of operation, or the type, of the next selection set.
	let root = "query";
	let condition = null;
	let last = "";
	let beforeLast = "";
	for (const { word } of before) {
		const frame = frames.at(-1);
		[beforeLast, last] = [last, word];
		if (beforeLast === "@") continue;
		if (word === "{" && frame?.is === "values") {
			frames.push({ is: "values", of: frame.value ? schema.inputs(named(frame.value.type)) : [] });
		} else if (word === "{") {
			const inherited = frame ? (frame.field ? named(frame.field.type) : frame.type) : schema.roots[root];
			frames.push({ is: "fields", type: condition ?? inherited });
			condition = null;
		} else if (word === "(") {
			frames.push(frame ? { is: "values", of: frame.field?.args ?? [] } : { is: "variables" });
		} else if (word === ")" || word === "}") {
			frames.pop();
		} else if (word === "...") {
			if (frame) frame.field = null;
		} else if (/^\w/.test(word)) {
			const isIt = ({ name }) => name === word;
			if (!frame && Object.hasOwn(schema.roots, word)) [root, condition] = [word, null];
			else if (beforeLast === "on") condition = word;
			else if (frame?.is === "fields") frame.field = schema.fields(frame.type).find(isIt);
			else if (frame?.is === "values" && beforeLast !== ":") frame.value = frame.of.find(isIt);
		}
	}
	const frame = frames.at(-1);
	const told = (thing, write) => ({
		name: thing.name,
		write: write ?? thing.name,
		type: thing.type ? spelled(thing.type) : "",
		about: thing.description ?? "",
	});
	const types = (kinds) => [...schema.types.values()].filter(({ kind }) => kinds.includes(kind));
	if (last === "on" && (!frame || beforeLast === "...")) {
		return types(["OBJECT", "INTERFACE", "UNION"]).map((type) => told(type));
	}
	if (!frame) {
		const kinds = Object.keys(schema.roots).filter((kind) => schema.roots[kind]);
		return [...kinds, "fragment"].map((name) => told({ name }));
	}
	if (frame.is === "variables") {
		const isType = last === ":" || (last === "[" && beforeLast === ":");
		return isType ? types(["SCALAR", "ENUM", "INPUT_OBJECT"]).map((type) => told(type)) : [];
	}
	if (frame.is === "fields") {
		const typename = { name: "__typename", description: "The name of the object's type." };
		return [...schema.fields(frame.type), typename].map((thing) => told(thing));
	}
	const isValue = last === ":" || (last === "[" && beforeLast === ":");
	if (isValue) return frame.value ? schema.words(named(frame.value.type)).map((thing) => told(thing)) : [];
	return frame.of.map((thing) => told(thing, `${thing.name}: `));
}
