import { expect, signIn, test } from "../support/test.ts";
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
  overlap bufferLimit priority maxFires startDeadlineSeconds context tags } }`;

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
});
