// The schema of the API, as the server describes it.

const TYPE = "kind name ofType { kind name ofType { kind name ofType { kind name } } }";
const VALUE = `name description type { ${TYPE} }`;

/** The introspection query that loads the schema. */
export const INTROSPECTION = `query {
	__schema {
		queryType { name } mutationType { name } subscriptionType { name }
		types {
			kind name description
			fields { name description args { ${VALUE} } type { ${TYPE} } }
			inputFields { ${VALUE} }
			enumValues { name description }
			possibleTypes { name }
		}
	}
}`;

/** The name of a type without its lists and its `!`. */
export function named(type) {
	return type.ofType ? named(type.ofType) : type.name;
}

/** A type in the notation of the schema language. */
export function spelled(type) {
	if (type.kind === "NON_NULL") return `${spelled(type.ofType)}!`;
	if (type.kind === "LIST") return `[${spelled(type.ofType)}]`;
	return type.name;
}

/** A schema with lookups by name. */
export class Schema {
	constructor({ __schema: told }) {
		this.types = new Map(told.types.map((type) => [type.name, type]));
		this.roots = {
			query: told.queryType?.name,
			mutation: told.mutationType?.name,
			subscription: told.subscriptionType?.name,
		};
	}

	/** The fields of an object type; empty for other types. */
	fields(name) {
		return this.types.get(name)?.fields ?? [];
	}

	/** The fields of an input type. */
	inputs(name) {
		return this.types.get(name)?.inputFields ?? [];
	}

	/** The values of an enum type. */
	words(name) {
		const type = this.types.get(name);
		if (name === "Boolean") return [{ name: "true" }, { name: "false" }];
		return type?.enumValues ?? [];
	}

	/**
	 * The types whose name, or a part of it, contains `text`; an exact match comes first. Without a
	 * text, the root types.
	 */
	find(text) {
		if (!text) return Object.values(this.roots).flatMap((name) => this.types.get(name) ?? []);
		const sought = text.toLowerCase();
		const parts = (type) => [...(type.fields ?? type.inputFields ?? []), ...(type.enumValues ?? [])];
		const has = (thing) => thing.name.toLowerCase().includes(sought);
		const rank = (type) => (type.name === text ? 0 : has(type) ? 1 : parts(type).some(has) ? 2 : 3);
		const ranked = [...this.types.values()].filter(({ name }) => !name.startsWith("__"));
		const found = ranked.filter((type) => rank(type) < 3);
		return found.sort((one, other) => rank(one) - rank(other));
	}
}
