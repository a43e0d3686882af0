import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "@playwright/test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse as parseToml, stringify as toToml } from "smol-toml";
import { parse as parseYaml, stringify as toYaml } from "yaml";

import { Server } from "../support/server.ts";

// These tests use no browser: they compare the JSON schema for editors, checked by an independent
// validator, with the server's parser. Both must accept the same files.

type Module = any;

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The modules in a page of the documentation, in the order of the page. */
function shown(page: string, language: "yaml" | "toml"): string[] {
  const blocks = [...read(page).matchAll(/```(yaml|toml)\n([^]*?)```/g)];
  const texts = blocks.filter(([, of]) => of === language).map(([, , text]) => text!);
  return texts.filter((text) => /^module\b/m.test(text));
}

const ajv = new Ajv2020({ strict: true, allErrors: true });
for (const format of ["int64", "int32", "uint8", "uint16", "uint32", "uint64", "double"]) ajv.addFormat(format, true);
ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
const validate = ajv.compile(JSON.parse(read("server/module.schema.json")));

/** Makes a dry run; returns the reason if it is refused. */
function refusal(server: Server, text: string, name = "module.yaml"): string | undefined {
  writeFileSync(join(server.folder, name), text);
  try {
    server.cli(["apply", name, "--dry-run"]);
    return undefined;
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

let server: Server;

test.beforeAll(async () => {
  // The settings that the examples need: the demo calls its own server, and alerts go by mail.
  server = await Server.start({
    CARILLON_EGRESS__PRIVATE_ADDRESSES: "true",
    CARILLON_SMTP__HOST: "127.0.0.1",
    CARILLON_SMTP__FROM: "carillon@example.org",
    CARILLON_SECRETS__KEY: "ab".repeat(32),
  });
});

test.afterAll(() => server.stop());

const [billing, alerts] = shown("docs/modules.md", "yaml") as [string, string];
const examples: [string, string][] = [
  ["examples/demo.yaml", read("examples/demo.yaml")],
  ["docs/modules.md", billing],
  ["docs/modules.md, alerts", alerts],
  ...shown("docs/workflows.md", "yaml").map((text): [string, string] => ["docs/workflows.md", text]),
];

for (const [where, text] of examples) {
  test(`the schema takes ${where}, as YAML and as TOML, and so does the server`, () => {
    const file: Module = parseYaml(text);
    validate(file);
    expect(validate.errors).toBeNull();
    expect(refusal(server, text)).toBeUndefined();
    const toml = toToml(file);
    expect(parseToml(toml)).toEqual(file);
    expect(refusal(server, toml, "module.toml")).toBeUndefined();
  });
}

test("the schema takes the TOML that the documents show", () => {
  const texts = shown("docs/modules.md", "toml");
  expect(texts).toHaveLength(1);
  for (const text of texts) {
    // In JSON, an instant of TOML becomes a text.
    validate(JSON.parse(JSON.stringify(parseToml(text))));
    expect(validate.errors).toBeNull();
    expect(refusal(server, text, "module.toml")).toBeUndefined();
  }
});

/**
 * Likely mistakes in the first example of the documentation. An unquoted word of YAML has the type
 * that its key requires, so `7` can be a text and `yes` a Boolean: that is not a mistake.
 */
const MISTAKES: [string, (file: Module) => void][] = [
  ["no name", (file) => delete file.module],
  ["a name that is a list", (file) => (file.module = ["billing"])],
  ["a section that does not exist", (file) => (file.jobs = {})],
  ["a list of schedules", (file) => (file.schedules = [file.schedules["month-end"]])],
  ["a limit in words", (file) => (file.groups.reports = "three")],
  ["a limit that is a fraction", (file) => (file.groups.reports = 1.5)],
  ["a calendar without a mode", (file) => delete file.calendars.holidays.mode],
  ["a mode that does not exist", (file) => (file.calendars.holidays.mode = "sometimes")],
  ["a day that does not exist", (file) =>
    (file.calendars["office-hours"].windows[0].weekdays = ["moon"])],
  ["a range without an end", (file) => delete file.calendars.holidays.ranges[0].to],
  ["no timing", (file) => delete file.schedules["tidy-up"].when],
  ["a timing that is a number", (file) => (file.schedules["tidy-up"].when = 5)],
  ["an overlap policy that does not exist", (file) =>
    (file.schedules["month-end"].overlap = "queue")],
  ["a catch-up that does not exist", (file) =>
    (file.schedules["month-end"].misfire.catch_up = "some")],
  ["a gap policy that does not exist", (file) => (file.schedules["month-end"].dst.gap = "jump")],
  ["a duration without a unit", (file) => (file.schedules["month-end"].misfire.grace = "5")],
  ["a duration that is a number", (file) => (file.schedules["month-end"].jitter = 30)],
  ["a begin that is no instant", (file) => (file.schedules["month-end"].start = "in spring")],
  ["a priority in words", (file) => (file.schedules["month-end"].priority = "high")],
  ["a context that is no object", (file) => (file.schedules["month-end"].context = ["eu"])],
  ["tags that are no list", (file) => (file.schedules["month-end"].tags = "billing")],
  ["a pause that is no yes or no", (file) => (file.schedules["tidy-up"].paused = "later")],
  ["no target", (file) => delete file.schedules["tidy-up"].task.target],
  ["a target that does not exist", (file) =>
    (file.schedules["tidy-up"].task.target = { ftp: { url: "ftp://a.example" } })],
  ["two targets", (file) => (file.schedules["tidy-up"].task.target.noop = {})],
  ["arguments that are no list", (file) =>
    (file.schedules["tidy-up"].task.target.command.args = "--all")],
  ["a request without an address", (file) => delete http(file).url],
  ["a method that does not exist", (file) => (http(file).method = "FETCH")],
  ["a status that does not exist", (file) => (http(file).expected_status = [700])],
  ["a backoff that does not exist", (file) => (retry(file).backoff = "linear")],
  ["attempts in words", (file) => (retry(file).max_attempts = "five")],
  ["a failure that does not exist", (file) =>
    (file.workflows["send-invoices"].tasks[0].retry_on = ["bad luck"])],
  ["a workflow without tasks", (file) => delete file.workflows["send-invoices"].tasks],
];

const http = (file: Module) => file.workflows["send-invoices"].tasks[0].target.http;
const retry = (file: Module) => file.workflows["send-invoices"].tasks[0].retry;

test("what the schema refuses the server refuses", () => {
  for (const [mistake, make] of MISTAKES) {
    const file: Module = parseYaml(billing);
    make(file);
    expect.soft(validate(file), `the schema takes ${mistake}`).toBe(false);
    const refused = refusal(server, toYaml(file));
    expect.soft(refused, `the server takes ${mistake}`).toBeDefined();
  }
});

test("a key that does not exist is refused wherever it stands", () => {
  for (const text of [billing, alerts]) {
    const places = objects(parseYaml(text), []);
    expect(places.length).toBeGreaterThan(5);
    for (const place of places) {
      const file: Module = parseYaml(text);
      // A header of a request may have any name, but its value must be a text.
      place.reduce((of, key) => of[key], file).surprise = {};
      const where = `a key in ${place.join(".") || "the file"}`;
      expect.soft(validate(file), `the schema takes ${where}`).toBe(false);
      const refused = refusal(server, toYaml(file));
      expect.soft(refused ?? "", `the server takes ${where}`).toContain("module.yaml");
    }
  }
});

/**
 * The paths of the objects in a file, except those inside a context, which may contain anything.
 */
function objects(value: Module, place: (string | number)[]): (string | number)[][] {
  if (typeof value !== "object" || value === null || place.at(-1) === "context") return [];
  const inner = Object.entries(value).flatMap(([key, item]) => objects(item, [...place, key]));
  return Array.isArray(value) ? inner : [place, ...inner];
}
