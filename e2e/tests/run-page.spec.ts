import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { hasNoViolationsInLooks } from "../support/axe.ts";
import { Clicks } from "../support/clicks.ts";
import type { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

/** Runs a schedule once and returns its run's id. */
async function trigger(server: Server, name: string, context?: object): Promise<string> {
  const find = `query ($name: String!) { schedule(name: $name) { id } }`;
  const { schedule } = await server.ask<{ schedule: { id: string } }>(find, { name });
  const run = `mutation ($id: UUID!, $context: JSON) { triggerSchedule(id: $id, context: $context) { run { id } } }`;
  const answer = await server.ask<{ triggerSchedule: { run: { id: string } } }>(run, { ...schedule, context });
  return answer.triggerSchedule.run.id;
}

/** The same once the run is over. */
async function settled(server: Server, name: string, context?: object): Promise<string> {
  const id = await trigger(server, name, context);
  const find = `query ($id: UUID!) { run(id: $id) { state } }`;
  const state = async () => (await server.ask<{ run: { state: string } }>(find, { id })).run.state;
  await expect.poll(state).toMatch(/SUCCEEDED|FAILED/);
  return id;
}

const state = (page: Page) => page.getByTestId("run-state");
const line = (page: Page, text: string) => page.getByTestId("log-line").filter({ hasText: text });

test("choosing a task narrows attempts and log, and the address says so", async ({ page, server, admin }) => {
  deploy(
    server,
    "chooser",
    `
module: chooser
workflows:
  chooser:
    tasks:
      - { name: fetch, target: { command: { script: "echo fetched the files" } } }
      - { name: build, needs: [fetch], retry: { max_attempts: 2, initial: 1s }, target: { command: { script: "echo building; exit 7" } } }
      - { name: mourn, needs: [build], when: failure, target: { noop: {} } }
schedules:
  chooser: { when: "0 0 1 1 *", workflow: chooser }
`,
  );
  const id = await trigger(server, "chooser");
  await page.goto(`/runs/${id}`);
  await signIn(page, admin);
  await expect(state(page)).toHaveAttribute("data-state", "failed");
  const attempts = page.getByRole("table", { name: "Attempts" });
  await expect(attempts.getByRole("row").filter({ hasText: "exit 7" })).toHaveCount(2);
  await expect(line(page, "fetched the files")).toBeVisible();
  await expect(line(page, "building")).toHaveCount(2);

  await page.getByTestId("task-row").filter({ hasText: "build" }).first().getByRole("button", { name: /^Attempt 2/ }).click();
  await expect(page).toHaveURL(/task=build&attempt=2/);
  await expect(line(page, "building")).toHaveCount(1);
  await expect(line(page, "fetched")).toHaveCount(0);
  await expect(attempts.getByRole("row").filter({ hasText: "exit 7" })).toHaveCount(1);

  await page.reload();
  await expect(page.getByTestId("log-chosen")).toContainText("build #2");
  await page.getByRole("button", { name: "Graph" }).click();
  const node = page.getByRole("button", { name: "fetch, succeeded; needs nothing" });
  await node.focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/view=graph/);
  await expect(line(page, "fetched the files")).toHaveCount(1);
  await expect(line(page, "building")).toHaveCount(0);
  await page.getByRole("button", { name: "Show all tasks" }).click();
  await expect(line(page, "building")).toHaveCount(2);
});

test("a long log is drawn in part, searched as a whole, linked by line and saved", async ({ page, server, admin }) => {
  deploy(
    server,
    "talker",
    `
module: talker
schedules:
  talker:
    when: "0 0 1 1 *"
    task: { target: { command: { script: "for i in $(seq 1 20000); do echo number $i; done; sleep 0.5; printf '\\\\033[31mred needle\\\\033[0m\\\\n' >&2" } } }
`,
  );
  const id = await trigger(server, "talker");
  await page.goto(`/runs/${id}`);
  await signIn(page, admin);
  await expect(state(page)).toHaveAttribute("data-state", "succeeded");
  await expect(line(page, "red needle").locator(".ink-1")).toHaveText("red needle");
  // The log was followed to its end, but the page contains only the lines in view.
  expect(await page.getByTestId("log-line").count()).toBeLessThan(150);

  const search = page.getByLabel("Search the log");
  await search.fill("number 1234");
  await expect(page.getByTestId("log-found")).toHaveText(/of 11$/);
  await search.press("Enter");
  await search.press("Shift+Enter");
  await expect(page.getByTestId("log-found")).toHaveText("1 of 11");
  await expect(page).toHaveURL(/line=1234$/);
  await expect(page.locator("mark[data-current]")).toHaveText("number 1234");
  await search.fill("no such thing");
  await expect(page.getByTestId("log-found")).toHaveText("none");

  await page.goto(`/runs/${id}?line=777`);
  const linked = page.locator(".log-line[data-linked]");
  await expect(linked).toContainText("number 777");
  await expect(linked).toBeInViewport();

  await page.getByLabel("Which lines").selectOption("stderr");
  await expect(page.getByTestId("log-line")).toHaveCount(1);
  await expect(page).toHaveURL(/stream=stderr/);
  await page.getByLabel("Which lines").selectOption("");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const text = readFileSync(await (await download).path(), "utf8");
  expect(text.split("\n").length).toBeGreaterThan(20_000);
  expect(text).toContain("red needle");
});

test("following ends when one scrolls up, and wrapping is a choice", async ({ page, server, admin }) => {
  const gate = join(server.folder, "go-on");
  deploy(
    server,
    "follow",
    `
module: follow
schedules:
  follow:
    when: "0 0 1 1 *"
    task: { target: { command: { script: "for i in $(seq 1 200); do echo row $i. $(printf 'x%.0s' $(seq 1 300)); done; while ! test -e ${gate}; do sleep 0.1; done; echo the end" } } }
`,
  );
  const id = await trigger(server, "follow");
  await page.goto(`/runs/${id}`);
  await signIn(page, admin);
  const log = page.getByRole("log");
  await expect(line(page, "row 200.")).toBeAttached();
  await log.evaluate((frame) => frame.scrollIntoView(false));
  await expect(line(page, "row 200.")).toBeInViewport();
  const follow = page.getByRole("checkbox", { name: "Follow" });
  await log.evaluate((frame) => frame.scrollTo(0, 0));
  await expect(follow).not.toBeChecked();
  await expect(line(page, "row 1.")).toBeInViewport();
  const tall = await log.evaluate((frame) => frame.scrollHeight);
  await page.getByRole("checkbox", { name: "Wrap" }).uncheck();
  await expect.poll(() => log.evaluate((frame) => frame.scrollHeight)).toBeLessThan(tall / 2);
  writeFileSync(gate, "");
  await expect(state(page)).toHaveAttribute("data-state", "succeeded");
  await expect(line(page, "row 1.")).toBeInViewport();
  await follow.check();
  await expect(line(page, "the end")).toBeInViewport();
});

test("a search counts anew among the lines of a task", async ({ page, server, admin }) => {
  deploy(
    server,
    "counted",
    `
module: counted
workflows:
  counted:
    tasks:
      - { name: one, target: { command: { script: "echo zz one" } } }
      - { name: two, needs: [one], target: { command: { script: "echo zz zz two" } } }
schedules:
  counted: { when: "0 0 1 1 *", workflow: counted }
`,
  );
  await page.goto(`/runs/${await settled(server, "counted")}`);
  await signIn(page, admin);
  const found = page.getByTestId("log-found");
  const marks = line(page, "zz zz two").locator("mark");
  await page.getByLabel("Search the log").fill("zz");
  await expect(found).toHaveText("1 of 3");
  await page.keyboard.press("Enter");
  await expect(found).toHaveText("2 of 3");
  await expect(marks.nth(0)).toHaveAttribute("data-current");
  await page.getByTestId("task-row").filter({ hasText: "two" }).getByRole("button", { name: "two" }).click();
  await expect(found).toHaveText("1 of 2");
  await expect(marks.nth(0)).toHaveAttribute("data-current");
  await page.getByLabel("Search the log").press("Enter");
  await expect(found).toHaveText("2 of 2");
  await expect(marks.nth(1)).toHaveAttribute("data-current");
});

test("a log that begins again while lists are held has each line once", async ({ page, server, admin }) => {
  const gate = join(server.folder, "fourth-line");
  deploy(
    server,
    "restarted",
    `
module: restarted
schedules:
  restarted:
    when: "0 0 1 1 *"
    task: { target: { command: { script: "seq 1 3; while ! test -e ${gate}; do sleep 0.1; done; echo 4; while ! test -e ${gate}.end; do sleep 0.1; done" } } }
`,
  );
  /** The number of events of each subscription to the log, by the subscription's id, in order. */
  const logs = new Map<string, number>();
  let refuse = () => {};
  await page.routeWebSocket(/\/graphql\/ws$/, (socket) => {
    const upstream = socket.connectToServer();
    socket.onMessage((message) => {
      const { type, id, payload } = JSON.parse(String(message));
      if (type === "subscribe" && String(payload.query).includes("taskLog")) {
        logs.set(id, 0);
        refuse = () => socket.send(JSON.stringify({ id, type: "next", payload: { data: null } }));
      }
      upstream.send(message);
    });
    upstream.onMessage((message) => {
      const { type, id } = JSON.parse(String(message));
      const events = logs.get(id);
      if (type === "next" && events !== undefined) logs.set(id, events + 1);
      socket.send(message);
    });
  });
  const id = await trigger(server, "restarted");
  await page.goto(`/runs/${id}`);
  await signIn(page, admin);
  const lines = page.getByTestId("log-line");
  await expect(lines).toHaveCount(3);
  await page.getByRole("button", { name: "Hold" }).click();
  writeFileSync(gate, "");
  await expect.poll(() => [...logs.values()].at(-1)).toBe(4);
  const before = logs.size;
  refuse();
  await expect.poll(() => logs.size).toBe(before + 1);
  await expect.poll(() => [...logs.values()].at(-1)).toBe(4);
  await expect(lines).toHaveCount(3);
  await page.locator(".hold").click();
  await expect(lines).toHaveCount(4);
  await expect(lines.last()).toContainText("4");
  writeFileSync(`${gate}.end`, "");
});

test("cancelling asks for a reason, and running again stays here", async ({ page, server, admin }) => {
  deploy(
    server,
    "sleeper",
    `
module: sleeper
schedules:
  sleeper: { when: "0 0 1 1 *", task: { target: { command: { script: "sleep 60" } } } }
`,
  );
  const id = await trigger(server, "sleeper");
  await page.goto(`/runs/${id}`);
  await signIn(page, admin);
  await expect(state(page)).toHaveAttribute("data-state", "running");
  await expect(page.getByRole("button", { name: "Run again" })).toBeDisabled();
  await page.getByRole("button", { name: "Cancel run" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel run" });
  await dialog.getByLabel("Reason").fill("wrong month");
  await dialog.getByRole("button", { name: "Cancel this run" }).click();
  await expect(dialog).toBeHidden();
  await expect(state(page)).toHaveAttribute("data-state", "cancelled");
  await expect(page.getByText("wrong month")).toBeVisible();

  await page.getByRole("button", { name: "Run again" }).click();
  const made = page.getByTestId("new-run");
  await expect(made.getByRole("link", { name: "the new run" })).toBeVisible();
  expect(page.url()).toContain(id);
  await expect(page.getByRole("button", { name: "Cancel run" })).toBeDisabled();
  await made.getByRole("link", { name: "the new run" }).click();
  await expect(page).not.toHaveURL(new RegExp(id));
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByRole("button", { name: "Cancel this run" }).click();
  await expect(state(page)).toHaveAttribute("data-state", "cancelled");
});

test("a run that waits says for what, and links to it", async ({ page, server, admin }) => {
  const gate = join(server.folder, "group-gate");
  deploy(
    server,
    "queue",
    `
module: queue
groups: { narrow: 1 }
schedules:
  first: { when: "0 0 1 1 *", group: narrow, task: { target: { command: { script: "while ! test -e ${gate}; do sleep 0.1; done" } } } }
  second: { when: "0 0 1 1 *", group: narrow, task: { target: { noop: {} } } }
`,
  );
  const first = await trigger(server, "first");
  const second = await trigger(server, "second");
  await page.goto(`/runs/${second}`);
  await signIn(page, admin);
  const waits = page.getByTestId("waits-for");
  await expect(waits).toContainText("narrow");
  await expect(waits.getByRole("link", { name: "first" })).toHaveAttribute("href", new RegExp(first));
  await page.goto("/ns/default/groups");
  const group = page.getByTestId("group-row").filter({ hasText: "narrow" });
  await group.getByRole("link", { name: "1", exact: true }).click();
  await expect(page).toHaveURL(/\/runs\?q=group.*queued/);
  await expect(page.getByTestId("run-row").filter({ hasText: "second" })).toBeVisible();
  await page.goto(`/ns/default/runs/${second}`);
  writeFileSync(gate, "");
  await expect(state(page)).toHaveAttribute("data-state", "succeeded");
  await expect(waits).toHaveCount(0);
});

test("a failed run is compared with the last success in one click, and the address says so", async ({
  page,
  server,
  admin,
}) => {
  const gate = join(server.folder, "disk-is-full");
  deploy(
    server,
    "compared",
    `
module: compared
schedules:
  compared:
    when: "0 0 1 1 *"
    task: { target: { command: { script: "echo begun at $(date +%s%N); for i in $(seq 1 30); do echo step $i; done; if test -e ${gate}; then echo the disk is full; exit 3; fi; echo all is well" } } }
`,
  );
  const first = await settled(server, "compared", { day: "monday", copies: 2 });
  writeFileSync(gate, "");
  const second = await settled(server, "compared", { day: "tuesday", copies: 2 });
  await page.goto(`/runs/${second}`);
  await signIn(page, admin);
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Compare with the last success" }));
  await expect(page).toHaveURL(/compare=last/);
  const panel = page.getByRole("region", { name: "Comparison", exact: true });
  const row = (name: string) =>
    panel.getByTestId("compared-row").filter({ has: page.getByRole("rowheader", { name }) });
  await expect(row("State")).toContainText(/Succeeded\s*Failed/);
  await expect(row("State")).toHaveAttribute("data-differs");
  await expect(row("Attempts")).toContainText("Failed, 1 attempt, exit 3");
  await expect(row("Workflow")).not.toHaveAttribute("data-differs");
  expect(clicks.count).toBe(1);

  const context = panel.getByRole("region", { name: "Differences of the context" });
  await expect(context.locator('[data-side="gone"]')).toContainText('"monday"');
  await expect(context.locator('[data-side="new"]')).toContainText('"tuesday"');
  const log = panel.getByRole("region", { name: "Differences of the log" });
  await expect(log.locator('[data-side="gone"]').filter({ hasText: "all is well" })).toHaveCount(1);
  await expect(log.locator('[data-side="new"]').filter({ hasText: "the disk is full" })).toHaveCount(1);
  await expect(log.locator('[data-side="new"]').filter({ hasText: "begun at" })).toHaveCount(1);
  await expect(log).toContainText("26 common lines");
  await expect(log).not.toContainText("step 15");

  // A time in each line is no difference if one says so.
  await panel.getByLabel("Ignore numbers, such as times").check();
  await expect(page).toHaveURL(/numbers=ignore/);
  await expect(log).not.toContainText("begun at");
  await page.reload();
  await expect(log.locator('[data-side="new"]').filter({ hasText: "the disk is full" })).toHaveCount(1);
  await expect(log).not.toContainText("begun at");
  await hasNoViolationsInLooks(page, "comparison");

  // Choosing a task of the run keeps the comparison.
  await page.getByTestId("task-row").first().getByRole("button").first().click();
  await expect(page).toHaveURL(/task=.*compare=last/);
  await expect(row("State")).toBeVisible();
  await panel.getByLabel("Compare with").selectOption(first);
  await expect(page).toHaveURL(new RegExp(`compare=${first}`));
  await expect(panel.getByRole("link", { name: "The other run" })).toHaveAttribute("href", new RegExp(first));
  await panel.getByRole("link", { name: "Close the comparison" }).click();
  await expect(panel).toHaveCount(0);

  await page.goto(`/runs/${first}?compare=last`);
  await expect(panel).toContainText("No earlier run of this schedule has succeeded.");
});

test("of long logs the first lines are compared, and the page says what is left out", async ({ page, server, admin }) => {
  deploy(
    server,
    "long-winded",
    `
module: long-winded
schedules:
  long-winded: { when: "0 0 1 1 *", task: { target: { command: { script: "echo ran at $(date +%s%N); seq 1 1500" } } } }
`,
  );
  const first = await settled(server, "long-winded");
  const second = await settled(server, "long-winded");
  await page.goto(`/runs/${second}?compare=${first}`);
  await signIn(page, admin);
  const panel = page.getByRole("region", { name: "Comparison", exact: true });
  await expect(panel).toContainText("The first 1000 lines of each log are compared; both runs wrote more.");
  const log = panel.getByRole("region", { name: "Differences of the log" });
  await expect(log.locator('[data-side="gone"]')).toHaveCount(1);
  await expect(log.locator('[data-side="new"]')).toHaveCount(1);
  await expect(log).toContainText("997 common lines");
});

test("the run of a deleted schedule links only to what can still be opened", async ({ page, server, admin }) => {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ name: "outlived", timing: { expressions: ["@yearly"] }, task })]);
  const id = await settled(server, "outlived");
  const { schedule } = await server.ask<{ schedule: { id: string } }>(`{ schedule(name: "outlived") { id } }`, {});
  await server.ask(`mutation ($id: UUID!) { deleteSchedule(id: $id) { __typename } }`, schedule);
  await page.goto(`/ns/default/runs/${id}`);
  await signIn(page, admin);
  const workflow = page.locator(".fact").filter({ hasText: "Workflow" });
  await expect(workflow).toContainText("outlived version 1 deleted");
  await expect(workflow.getByRole("link")).toHaveCount(0);
  await page.getByRole("heading", { level: 1 }).getByRole("link", { name: "deleted" }).click();
  await expect(page).toHaveURL(/\/ns\/default\/schedules\?deleted=yes/);
  await expect(page.getByTestId("deleted-row").filter({ hasText: "outlived" })).toBeVisible();
});
