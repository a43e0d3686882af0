import { readFileSync } from "node:fs";

import type { Page, Route } from "@playwright/test";

import { hasNoViolationsInThemes, LOOKS } from "../support/axe.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const READ = `query ($name: String!) { workflow(name: $name) {
  id version maxParallel timeoutSeconds
  tasks { name needs when allowFailure timeoutSeconds retry { maxAttempts }
    target {
      ... on CommandTarget { script args }
      ... on HttpTarget { url signed expectedBody maxRedirects headers { name value } }
      ... on WorkerTarget { queue task input tags }
      ... on PublishTarget {
        to { ... on RedisStream { connection { servers } stream maxLength } }
        event { mode type } }
    } } } }`;

interface Read {
  workflow: {
    id: string;
    version: number;
    maxParallel: number;
    timeoutSeconds: number | null;
    tasks: {
      name: string;
      needs: string[];
      when: string;
      allowFailure: boolean;
      timeoutSeconds: number;
      retry: { maxAttempts: number };
      target: Record<string, unknown>;
    }[];
  };
}

const heading = (page: Page, name: string) =>
  page.getByRole("heading", { name, exact: true, level: 1 });
const card = (page: Page, name: string) =>
  page.getByRole("region", { name: `Task ${name}`, exact: true });
const node = (page: Page, name: RegExp) => page.locator(".dag").getByRole("button", { name });
const tab = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Ways to edit" }).getByRole("link", { name });
const refusal = (page: Page) => page.locator("form").getByRole("alert");
const text = (page: Page) => page.getByLabel("Workflow (YAML)");
const problems = (page: Page) => page.locator("#workflow-text-error");
const reading = (page: Page, state: string) =>
  expect(page.locator(".editor-text")).toHaveAttribute("data-reading", state);
/** Handles the requests that let the server read a text; all others pass unchanged. */
const onReading = (page: Page, handle: (route: Route, text: string) => Promise<void>) =>
  page.route("**/graphql", async (route) => {
    const { query, variables } = route.request().postDataJSON();
    if (query.includes("readWorkflow")) await handle(route, variables.text);
    else await route.fallback();
  });

test("a workflow of two tasks is made in the form, and becomes version 2", async ({
  page,
  server,
  admin,
}) => {
  await page.goto("/workflows");
  await signIn(page, admin);
  await page.getByRole("link", { name: "New workflow" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("nightly");
  await page.getByLabel("Task name").fill("fetch");
  await page.getByLabel("Script").fill("echo fetched");
  await page.getByRole("button", { name: "Add task" }).click();
  await expect(page.getByLabel("Task name")).toBeFocused();
  await page.getByLabel("Task name").fill("send");
  await page.getByRole("radio", { name: "HTTP request" }).check();
  await page.getByLabel("URL").fill("https://example.org/reports");
  await card(page, "send").getByRole("checkbox", { name: "fetch" }).check();
  await expect(card(page, "send").getByRole("checkbox", { name: "fetch" })).toBeFocused();
  await expect(node(page, /^send/)).toHaveAccessibleName(/needs fetch/);
  await expect(page.locator(".dag-edge")).toHaveCount(1);

  // When a task is renamed, the tasks that need it follow.
  await node(page, /^fetch/).click();
  await page.getByLabel("Task name").fill("load");
  await expect(node(page, /^send/)).toHaveAccessibleName(/needs load/);
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(heading(page, "nightly")).toBeVisible();
  await expect(page.getByText("nightly is created.")).toBeVisible();
  await expect(node(page, /^send/)).toBeVisible();

  const made = (await server.ask<Read>(READ, { name: "nightly" })).workflow;
  expect(made.version).toBe(1);
  expect(made.tasks.map(({ name, needs }) => ({ name, needs }))).toEqual([
    { name: "load", needs: [] },
    { name: "send", needs: ["load"] },
  ]);

  await page.getByRole("link", { name: "Edit" }).click();
  await expect(heading(page, "Edit nightly")).toBeVisible();
  await page.getByText("Timeout and retries").click();
  await page.getByLabel("Attempts").fill("3");
  await page.getByRole("button", { name: "Add task" }).click();
  await page.getByLabel("Task name").fill("tell");
  await page.getByRole("radio", { name: "Job for a worker" }).check();
  await page.getByLabel("Queue").fill("mails");
  await page.getByLabel("Job", { exact: true }).fill("tell");
  await card(page, "tell").getByRole("checkbox", { name: "send" }).check();
  await page.getByLabel("Starts if").selectOption("failure");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText("nightly is saved.")).toBeVisible();
  await expect(heading(page, "nightly")).toBeVisible();

  const saved = (await server.ask<Read>(READ, { name: "nightly" })).workflow;
  expect(saved.version).toBe(2);
  expect(saved.tasks[0]?.retry.maxAttempts).toBe(3);
  expect(saved.tasks[2]).toMatchObject({ name: "tell", needs: ["send"], when: "FAILURE" });
  expect(saved.tasks[2]?.target).toMatchObject({ queue: "mails", task: "tell" });
  await page.getByRole("link", { name: "Versions" }).click();
  await expect(page.getByText("Version 2 by ada")).toBeVisible();
});

test("the text and the form are one, and what cannot be is refused where it stands", async ({
  page,
  admin,
}) => {
  await page.goto("/ns/default/workflows/new");
  await signIn(page, admin);
  await page.getByLabel("Name", { exact: true }).fill("two-ways");
  await tab(page, "Text").click();
  await expect(text(page)).toHaveValue(/^two-ways:\n  tasks:\n/);
  await expect(page.getByTestId("comments-hint")).toHaveCount(0);

  const typed = `# Why it is there.
two-ways:
  tasks:
    - name: a
      target: { noop: {} }
    - name: b
      needs: [nobody]
      target: { noop: { note: from the text } }
`;
  await text(page).fill(typed);
  await expect(page.getByTestId("comments-hint")).toHaveText("Comments are not stored.");
  await expect(problems(page)).toContainText("Line 7, column 15: tasks[1].needs[0]");
  await expect(problems(page).getByText("not a task")).toHaveCount(1);
  await expect(page.locator(".line-numbers mark")).toHaveText("7");
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(refusal(page)).toContainText("Not saved: see Workflow (YAML).");
  await expect(text(page)).toBeFocused();
  await expect(page).toHaveURL(/tab=text/);

  // The form has the same content, and shows the error in its own way.
  await tab(page, "Form").click();
  await expect(card(page, "b")).toContainText("Needs mending");
  await tab(page, "Text").click();
  await expect(text(page)).toHaveValue(typed);
  await tab(page, "Form").click();
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(card(page, "b")).toContainText("“nobody” is not a task of this workflow");
  const stranger = card(page, "b").getByRole("checkbox", { name: "nobody" });
  await expect(stranger).toBeFocused();
  await expect(refusal(page)).toContainText("Not saved: see Waits for.");
  await expect(page.getByLabel("Note for the log")).toHaveValue("from the text");
  await stranger.click();
  await expect(stranger).toHaveCount(0);

  // Both tasks of a cycle show the error.
  await card(page, "b").getByRole("checkbox", { name: "a", exact: true }).check();
  await card(page, "a").getByRole("button", { expanded: false }).click();
  await card(page, "a").getByRole("checkbox", { name: "b", exact: true }).check();
  await expect(card(page, "a")).toContainText("a → b → a is a circle");
  await expect(card(page, "b")).toContainText("Needs mending");
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(refusal(page)).toContainText("Not saved");
  await card(page, "a").getByRole("checkbox", { name: "b", exact: true }).uncheck();

  // A text that cannot be read stays, even if the form changes.
  await tab(page, "Text").click();
  await expect(text(page)).not.toHaveValue(/Why it is there/);
  const broken = "two-ways:\n  tasks: []\n  taks: []\n";
  await text(page).fill(broken);
  await expect(problems(page)).toContainText("Line 3, column 3: Unknown field `taks`");
  await tab(page, "Form").click();
  await page.getByLabel("Tasks at once").fill("3");
  const note = page.getByRole("status").filter({ hasText: "does not reach the text" });
  await expect(note).toContainText("Line 3, column 3");
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(page).toHaveURL(/tab=text/);
  await expect(text(page)).toHaveValue(broken);
  await expect(refusal(page)).toContainText("Not saved: see Workflow (YAML).");
  await page.getByRole("button", { name: "Give up the text" }).click();
  await expect(text(page)).toHaveValue(/max_parallel: 3/);
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(heading(page, "two-ways")).toBeVisible();
});

test("the keyboard stays where a task is moved or removed", async ({ page, admin }) => {
  await page.goto("/ns/default/workflows/new");
  await signIn(page, admin);
  await page.getByLabel("Task name").fill("a");
  await page.getByRole("button", { name: "Add task" }).click();
  await page.getByLabel("Task name").fill("b");
  const down = page.getByRole("button", { name: "Move down: a" });
  await down.press("Enter");
  await expect(page.getByTestId("task-card").nth(1)).toHaveAttribute("aria-label", "Task a");
  await expect(down).toBeFocused();
  await page.getByRole("button", { name: "Remove: b" }).press("Enter");
  await expect(card(page, "a").locator(".task-toggle")).toBeFocused();
  await page.getByRole("button", { name: "Remove: a" }).press("Enter");
  await expect(page.getByRole("button", { name: "Add task" })).toBeFocused();
});

test("what is pasted from a module file is saved as it says, and what is copied reads back", async ({
  page,
  server,
  admin,
}) => {
  await page.goto("/ns/default/workflows/new?tab=text");
  await signIn(page, admin);
  const pasted = `workflows:
  pasted:
    timeout: 1h30m   # the whole run
    tasks:
      - name: say
        target:
          command:
            program: /bin/echo
            args:
              - |
                two
                lines
        retry: { max_attempts: 3 }
`;
  await text(page).fill(pasted);
  // A text is read before it is saved, even if the user saves at once.
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(heading(page, "pasted")).toBeVisible();
  const made = (await server.ask<Read>(READ, { name: "pasted" })).workflow;
  expect(made.timeoutSeconds).toBe(5400);
  expect(made.tasks[0]?.retry.maxAttempts).toBe(3);
  // The form shows one argument per line; the workflow is created with the exact argument of the
  // text.
  expect(made.tasks[0]?.target.args).toEqual(["two\nlines\n"]);

  await expect(page.getByRole("button", { name: "Copy as YAML" })).toBeVisible();
  await page
    .getByRole("navigation", { name: "Parts of the workflow" })
    .getByRole("link", { name: "YAML" })
    .click();
  await expect(page.getByRole("region", { name: "The workflow as YAML" })).toContainText("1h30m");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe("pasted.yaml");
  const copied = readFileSync(await saved.path(), "utf8");
  expect(copied).toMatch(/^pasted:\n/);

  await page.getByRole("link", { name: "Edit" }).click();
  await tab(page, "Text").click();
  await expect(text(page)).toHaveValue(/^pasted:\n  timeout: 1h30m\n/);
  await text(page).fill(copied.replace("pasted:", "other:"));
  await expect(problems(page)).toContainText("a workflow keeps its name");
  await reading(page, "unreadable");
  await text(page).fill(`# Again.\n${copied}`);
  await reading(page, "read");
  await expect(problems(page)).toBeEmpty();
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(heading(page, "pasted")).toBeVisible();
  const after = (await server.ask<Read>(READ, { name: "pasted" })).workflow;
  expect(after).toEqual(made);
});

test("the latest text counts, and a server that does not answer is asked again", async ({
  page,
  admin,
}) => {
  const named = (name: string) => `${name}:\n  tasks:\n    - target: { noop: {} }\n`;
  await page.goto("/ns/default/workflows/new?tab=text");
  await signIn(page, admin);

  // The answer about the first text arrives after the answer about the second.
  let release = () => {};
  let answered = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const held = new Promise<void>((resolve) => (answered = resolve));
  await onReading(page, async (route, sent) => {
    if (!sent.startsWith("first")) return route.fallback();
    await released;
    const response = await route.fetch();
    await route.fulfill({ response });
    answered();
  });
  const asked = page.waitForRequest((request) => {
    const sent = request.url().endsWith("/graphql") ? request.postDataJSON() : null;
    return String(sent?.variables?.text ?? "").startsWith("first:");
  });
  await text(page).fill(named("first"));
  await asked;
  await text(page).fill(named("second"));
  await reading(page, "read");
  release();
  await held;
  await tab(page, "Form").click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("second");
  await page.unrouteAll();

  await onReading(page, (route) => route.abort());
  await tab(page, "Text").click();
  await text(page).fill(named("third"));
  await reading(page, "unanswered");
  await expect(problems(page)).toContainText("The text could not be checked.");
  await tab(page, "Form").click();
  await expect(page.getByRole("status").filter({ hasText: "could not be checked" })).toBeVisible();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Check again" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("third");
});

test("a typed text survives leaving with its comments, and the keyboard leaves it by Tab", async ({
  page,
  admin,
}) => {
  await page.goto("/ns/default/workflows/new?tab=text");
  await signIn(page, admin);
  const typed = "# Not ready.\nleft-in-text:\n  tasks:\n    - target: { noop: {} }\n";
  await text(page).fill(typed);
  await reading(page, "read");
  await page.getByRole("link", { name: "Cancel" }).click();
  await expect(heading(page, "Workflows")).toBeVisible();
  await page.goto("/ns/default/workflows/new");
  await expect(page.getByText("What you had typed is back.")).toBeVisible();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("left-in-text");
  await tab(page, "Text").click();
  await expect(text(page)).toHaveValue(typed);

  await text(page).fill("");
  await text(page).pressSequentially("a:");
  await page.keyboard.press("Enter");
  await page.keyboard.type("tasks:");
  await page.keyboard.press("Enter");
  await expect(text(page)).toHaveValue("a:\n  tasks:\n    ");
  // Waits for the text to be read, because the surrounding elements may change until then.
  await expect(page.locator(".editor-text")).not.toHaveAttribute("data-reading", "pending");
  await page.keyboard.press("Tab");
  await expect(text(page)).not.toBeFocused();
  await page.keyboard.press("Shift+Tab");
  await expect(text(page)).toBeFocused();

  // The text is JSON in the shape of the API, which earlier versions of the editor used.
  const json = JSON.stringify({ name: "from-json", tasks: [{ name: "a", target: { noop: {} } }] });
  await text(page).fill(json);
  await reading(page, "read");
  await tab(page, "Form").click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("from-json");
  await page.getByRole("button", { name: "Start afresh" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("");
});

const CREATE = `mutation ($input: CreateWorkflowInput!) {
  createWorkflow(input: $input) { workflow { id } } }`;
const UPDATE = `mutation ($input: UpdateWorkflowInput!) {
  updateWorkflow(input: $input) { workflow { version } } }`;

test("an edit changes what was typed and nothing else, and a newer version is not overwritten", async ({
  page,
  server,
  admin,
}) => {
  const input = {
    name: "kept",
    timeoutSeconds: 90,
    maxParallel: 3,
    tasks: [
      {
        name: "call",
        allowFailure: true,
        target: {
          http: {
            url: "https://example.org/hook",
            headers: [{ name: "Authorization", value: "{{ secrets.hook_key }}" }],
            expectedBody: "ok",
            maxRedirects: 2,
            signingSecret: "{{ secrets.hook_key }}",
          },
        },
      },
      {
        name: "work",
        needs: ["call"],
        when: "ALWAYS",
        timeoutSeconds: 12.5,
        target: { worker: { queue: "jobs", task: "do", input: { a: [1] }, tags: ["gpu"] } },
      },
      {
        name: "emit",
        needs: ["work"],
        target: {
          publish: {
            to: { redis: { connection: { servers: ["broker.example.org"] }, stream: "x", maxLength: 9 } },
            event: { mode: "BINARY", type: "done" },
          },
        },
      },
    ],
  };
  const made = await server.ask<{ createWorkflow: { workflow: { id: string } } }>(CREATE, { input });
  const { id } = made.createWorkflow.workflow;
  const before = (await server.ask<Read>(READ, { name: "kept" })).workflow;

  await page.goto(`/ns/default/workflows/${id}/edit`);
  await signIn(page, admin);
  await page.getByLabel("Tasks at once").fill("4");
  await page.getByRole("button", { name: "Save changes" }).click();
  // The server warns, because the secret is not set.
  await expect(page.getByText("kept is saved, but look at this")).toBeVisible();
  await page.getByRole("link", { name: "Open the workflow" }).click();
  await expect(heading(page, "kept")).toBeVisible();
  const after = (await server.ask<Read>(READ, { name: "kept" })).workflow;
  expect(after).toEqual({ ...before, version: 2, maxParallel: 4 });

  // Another user saves the workflow first.
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Tasks at once").fill("5");
  await server.ask(UPDATE, { input: { id, expectedVersion: 2, maxParallel: 6 } });
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(refusal(page)).toContainText("Somebody was quicker");
  expect((await server.ask<Read>(READ, { name: "kept" })).workflow.maxParallel).toBe(6);
});

test("the server's errors stand at their fields, and typed work survives leaving", async ({
  page,
  admin,
}) => {
  await page.goto("/ns/default/workflows/new");
  await signIn(page, admin);
  await page.getByLabel("Name", { exact: true }).fill("left");
  await page.getByLabel("Task name").fill("call");
  await page.getByRole("radio", { name: "HTTP request" }).check();
  await page.getByLabel("URL").fill("no address");
  await page.getByRole("button", { name: "Add task" }).click();
  await page.getByRole("button", { name: "Create workflow" }).click();
  // The second card was open, but the field with the error is in the first.
  await expect(page.getByLabel("URL")).toBeFocused();
  await expect(refusal(page)).toContainText("Not saved: see URL.");
  await expect(page.getByLabel("URL")).toHaveAttribute("aria-invalid", "true");

  await page.getByRole("link", { name: "Cancel" }).click();
  await expect(heading(page, "Workflows")).toBeVisible();
  await page.goto("/ns/default/workflows/new");
  await expect(page.getByText("What you had typed is back.")).toBeVisible();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("left");
  await expect(page.getByLabel("URL")).toHaveValue("no address");
  await expect(page.getByTestId("task-card")).toHaveCount(2);

  // The draft also survives the end of the session and the next sign-in.
  await page.getByLabel("Tasks at once").fill("7");
  await page.context().clearCookies();
  await page.reload();
  await signIn(page, admin);
  await expect(page.getByText("What you had typed is back.")).toBeVisible();
  await expect(page.getByLabel("Tasks at once")).toHaveValue("7");
  await page.getByRole("button", { name: "Start afresh" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("");
});

test("only who may edit is offered to, and a module's workflow is left to its module", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "kept-by-module", `
module: kept-by-module
workflows:
  kept-by-module: { tasks: [{ name: one, target: { noop: {} } }] }
`);
  await page.goto("/ns/default/workflows");
  await signIn(page, server.addPerson("wanda", "viewer"));
  await expect(page.getByRole("link", { name: "kept-by-module" })).toBeVisible();
  await expect(page.getByRole("link", { name: "New workflow" })).toHaveCount(0);
  const { id } = (await server.ask<Read>(READ, { name: "kept-by-module" })).workflow;
  await page.goto(`/ns/default/workflows/${id}/edit`);
  await expect(page.getByRole("heading", { name: "This page needs the role Editor" })).toBeVisible();
  await page.context().clearCookies();
  await page.reload();
  await signIn(page, admin);
  await expect(page.getByText("The module kept-by-module declares this workflow.")).toBeVisible();
});

for (const look of LOOKS) {
  test.describe(`${look.width} wide`, () => {
    test.use({ viewport: { width: look.width, height: 900 } });

    test("the editor has no violation and is not wider than the window", async ({ page, admin }) => {
      const fits = async (what: string) => {
        const surplus = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect.soft(surplus, `${what} is wider by`).toBeLessThanOrEqual(0);
        await hasNoViolationsInThemes(page, what, look);
      };
      await page.goto("/ns/default/workflows/new");
      await signIn(page, admin);
      await page.getByLabel("Name", { exact: true }).fill("looked-at");
      await page.getByLabel("Task name").fill("a-task-with-quite-a-long-name-for-a-phone");
      await page.getByRole("button", { name: "Add task" }).click();
      await card(page, "task-1").getByRole("checkbox", { name: "a-task-with" }).check();
      await page.getByRole("radio", { name: "HTTP request" }).check();
      await fits("form");
      await page.getByLabel("Task name").fill("");
      await page.getByRole("button", { name: "Create workflow" }).click();
      await expect(page.getByLabel("Task name")).toBeFocused();
      await fits("form with an error");
      await tab(page, "Text").click();
      await text(page).fill("{\n  oh\n}");
      await expect(problems(page)).not.toBeEmpty();
      await fits("text");
      await page.getByRole("button", { name: "Give up the text" }).click();
      await tab(page, "Form").click();
      await page.getByLabel("Task name").fill("send");
      await page.getByLabel("URL").fill("https://example.org");
      const name = `looked-at-${look.width}`;
      await page.getByLabel("Name", { exact: true }).fill(name);
      await card(page, "a-task-with-quite-a-long-name-for-a-phone").getByRole("button").first().click();
      await page.getByRole("radio", { name: "Nothing" }).check();
      await page.getByRole("button", { name: "Create workflow" }).click();
      await expect(heading(page, name)).toBeVisible();
      await expect(page.locator(".dag")).toBeVisible();
      await fits("page");
    });
  });
}
