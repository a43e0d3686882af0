// What can be asked for, as the server tells it.

const TYPE = "kind name ofType { kind name ofType { kind name ofType { kind name } } }";
const VALUE = `name description type { ${TYPE} }`;

/** The question that a schema is the answer to. */
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

/** A type as a schema spells it. */
export function spelled(type) {
	if (type.kind === "NON_NULL") return `${spelled(type.ofType)}!`;
	if (type.kind === "LIST") return `[${spelled(type.ofType)}]`;
	return type.name;
}

/** A schema to look things up in. */
export class Schema {
	constructor({ __schema: told }) {
		this.types = new Map(told.types.map((type) => [type.name, type]));
		this.roots = {
			query: told.queryType?.name,
			mutation: told.mutationType?.name,
			subscription: told.subscriptionType?.name,
		};
	}

	/** The fields of an object, none for what has none. */
	fields(name) {
		return this.types.get(name)?.fields ?? [];
	}

	/** The fields of an input. */
	inputs(name) {
		return this.types.get(name)?.inputFields ?? [];
	}

	/** The words that a value of that type can be. */
	words(name) {
		const type = this.types.get(name);
		if (name === "Boolean") return [{ name: "true" }, { name: "false" }];
		return type?.enumValues ?? [];
	}

	/** Types whose name, or a part of which, has that text: the one of that name first. Without a
	 * text those that everything begins with. */
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
