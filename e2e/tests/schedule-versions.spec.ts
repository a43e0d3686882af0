import type { Page } from "@playwright/test";

import type { Server } from "../support/server.ts";
import { expect, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const module = (when: string) =>
  `module: versions\nschedules:\n  twice-told: { when: "${when}", task: { target: { noop: {} } } }\n`;

test("an earlier version says what it would change if it applied again", async ({ page, server, admin }) => {
  deploy(server, "versions", module("0 2 * * *"));
  deploy(server, "versions", module("0 3 * * *"));
  await page.goto("/schedules?q=name:twice-told");
  await signIn(page, admin);
  await page.getByRole("link", { name: "twice-told" }).click();
  await openTab(page, "Versions");
  const changed = (version: number) =>
    page.getByRole("row", { name: new RegExp(`^${version} `) }).getByRole("button", { name: "What changed" });
  const dialog = page.getByRole("dialog", { name: "What changed" });
  await changed(1).click();
  const again = dialog.getByRole("region", { name: "If this version applied again" });
  await expect(again).toContainText(/In the next 30 days \d+ fires are new and \d+ are gone/);
  await expect(again.getByRole("list", { name: "New" })).toContainText("02:00");
  await page.keyboard.press("Escape");

  // The current version changes nothing.
  await changed(2).click();
  await expect(dialog).toContainText("0 3 * * *");
  await expect(again).toHaveCount(0);
});

interface Created {
  createSchedule: { schedule: { id: string } };
}

/** Creates a schedule that fires once, waits for that fire, and then edits the note until it has this version. */
async function firedThenEdited(server: Server, name: string, last: number): Promise<string> {
  const create = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }`;
  const timing = { expressions: ["* * * * * *"], zone: "UTC" };
  const input = { name, timing, maxFires: 1, task: { target: { noop: { note: "" } } } };
  const { id } = (await server.ask<Created>(create, { input })).createSchedule.schedule;
  const fires = `query ($id: UUID!) { fires(scheduleId: $id) { nodes { verdict } } }`;
  const verdicts = async () => {
    const found = await server.ask<{ fires: { nodes: { verdict: string }[] } }>(fires, { id });
    return found.fires.nodes.map((fire) => fire.verdict);
  };
  await expect.poll(verdicts).toEqual(["STARTED"]);
  const update = `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { schedule { version } } }`;
  for (let version = 1; version < last; version++) {
    await server.ask(update, { input: { id, expectedVersion: version, note: `note ${version + 1}` } });
  }
  return id;
}

const numbers = (page: Page) =>
  page.getByRole("region", { name: "Versions" }).getByRole("rowheader").allInnerTexts();

const countDown = (from: number, to: number) =>
  Array.from({ length: from - to + 1 }, (_, place) => String(from - place));

test("all versions are listed page by page, compared, and rolled back to", async ({ page, server, admin }) => {
  const id = await firedThenEdited(server, "edited-often", 45);
  await page.goto(`/ns/default/schedules/${id}?tab=versions`);
  await signIn(page, admin);
  await expect.poll(() => numbers(page)).toEqual(countDown(45, 26));
  const row = (version: number) => page.getByRole("row", { name: new RegExp(`^${version} `) });
  const pages = page.getByRole("navigation", { name: "Pages of versions" });
  await expect(pages.getByRole("button", { name: "Previous" })).toBeDisabled();

  // The last version of a page is compared with the first one of the next page.
  await row(26).getByRole("button", { name: "What changed" }).click();
  const dialog = page.getByRole("dialog", { name: "What changed" });
  await expect(dialog).toContainText("note 25");
  await expect(dialog).toContainText("note 26");
  await page.keyboard.press("Escape");

  await pages.getByRole("button", { name: "Next" }).click();
  await expect.poll(() => numbers(page)).toEqual(countDown(25, 6));
  await pages.getByRole("button", { name: "Next" }).click();
  await expect.poll(() => numbers(page)).toEqual(countDown(5, 1));
  await expect(pages.getByRole("button", { name: "Next" })).toBeDisabled();
  // The address holds the page.
  await page.reload();
  await expect.poll(() => numbers(page)).toEqual(countDown(5, 1));
  await row(3).getByRole("button", { name: "Roll back to this version" }).click();
  const back = page.getByRole("dialog", { name: "Roll back" });
  await expect(back).toContainText("note 45");
  await expect(back).toContainText("note 3");
  await back.getByRole("button", { name: "Roll back" }).click();
  await expect(back).toHaveCount(0);
  // One page after the other, and the newest one has the rollback. Until the page knows of a new version, it leads
  // straight to the newest page.
  await page.reload();
  for (const shown of [countDown(25, 6), countDown(45, 26), countDown(46, 27)]) {
    await pages.getByRole("button", { name: "Previous" }).click();
    await expect.poll(() => numbers(page)).toEqual(shown);
  }
  await expect(row(46)).toContainText("rolled back to version 3");
});

test("a fire is explained with the rules of a version that is no longer among the latest", async ({
  page,
  server,
  admin,
}) => {
  const id = await firedThenEdited(server, "fired-long-ago", 23);
  await page.goto(`/ns/default/schedules/${id}`);
  await signIn(page, admin);
  await page.getByRole("button", { name: "Explain" }).last().click();
  const rules = page.getByRole("dialog").getByTestId("rules");
  await expect(rules).toContainText("Version 1; now version 23 applies.");
  await expect(rules).toContainText("* * * * * * in UTC");
});

test("all versions of a workflow are listed page by page", async ({ page, server, admin }) => {
  const create = `mutation ($input: CreateWorkflowInput!) { createWorkflow(input: $input) { workflow { id } } }`;
  const tasks = (note: string) => [{ name: "only", target: { noop: { note } } }];
  const made = await server.ask<{ createWorkflow: { workflow: { id: string } } }>(create, {
    input: { name: "rewritten", tasks: tasks("text 1") },
  });
  const { id } = made.createWorkflow.workflow;
  const update = `mutation ($input: UpdateWorkflowInput!) { updateWorkflow(input: $input) { workflow { version } } }`;
  for (let version = 1; version < 23; version++) {
    await server.ask(update, { input: { id, expectedVersion: version, tasks: tasks(`text ${version + 1}`) } });
  }
  await page.goto(`/ns/default/workflows/${id}?tab=versions`);
  await signIn(page, admin);
  const version = (number: number) => page.locator("details.version", { hasText: `Version ${number} by` });
  await expect(page.locator("details.version")).toHaveCount(20);
  await version(4).locator("summary").click();
  await expect(version(4)).toContainText("text 3");
  await page.getByRole("navigation", { name: "Pages of versions" }).getByRole("button", { name: "Next" }).click();
  await expect(page.locator("details.version")).toHaveCount(3);
  await version(1).locator("summary").click();
  await expect(version(1)).toContainText("The oldest version that is kept.");
});
