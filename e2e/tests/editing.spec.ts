import { expect, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const TASK = `name timeoutSeconds killGraceSeconds
  retry { maxAttempts backoff initialSeconds maxSeconds jitter } retryOn
  target { ... on HttpTarget { method url headers { name value } body expectedStatus output signed } }`;

const CREATE = `mutation ($input: CreateScheduleInput!) {
  createSchedule(input: $input) { schedule { id } } }`;

const READ = `query ($id: UUID!) { schedule(id: $id) {
  note timing { expressions zone gap overlap jitterSeconds }
  workflow { tasks { ${TASK} } }
  misfire { catchUp graceSeconds max spacingSeconds windowSeconds }
  overlap bufferLimit priority maxFires startDeadlineSeconds context tags
  ping { success start failure } } }`;

interface Read {
  schedule: { workflow: { tasks: { timeoutSeconds: number }[] } };
}

test("an edit in the form changes what was typed and nothing else", async ({
  page,
  server,
  admin,
}) => {
  const input = {
    name: "edited",
    note: "kept",
    tags: ["kept"],
    timing: {
      expressions: ["0 3 1 1 *", "0 4 1 1 *"],
      zone: "Europe/Berlin",
      gap: "SKIP",
      overlap: "LAST",
      jitterSeconds: 7,
    },
    task: {
      name: "call",
      target: {
        http: {
          method: "PUT",
          url: "https://example.org/hook",
          headers: [{ name: "X-Kept", value: "yes" }],
          body: "kept",
          expectedStatus: ["200-204"],
          output: "MERGE",
          signingSecret: "{{ secrets.hook_key }}",
        },
      },
      timeoutSeconds: 12.5,
      killGraceSeconds: 3,
      retry: { maxAttempts: 4, backoff: "FIXED", initialSeconds: 2, maxSeconds: 9, jitter: 0.5 },
      retryOn: ["timeout", "status 500-599"],
    },
    misfire: { catchUp: "ALL", graceSeconds: 60, max: 5, spacingSeconds: 2, windowSeconds: 3600 },
    overlap: "BUFFER_ALL",
    bufferLimit: 11,
    priority: 3,
    maxFires: 1000,
    startDeadlineSeconds: 90,
    context: { kept: [1, null, "two"] },
    ping: { success: "https://watchdog.example/hush", failure: "https://watchdog.example/{{ secrets.kept }}/fail" },
  };
  const made = await server.ask<{ createSchedule: { schedule: { id: string } } }>(CREATE, { input });
  const { id } = made.createSchedule.schedule;
  const before = await server.ask<Read>(READ, { id });

  await page.goto(`/schedules/${id}/edit`);
  await signIn(page, admin);
  await page.getByText("Timeout and retries").click();
  await page.getByLabel("Timeout (seconds)").fill("20");
  await page.getByRole("button", { name: "Save" }).click();
  // The form's own heading is "Edit edited".
  await expect(page.getByRole("heading", { name: "edited", exact: true })).toBeVisible();

  const after = await server.ask<Read>(READ, { id });
  const [task] = before.schedule.workflow.tasks;
  if (task === undefined) throw new Error("the schedule has no task");
  task.timeoutSeconds = 20;
  expect(after).toEqual(before);
});

test.describe("in a zone whose clock changes", () => {
  test.use({ timezoneId: "Europe/Berlin" });

  test("a bound that the form cannot show exactly is kept", async ({ page, server, admin }) => {
    // Half past two in the second pass of a repeated hour, and a fraction of a second.
    const [startAt, endAt] = ["2027-10-31T01:30:00Z", "2028-01-01T00:00:00.250Z"] as const;
    const timing = { expressions: ["0 4 1 1 *"], startAt, endAt };
    const input = { name: "bounded", timing, task: { target: { noop: {} } } };
    const made = await server.ask<{ createSchedule: { schedule: { id: string } } }>(CREATE, { input });
    const { id } = made.createSchedule.schedule;
    const read = `query ($id: UUID!) { schedule(id: $id) { note timing { startAt endAt } } }`;
    interface Bounded {
      schedule: { note: string; timing: { startAt: string; endAt: string } };
    }
    const before = await server.ask<Bounded>(read, { id });
    expect(Date.parse(before.schedule.timing.endAt)).toBe(Date.parse(endAt));

    await page.goto(`/schedules/${id}/edit`);
    await signIn(page, admin);
    await page.getByText("Clock changes, bounds, jitter and calendars").click();
    await expect(page.getByLabel("From (your time)")).toHaveValue(/^2027-10-31T02:30/);
    await page.getByLabel("Note", { exact: true }).fill("edited");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { name: "bounded", exact: true })).toBeVisible();
    const after = await server.ask<Bounded>(read, { id });
    expect(after.schedule).toEqual({ ...before.schedule, note: "edited" });
  });
});

test("a watchdog is set and removed in the form, and its addresses are not shown", async ({ page, server, admin }) => {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ name: "watched", timing: { expressions: ["0 4 1 1 *"] }, task })]);
  await page.goto("/schedules?q=name:watched");
  await signIn(page, admin);
  await page.getByRole("link", { name: "watched", exact: true }).click();
  await page.getByRole("link", { name: "Edit" }).click();
  const success = page.getByLabel("Address called after a success");
  const failure = page.getByLabel("Address called after a failure");
  await page.getByText("Also at a start and after a failure").click();
  await failure.fill("https://watchdog.example/{{ secrets.check }}");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(success).toHaveAccessibleDescription(/Enter this address as well/);
  await success.fill("https://watchdog.example/hush");
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain("hush");
  await page.getByText("The same as a module file").click();
  const file = page.getByRole("region", { name: "Module file" });
  await expect(file).toContainText('success: "https://watchdog.example/***"');
  await expect(file).toContainText('failure: "https://watchdog.example/{{ secrets.check }}"');
  await page.getByRole("button", { name: "Save" }).click();

  await openTab(page, "Definition");
  const panel = page.getByRole("region", { name: "Watchdog" });
  await expect(panel).toContainText("https://watchdog.example/***");
  await expect(panel).toContainText("https://watchdog.example/{{ secrets.check }}");
  await expect(panel).toContainText("none yet");
  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  await expect(dialog).toContainText("Its watchdog is not called during the pause");
  await page.keyboard.press("Escape");

  // An address that is sent back as it is shown stays as it is, and an empty one is removed.
  await page.getByRole("link", { name: "Edit" }).click();
  await expect(success).toHaveValue("https://watchdog.example/***");
  await failure.fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await openTab(page, "Definition");
  await expect(panel).toContainText("https://watchdog.example/***");
  await expect(panel).not.toContainText("secrets.check");
  await page.getByRole("link", { name: "Edit" }).click();
  await success.fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await openTab(page, "Definition");
  await expect(page.getByRole("region", { name: "About" })).toBeVisible();
  await expect(panel).toHaveCount(0);
});

test("expressions are numbered as they stand, and the focus stays among them", async ({ page, admin }) => {
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  const expression = (number: number) => page.getByLabel(`Expression ${number}`, { exact: true });
  const add = page.getByRole("button", { name: "Add expression" });
  await expression(1).fill("0 1 * * *");
  for (const number of [2, 3]) {
    await add.click();
    await expression(number).fill(`0 ${number} * * *`);
  }
  await page.getByRole("button", { name: "Remove expression 1" }).press("Enter");
  await expect(expression(1)).toBeFocused();
  await expect(expression(1)).toHaveValue("0 2 * * *");
  await expect(expression(2)).toHaveValue("0 3 * * *");
  await add.click();
  await expect(expression(3)).toHaveValue("");
});

test("a part of an expression is cleared and typed anew", async ({ page, admin }) => {
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  const expression = page.getByLabel("Expression 1", { exact: true });
  await expression.fill("0 9 * * MON-FRI");
  await page.getByText("Build the first expression from its parts").click();
  const minute = page.getByLabel("Minute", { exact: true });
  await expect(minute).toHaveValue("0");
  await minute.fill("");
  await expect(expression).toHaveValue("0 9 * * MON-FRI");
  await minute.fill("5");
  await expect(expression).toHaveValue("5 9 * * MON-FRI");
});

test("an alert rule shows an error at its field, and none of what it hides", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "rule-fields"]);
  const hook = `{ namespace: "rule-fields", name: "field-hook", kind: WEBHOOK, url: "https://hooks.invalid/" }`;
  await server.ask(`mutation { createAlertChannel(input: ${hook}) { channel { id } } }`, {});
  await page.goto("/ns/rule-fields/settings/alerts/new");
  await signIn(page, admin);
  await page.getByLabel("Name", { exact: true }).fill("at-its-field");
  await page.getByRole("checkbox", { name: "field-hook" }).check();
  const late = page.getByRole("checkbox", { name: /^Late:/ });
  await late.check();
  await page.getByLabel("Late after (seconds)").fill("1");
  await late.uncheck();
  await page.getByRole("checkbox", { name: "Quiet hours" }).check();
  const until = page.getByLabel("Until", { exact: true });
  await until.fill("25:00");
  await page.getByRole("button", { name: "Create rule" }).click();
  await expect(until).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("In the zone")).not.toHaveAttribute("aria-invalid");
  await until.fill("06:00");
  await page.getByRole("button", { name: "Create rule" }).click();
  await expect(page.getByTestId("rule-row").filter({ hasText: "at-its-field" })).toBeVisible();
});

test("a copy has what its form does not show, and says what it misses", async ({ page, server, admin }) => {
  const http = {
    url: "https://example.org/hook",
    json: { text: "{{ context.text }}" },
    expectedBody: "done",
    maxRedirects: 1,
    signingSecret: "{{ secrets.hook_key }}",
  };
  const input = { name: "posts", timing: { expressions: ["0 4 1 1 *"] }, task: { target: { http } } };
  const made = await server.ask<{ createSchedule: { schedule: { id: string } } }>(CREATE, { input });
  const read = `query ($name: String!) { schedule(name: $name) { workflow { tasks { target {
    ... on HttpTarget { url body json expectedBody maxRedirects signed } } } } } }`;
  const before = await server.ask<object>(read, { name: "posts" });

  await page.goto(`/ns/default/schedules/new?from=${made.createSchedule.schedule.id}`);
  await signIn(page, admin);
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("posts-copy");
  const secret = page.getByRole("combobox", { name: "Signing secret" });
  await expect(secret).toHaveAccessibleDescription(/was not kept/);
  await secret.fill("{{ secrets.hook_key }}");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Create schedule" }).click();
  await expect(page.getByRole("heading", { name: "posts-copy", exact: true })).toBeVisible();
  expect(await server.ask<object>(read, { name: "posts-copy" })).toEqual(before);
});

test("a date without its time is not taken for an empty field", async ({ page, server, admin }) => {
  const input = { name: "half-dated", timing: { expressions: ["0 4 1 1 *"] }, task: { target: { noop: {} } } };
  const made = await server.ask<{ createSchedule: { schedule: { id: string } } }>(CREATE, { input });
  const { id } = made.createSchedule.schedule;
  const year = new Date().getFullYear() + 1;
  const read = `query ($id: UUID!) { schedule(id: $id) { timing { endAt } pause { until } } }`;
  interface Ends {
    schedule: { timing: { endAt: string | null }; pause: { until: string | null } | null };
  }

  await page.goto(`/schedules/${id}`);
  await signIn(page, admin);
  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  await dialog.getByLabel("Reason").fill("half typed");
  const until = dialog.getByLabel("Until (optional, your time)");
  await until.focus();
  await page.keyboard.type(`1231${year}`);
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(page.locator("#pause-until-error")).toContainText("Enter both the date and the time");
  await expect(until).toBeFocused();
  expect((await server.ask<Ends>(read, { id })).schedule.pause).toBeNull();
  await until.fill(`${year}-12-31T10:00`);
  await expect(page.locator("#pause-until-error")).toBeEmpty();
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(dialog).toBeHidden();
  expect((await server.ask<Ends>(read, { id })).schedule.pause?.until).toBeTruthy();

  await page.goto(`/schedules/${id}/edit`);
  const more = page.getByText("Clock changes, bounds, jitter and calendars");
  await more.click();
  const end = page.getByLabel("Until (your time)");
  await end.focus();
  await page.keyboard.type(`1231${year}`);
  await more.click();
  await expect(end).toBeHidden();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.locator("#end-error")).toContainText("Enter both the date and the time");
  await expect(end).toBeFocused();
  await end.fill(`${year}-12-31T10:00`);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { name: "half-dated", exact: true })).toBeVisible();
  expect((await server.ask<Ends>(read, { id })).schedule.timing.endAt).not.toBeNull();
});

test("a target is tried before there is a schedule", async ({ page, admin }) => {
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  await page.getByRole("radio", { name: "Command" }).check();
  await page.getByLabel("Script").fill('echo "tried for $CARILLON_NAMESPACE"; echo no >&2; exit 3');
  await page.getByRole("button", { name: "Test call" }).click();
  const trial = page.getByTestId("trial");
  await expect(page.getByTestId("trial-outcome")).toHaveAttribute("data-state", "failed");
  await expect(page.getByTestId("trial-outcome")).toContainText("exit code 3");
  await expect(trial.getByLabel("What the target wrote")).toContainText("tried for default");
  await page.getByLabel("Script").fill("exit 0");
  await page.getByRole("button", { name: "Test call" }).click();
  await expect(page.getByTestId("trial-outcome")).toHaveAttribute("data-state", "succeeded");
  await page.getByText("The same as a module file").click();
  const file = page.getByRole("region", { name: "Module file" });
  await expect(file).toContainText("script: \"exit 0\"");
  await page.getByRole("radio", { name: "Nothing, a rehearsal" }).check();
  await expect(trial).toBeHidden();
  await expect(file).toContainText("noop:");
});

test("copying says whether the browser has allowed it", async ({ page, admin }) => {
  // Without HTTPS, browsers have no clipboard.
  await page.addInitScript(() => {
    Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
  });
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  await page.getByText("The same as a module file").click();
  const copy = page.getByRole("button", { name: "Copy", exact: true });
  await copy.click();
  await expect(page.getByText("This browser does not allow copying here")).toBeVisible();
  await page.evaluate(() => {
    const writeText = () => Promise.resolve();
    Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
  });
  await copy.click();
  await expect(page.getByText("Copied.", { exact: true })).toBeVisible();
  // A form that is invalid has no file to copy.
  await page.getByText("Timeout and retries").click();
  await page.getByLabel("Timeout (seconds)").fill("");
  await expect(copy).toHaveCount(0);
  await page.getByLabel("Timeout (seconds)").fill("20");
  await expect(copy).toBeVisible();
});

test("a credential that a draft did not keep is named until it is entered again", async ({ page, admin }) => {
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  await page.getByRole("radio", { name: "Event for a broker" }).check();
  await page.getByLabel("Topic").fill("fires");
  await page.getByText("Encryption and credentials").click();
  await page.getByLabel("Password").fill("hush");
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain("hush");
  await page.reload();
  const note = page.getByRole("status").filter({ hasText: "What you had typed is back." });
  await expect(note).toContainText("The password was not kept: enter it again.");
  await expect(page.getByLabel("Topic")).toHaveValue("fires");
  const password = page.getByLabel("Password");
  await expect(password).toHaveValue("");
  await expect(password).toHaveAccessibleDescription(/was not kept/);
  await password.fill("hush again");
  await expect(note).not.toContainText("not kept");
  await expect(password).not.toHaveAccessibleDescription(/was not kept/);
});

test("a crowded minute is told while one types, and left with one press", async ({ page, server, admin }) => {
  const one = (name: string) => `  ${name}: { when: "17 3 * * *", task: { target: { noop: {} } } }\n`;
  // A namespace without the schedules of other tests.
  server.cli(["namespace", "create", "crowd"]);
  deploy(server, "crowd", `module: crowd\nnamespace: crowd\nschedules:\n${one("crowd-a")}${one("crowd-b")}`);
  await page.goto("/ns/crowd/schedules/new");
  await signIn(page, admin);
  const expression = page.getByLabel("Expression 1");
  await expression.fill("17 3 * * *");
  const crowd = page.getByTestId("preview-crowd");
  await expect(crowd).toContainText("goes from 2 to 3 starts");
  await expect(crowd.getByRole("button", { name: /Use \d+ \d+ \* \* \*, alone/ }).first()).toBeVisible();
  await crowd.getByRole("button", { name: "Use H 3 * * *" }).click();
  await expect(expression).toHaveValue("H 3 * * *");
  await expression.fill("18 3 * * *");
  await expect(crowd).toBeEmpty();
  // A run of the workflow shows how long the new ones will take.
  server.cli(["trigger", "crowd-a", "--wait", "--namespace", "crowd"]);
  await page.getByRole("radio", { name: "An existing workflow" }).check();
  await page.getByLabel("Workflow", { exact: true }).fill("crowd-a");
  await expect(crowd).toContainText(/A run usually takes .+ of worker time in the next 7 days/);
  // What is known of one workflow is not told of another one.
  await page.getByLabel("Workflow", { exact: true }).fill("crowd-nowhere");
  await expect(crowd).toBeEmpty();
  await page.getByLabel("Workflow", { exact: true }).fill("crowd-a");
  await expect(crowd).toContainText("A run usually takes");
});
