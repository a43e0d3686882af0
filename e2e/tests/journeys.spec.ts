import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { Clicks } from "../support/clicks.ts";
import { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

/**
 * Fifty schedules with one tag, two that collide, one that fails and one whose fires are skipped.
 */
const FIFTY = Array.from({ length: 50 }, (_, index) => `  fleet-${index}: { when: "0 3 * * *", tags: [fleet], task: { target: { noop: {} } } }`);
const MODULE = `
module: journeys
schedules:
  breaks:
    when: "*/2 * * * * *"
    task: { target: { command: { script: "echo no; exit 3" } } }
  overlaps:
    when: "* * * * * *"
    task: { target: { command: { script: "sleep 3" } } }
${FIFTY.join("\n")}
`;

let server: Server;
let page: Page;

test.beforeEach(async ({ page: fresh }) => {
  page = fresh;
  server = await Server.start();
  deploy(server, "journeys", MODULE);
  await page.goto(server.url);
  await signIn(page, server.addPerson("ada", "admin"));
});

test.afterEach(async () => {
  // The page may still be loading parts of the console.
  await page.close();
  await server.stop();
});

/** Creates a schedule by hand, which no module owns. */
function create(name: string, expression: string, namespace = "default"): void {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ namespace, name, timing: { expressions: [expression] }, task })]);
}

test("why a job failed is found, and it runs again, in 3 clicks", async () => {
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Log of the last run of breaks" }));
  await expect(page.getByText("exited with code 3").first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Log" }).getByText("no", { exact: true })).toBeVisible();
  await clicks.on(page.getByRole("button", { name: "Run again" }));
  await expect(page.getByTestId("new-run")).toBeVisible();
  expect(clicks.count).toBeLessThanOrEqual(3);
});

test("why a fire did not happen is found from the overview in 2 clicks", async () => {
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Ledger", exact: true }));
  const reasons = page.getByRole("list", { name: "By reason" });
  await clicks.on(reasons.getByRole("link", { name: /another run was alive/ }));
  const row = page.getByTestId("ledger-row").first();
  await expect(row).toContainText("overlaps");
  await expect(row).toContainText(/run .* was (still )?running/);
  expect(clicks.count).toBeLessThanOrEqual(2);
});

test("fifty schedules are paused for maintenance with a reason and an end in 6 clicks", async () => {
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Schedules", exact: true }));
  await page.getByLabel("Search schedules").fill("tag:fleet");
  const rows = page.getByTestId("schedule-row");
  await expect(rows).toHaveCount(50);
  await clicks.on(page.getByLabel("Select all on this page"));
  await clicks.on(page.getByRole("region", { name: "Actions for the selected schedules" }).getByRole("button", { name: "Pause" }));
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("the database moves");
  await dialog.getByLabel("Until").fill("2030-01-01T06:00");
  await clicks.on(dialog.getByRole("button", { name: "Pause 50 schedules" }));
  await expect(rows.and(page.locator("[data-state=paused]"))).toHaveCount(50);
  expect(clicks.count).toBeLessThanOrEqual(6);
});

test("next week's load is seen and a collision spread in 4 clicks", async () => {
  // The namespace contains only these schedules, so its busiest hour is that of the collision.
  server.cli(["namespace", "create", "reports"]);
  create("report", "0 5 * * *", "reports");
  create("summary", "0 5 * * *", "reports");
  await page.goto(`${server.url}/ns/reports`);
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Upcoming", exact: true }));
  const collision = page.getByTestId("collision-row").filter({ hasText: "summary" });
  await clicks.on(collision.getByRole("link", { name: "Spread: move summary to a quieter minute" }));
  await clicks.on(page.getByRole("button", { name: /^Use H 5/ }));
  await clicks.on(page.getByRole("button", { name: "Save changes" }));
  await expect(page.getByRole("heading", { name: "summary" })).toBeVisible();
  expect(clicks.count).toBeLessThanOrEqual(4);
});

test("who changed a schedule is seen, and it is rolled back, in 4 clicks", async () => {
  create("nightly", "30 2 * * *");
  server.cli(["change", "nightly", JSON.stringify({ timing: { expressions: ["30 4 * * *"] } })]);
  await page.goto(`${server.url}/schedules?q=name:nightly`);
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "nightly" }));
  const tabs = page.getByRole("navigation", { name: "Parts of the schedule" });
  await clicks.on(tabs.getByRole("link", { name: "Versions" }));
  const first = page.getByRole("row", { name: /^1 / });
  await expect(first).toBeVisible();
  await clicks.on(first.getByRole("button", { name: "Roll back to this version" }));
  await expect(page.getByRole("dialog").getByTestId("definition-effect")).toContainText(/next 30 days/);
  await clicks.on(page.getByRole("dialog").getByRole("button", { name: "Roll back" }));
  await expect(page.getByRole("row", { name: /^3 / })).toBeVisible();
  expect(clicks.count).toBeLessThanOrEqual(4);
});

test("a schedule in the hour that the clocks skip is created with the right choice, and no fold is opened", async () => {
  await page.goto(`${server.url}/schedules/new`);
  await page.getByLabel("Expression 1").fill("30 2 * * *");
  await page.getByLabel("Time zone", { exact: true }).fill("Europe/Berlin");
  const warnings = page.getByRole("list", { name: "Warnings" });
  const gap = warnings.getByRole("group", { name: "When the clock skips the time" });
  await gap.getByRole("button", { name: "Leave it out" }).click();
  await expect(warnings).toContainText("it does not fire then");
  await page.getByLabel("Name", { exact: true }).fill("gap");
  await page.getByLabel("Script").fill("true");
  await page.getByRole("button", { name: "Create schedule" }).click();
  await expect(page.getByRole("heading", { name: "gap", exact: true })).toBeVisible();
  const tabs = page.getByRole("navigation", { name: "Parts of the schedule" });
  await tabs.getByRole("link", { name: "Definition" }).click();
  await expect(page.getByText(/left out|skip/i).first()).toBeVisible();
});

test("a run that takes longer than usual says so on the overview and on its own page", async () => {
  const gate = join(server.folder, "low-water");
  const script = `while test -e ${gate}; do sleep 0.1; done`;
  const tide = `tide: { when: "* * * * * *", task: { target: { command: { script: "${script}" } } } }`;
  deploy(server, "tides", `module: tides\nschedules:\n  ${tide}\n`);
  // With fewer than five successful runs there is no usual duration.
  const query = `{ runs(search: "schedule:tide state:succeeded") { totalCount } }`;
  const succeeded = async () => (await server.ask<{ runs: { totalCount: number } }>(query, {})).runs.totalCount;
  await expect.poll(succeeded).toBeGreaterThan(5);
  writeFileSync(gate, "");
  await page.goto(server.url);
  const live = page.getByTestId("live-run").filter({ hasText: "tide" });
  await expect(live).toContainText(/\d× its usual \d/);
  await live.getByRole("link", { name: "tide" }).click();
  const forecast = page.getByTestId("forecast");
  await expect(forecast).toContainText(/\d× its usual \d/);
  const rule = forecast.getByRole("link", { name: "Alert me" });
  await expect(rule).toHaveAttribute("href", /on=slow%2Crecovered&search=schedule%3A%22tide%22$/);
  rmSync(gate);
  await expect(page.getByTestId("run-state")).toHaveAttribute("data-state", "succeeded");
  await expect(forecast).toHaveCount(0);
});

test("the slots of a schedule are accounted for", async () => {
  await page.goto(`${server.url}/schedules?q=name:overlaps`);
  await page.getByRole("link", { name: "overlaps" }).click();
  const slots = page.getByTestId("slots");
  await expect(slots).toContainText("because of a blocking run");
  await expect(slots).toContainText("runs would fit in an interval of");
});
