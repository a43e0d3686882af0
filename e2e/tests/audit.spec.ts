import { readFileSync } from "node:fs";

import { expect, openRanges, signIn, test } from "../support/test.ts";
import { hasNoViolations } from "../support/axe.ts";

test("the audit log is filtered by its address, shows what changed, and is exported", async ({ page, server, admin }) => {
  const input = {
    name: "audited",
    timing: { expressions: ["0 4 * * *"], zone: "UTC" },
    task: { target: { noop: { note: "" } } },
  };
  const create = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id version } } }`;
  const made = await server.ask<{ createSchedule: { schedule: { id: string; version: number } } }>(create, { input });
  const { id, version } = made.createSchedule.schedule;
  const update = `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { schedule { id } } }`;
  await server.ask(update, { input: { id, expectedVersion: version, timing: { expressions: ["30 5 * * *"], zone: "UTC" } } });
  const pause = `mutation ($id: UUID!) { pauseSchedule(id: $id, reason: "the month's end, \\"closed\\"") { schedule { id } } }`;
  await server.ask(pause, { id });

  await page.goto("/audit?kind=schedule");
  await signIn(page, admin);
  const search = page.getByLabel("Search the audit log");
  await expect(search).toHaveValue("kind:schedule");
  await search.fill("kind:schedule audited");
  await expect(page).toHaveURL(/audit\?q=kind/);
  const rows = page.getByTestId("audit-row");
  await expect(rows).toHaveCount(3);
  await expect(rows.first()).toContainText("the month's end");
  const updated = rows.filter({ hasText: "schedule.update" });
  await updated.locator("summary").click();
  await expect(updated).toContainText("0 4 * * *");
  await expect(updated).toContainText("30 5 * * *");
  await hasNoViolations(page, "audit");

  await rows.first().getByRole("link", { name: "schedule.pause" }).click();
  await expect(page).toHaveURL(/action=schedule.pause/);
  await expect(search).toHaveValue("action:schedule.pause kind:schedule audited");
  await expect(rows).toHaveCount(1);
  await page.reload();
  await expect(rows).toHaveCount(1);
  await page.goBack();
  await expect(rows).toHaveCount(3);

  const csv = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export CSV" }).click();
  const text = readFileSync(await (await csv).path(), "utf8");
  expect(text.trim().split("\r\n")).toHaveLength(4);
  expect(text).toContain(`"the month's end, ""closed"""`);
  const json = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export JSON" }).click();
  const events = JSON.parse(readFileSync(await (await json).path(), "utf8")) as { action: string }[];
  expect(events.map((event) => event.action)).toEqual(["schedule.pause", "schedule.update", "schedule.create"]);

  await page.getByRole("button", { name: "Secrets", exact: true }).click();
  await expect(search).toHaveValue("kind:secret");
  await expect(page.getByText("No change fits the filters.")).toBeVisible();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await openRanges(page);
  await page.getByLabel("From", { exact: true }).fill("2020-01-01T00:00");
  await page.getByLabel("Until", { exact: true }).fill("2020-01-02T00:00");
  await expect(page).toHaveURL(/from=.*until=/);
  await expect(page.getByText("Nothing was changed in this range of time.")).toBeVisible();
  await page.getByLabel("Until", { exact: true }).fill("");
  await expect(page).not.toHaveURL(/until=/);
  await expect(rows.first()).toBeVisible();
});

test("a query of the audit log is completed, refused at its place, and kept as a view", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "seen-in-audit"]);
  await page.goto("/all/audit");
  await signIn(page, admin);
  const search = page.getByLabel("Search the audit log");
  const rows = page.getByTestId("audit-row");
  await expect(rows.first()).toBeVisible();
  await search.click();
  await page.keyboard.type("ki");
  await expect(page.getByRole("option", { name: /^kind:/ })).toBeVisible();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("namesp");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await expect(search).toHaveValue("kind:namespace");
  await expect(rows.filter({ hasText: "seen-in-audit" })).toHaveCount(1);
  for (const row of await rows.all()) await expect(row).toContainText("namespace.");

  await search.fill("kind:namespace -actor:cli");
  const mistake = page.getByText("leave the - out", { exact: false });
  await expect(mistake).toBeVisible();
  await expect(search).toHaveAttribute("aria-invalid", "true");
  await expect(page.locator(".pointed mark")).toHaveText("-actor:cli");
  // Earlier results stay until the mistake is corrected.
  await expect(rows.filter({ hasText: "seen-in-audit" })).toHaveCount(1);
  await hasNoViolations(page, "audit with a mistake");
  // A file of the entries that another query found would look like the answer to this one.
  await page.getByRole("button", { name: "Export CSV" }).click();
  await expect(page.locator(".notice[data-state=failed]")).toContainText("leave the - out");
  await page.reload();
  await expect(mistake).toBeVisible();
  await expect(rows).toHaveCount(0);
  await page.getByRole("button", { name: "Remove -actor:cli" }).click();
  await expect(mistake).toHaveCount(0);
  await expect(rows.filter({ hasText: "seen-in-audit" })).toHaveCount(1);

  await page.getByText("Keep this view").click();
  await page.getByLabel("Name of the view").fill("Tenants");
  await page.keyboard.press("Enter");
  await expect(search).toBeFocused();
  const view = page.getByRole("button", { name: "Tenants", exact: true });
  await expect(view).toBeVisible();
  await page.goto("/all/audit");
  await view.click();
  await expect(search).toHaveValue("kind:namespace");
  await page.getByRole("button", { name: "Remove the view Tenants" }).click();
  await expect(page.getByRole("button", { name: "Tenants", exact: true })).toHaveCount(0);
});

test("who may not read the audit log is told so", async ({ page, server }) => {
  await page.goto("/audit");
  await signIn(page, server.addPerson("vivian", "viewer"));
  await expect(page.getByRole("alert").first()).toContainText("Ask an administrator");
});
