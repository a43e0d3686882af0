import assert from "node:assert/strict";
import { test } from "node:test";

import { DeclarationError, fields as f, InputError, Program, scheduled, task, type Infer } from "../src/index.js";
import { readInput, type StandardSchema } from "../src/fields.js";

test("a program is a module", () => {
  const sendReport = scheduled(
    {
      name: "send_report",
      queue: "emails",
      cron: "0 2 * * *",
      zone: "Europe/Berlin",
      accepts: f.object({ day: f.string() }),
      input: { day: "{{ scheduled_at[:10] }}" },
      timeout: "10m",
      retry: { max_attempts: 5 },
      note: "nightly",
      tags: ["mail"],
    },
    ({ day }) => ({ day }),
  );
  const tidy = task({ name: "tidy", queue: "chores" }, () => {}).scheduled({
    cron: ["@every 6h", "@daily"],
    schedule: "tidy-up",
    overlap: "allow",
    workerTags: ["gpu"],
    options: { misfire: { catch_up: "all" } },
  });
  const byHand = task({ name: "by_hand", queue: "chores" }, () => {});
  assert.deepEqual(new Program({ name: "billing", namespace: "eu", tasks: [sendReport, tidy, byHand] }).module(), {
    module: "billing",
    namespace: "eu",
    schedules: {
      send_report: {
        when: "0 2 * * *",
        zone: "Europe/Berlin",
        overlap: "skip",
        note: "nightly",
        tags: ["mail"],
        task: {
          timeout: "10m",
          retry: { max_attempts: 5 },
          target: { worker: { queue: "emails", task: "send_report", input: { day: "{{ scheduled_at[:10] }}" } } },
        },
      },
      "tidy-up": {
        misfire: { catch_up: "all" },
        when: ["@every 6h", "@daily"],
        zone: "UTC",
        overlap: "allow",
        task: { target: { worker: { queue: "chores", task: "tidy", tags: ["gpu"] } } },
      },
    },
  });
});

test("one name declared twice is an error", () => {
  task({ name: "place", queue: "orders" }, () => {});
  assert.throws(() => task({ name: "place", queue: "orders" }, () => {}), /two declare the task place/);
  const daily = { queue: "orders", cron: "@daily", schedule: "daily" };
  const one = scheduled({ name: "one", ...daily }, () => {});
  assert.throws(() => scheduled({ name: "two", ...daily }, () => {}), /one and two declare the schedule daily/);
  assert.throws(() => one.scheduled({ cron: "@hourly", schedule: "daily" }), /declare the schedule daily/);
});

test("names are checked", () => {
  const refused = (what: () => unknown, problem: RegExp): void => {
    assert.throws(what, (thrown) => thrown instanceof DeclarationError && problem.test(thrown.message));
  };
  refused(() => task({ name: "no/good", queue: "a" }, () => {}), /"no\/good" is not a valid task name/);
  refused(() => task({ name: "good", queue: "No" }, () => {}), /"No" is not a valid queue name/);
  const good = { name: "good", queue: "a", cron: "@daily" };
  refused(() => scheduled({ ...good, schedule: "no good" }, () => {}), /"no good" is not a valid schedule name/);
  refused(() => scheduled({ ...good, options: { task: {} } }, () => {}), /options: task/);
});

const order = f.object({
  lines: f.array(f.object({ article: f.string(), count: f.optional(f.integer(), 1) })),
  size: f.optional(f.oneOf("small", "large")),
  at: f.optional(f.nullable(f.instant()), null),
  rates: f.optional(f.record(f.number())),
  rest: f.optional(f.unknown()),
  isNew: f.optional(f.boolean(), false),
});

test("input is read as its fields say", async () => {
  const given = { lines: [{ article: "a" }], size: "large", at: "2026-11-26T02:00:00Z", rates: { eur: 1 } };
  const read: Infer<typeof order> = await readInput(order, given);
  assert.deepEqual(read, {
    lines: [{ article: "a", count: 1 }],
    size: "large",
    at: new Date("2026-11-26T02:00:00Z"),
    rates: { eur: 1 },
    rest: undefined,
    isNew: false,
  });
});

for (const [given, problem] of [
  [{}, "lines: is missing"],
  [[], "input: must be an object, and is a list"],
  [{ lines: [{ article: "a", count: 1.5 }] }, "lines[0].count: must be a whole number, and is a number"],
  [{ lines: [], size: "huge" }, 'size: must be one of "small", "large", and is another value'],
  [{ lines: [], at: "tomorrow" }, "at: must be an instant such as 2026-11-26T02:00:00Z, and is a text"],
  [{ lines: [], rates: { eur: null } }, "rates.eur: must be a number, and is null"],
  [{ lines: [], isNew: "yes" }, "isNew: must be true or false, and is a text"],
  [{ lines: [], line: 1 }, "line: is not a field; there is lines, size, at, rates, rest, isNew"],
] as const) {
  test(`wrong input names the field: ${problem}`, async () => {
    await assert.rejects(readInput(order, given), (thrown) => {
      assert.ok(thrown instanceof InputError);
      assert.equal(thrown.message, problem);
      return true;
    });
  });
}

test("a schema of another library says what is wrong in its own words", async () => {
  const schema: StandardSchema<{ day: string }> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        typeof (value as { day: unknown }).day === "string"
          ? { value: value as { day: string } }
          : { issues: [{ message: "expected a string", path: ["day", { key: 0 }] }] },
    },
  };
  assert.deepEqual(await readInput(schema, { day: "d" }), { day: "d" });
  await assert.rejects(readInput(schema, { day: 1 }), /^InputError: day\.0: expected a string$/);
});
