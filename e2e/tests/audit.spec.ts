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
  await page.getByLabel("Subject").fill("audited");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/subject=audited/);
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

  await page.getByRole("combobox", { name: "Kind" }).selectOption("secret");
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

test("who may not read the audit log is told so", async ({ page, server }) => {
  await page.goto("/audit");
  await signIn(page, server.addPerson("vivian", "viewer"));
  await expect(page.getByRole("alert").first()).toContainText("Ask an administrator");
});
