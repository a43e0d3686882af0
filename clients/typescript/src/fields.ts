/** The input that a task accepts, declared once for the compiler and for the JSON at run time. */

import { InputError } from "./errors.js";

/** Reads one value; throws `InputError` with its path. */
export interface Field<T> {
  read(value: unknown, path: string): T;
  /** The default of an absent value; without it, a value is required. */
  readonly absent?: () => T;
}

/** A schema of a library that implements https://standardschema.dev, such as zod or valibot. */
export interface StandardSchema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<T> | Promise<StandardResult<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type Schema<T> = Field<T> | StandardSchema<T>;

/** The type that a field returns. */
export type Infer<F> = F extends Field<infer T> ? T : F extends StandardSchema<infer T> ? T : never;

type Fields = Record<string, Field<unknown>>;
type Read<F extends Fields> = { [K in keyof F]: Infer<F[K]> };

export function string(): Field<string> {
  return plain("a text", (value) => typeof value === "string");
}

export function boolean(): Field<boolean> {
  return plain("true or false", (value) => typeof value === "boolean");
}

export function number(): Field<number> {
  return plain("a number", (value) => typeof value === "number");
}

/** A whole number that JavaScript represents exactly. */
export function integer(): Field<number> {
  return plain("a whole number", (value) => Number.isSafeInteger(value));
}

/** Any value. */
export function unknown(): Field<unknown> {
  return { read: (value) => value };
}

export function oneOf<const T extends string | number | boolean | null>(...choices: T[]): Field<T> {
  const wanted = `one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`;
  return plain(wanted, (value) => (choices as unknown[]).includes(value));
}

/** An instant in RFC 3339. */
export function instant(): Field<Date> {
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
  return {
    read(value, path) {
      const at = typeof value === "string" && form.test(value) ? new Date(value) : undefined;
      if (at === undefined || Number.isNaN(at.getTime())) {
        throw wrong(value, "an instant such as 2026-11-26T02:00:00Z", path);
      }
      return at;
    },
  };
}

export function array<T>(each: Field<T>): Field<T[]> {
  return {
    read(value, path) {
      if (!Array.isArray(value)) throw wrong(value, "a list", path);
      return value.map((item, at) => each.read(item, `${path}[${at}]`));
    },
  };
}

/** An object with any keys. */
export function record<T>(each: Field<T>): Field<Record<string, T>> {
  return {
    read(value, path) {
      const entries = Object.entries(asObject(value, path));
      return Object.fromEntries(entries.map(([name, item]) => [name, each.read(item, below(path, name))]));
    },
  };
}

export function nullable<T>(field: Field<T>): Field<T | null> {
  return { ...field, read: (value, path) => (value === null ? null : field.read(value, path)) };
}

export function optional<T>(field: Field<T>): Field<T | undefined>;
export function optional<T>(field: Field<T>, absent: T): Field<T>;
export function optional<T>(field: Field<T>, absent?: T): Field<T | undefined> {
  return { read: (value, path) => field.read(value, path), absent: () => absent };
}

/** An object with exactly these fields. */
export function object<F extends Fields>(fields: F): Field<Read<F>> {
  const known = new Map(Object.entries(fields));
  return {
    read(value, path) {
      const given = asObject(value, path);
      for (const name of Object.keys(given)) {
        if (known.has(name)) continue;
        const there = [...known.keys()].join(", ") || "none";
        throw new InputError(below(path, name), `is not a field; there is ${there}`);
      }
      const read = [...known].map(([name, field]) => {
        if (Object.hasOwn(given, name)) return [name, field.read(given[name], below(path, name))];
        if (field.absent === undefined) throw new InputError(below(path, name), "is missing");
        return [name, field.absent()];
      });
      return Object.fromEntries(read) as Read<F>;
    },
  };
}

/** Reads the whole input of a job. */
export async function readInput<T>(schema: Schema<T>, value: unknown): Promise<T> {
  if (!("~standard" in schema)) return schema.read(value, "");
  const result = await schema["~standard"].validate(value);
  const issue = result.issues?.[0];
  if (issue === undefined) return (result as { value: T }).value;
  const steps = issue.path?.map((step) => String(typeof step === "object" ? step.key : step)) ?? [];
  throw new InputError(steps.join(".") || "input", issue.message);
}

function plain<T>(wanted: string, fits: (value: unknown) => boolean): Field<T> {
  return {
    read(value, path) {
      if (!fits(value)) throw wrong(value, wanted, path);
      return value as T;
    },
  };
}

function asObject(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw wrong(value, "an object", path);
  }
  return value as Record<string, unknown>;
}

/** The value may be a secret: naming its type is enough. */
function wrong(value: unknown, wanted: string, path: string): InputError {
  const kinds: Record<string, string> = {
    string: "a text",
    boolean: "true or false",
    number: "a number",
    undefined: "not there",
  };
  const kind =
    value === null ? "null" : Array.isArray(value) ? "a list" : (kinds[typeof value] ?? "an object");
  const found = kind === wanted || wanted.startsWith("one of") ? "another value" : kind;
  return new InputError(path || "input", `must be ${wanted}, and is ${found}`);
}

function below(path: string, name: string): string {
  return path ? `${path}.${name}` : name;
}
