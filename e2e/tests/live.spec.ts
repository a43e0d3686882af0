import type { Page } from "@playwright/test";

import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: live
namespace: live
alert_channels:
  hook: { kind: webhook, url: "https://hooks.invalid/" }
alert_rules:
  breaks: { on: [failed], channels: [hook] }
schedules:
  blocked:
    when: "* * * * * *"
    task: { target: { command: { script: "sleep 20" } } }
  breaks:
    when: "0 0 1 1 *"
    task: { target: { command: { script: "exit 3" } } }
  tide:
    when: "0 * * * *"
    task: { target: { command: { script: "sleep 1" } } }
`;

/** Lets nothing be polled any more, so that what changes on the page comes from events. */
async function withoutPolls(page: Page) {
  await page.addInitScript(() => {
    const every = window.setInterval.bind(window);
    // The socket looks after its connection every second.
    const unlessPoll = (work: TimerHandler, period?: number) => (Number(period) > 2_000 ? 0 : every(work, period));
    window.setInterval = unlessPoll as typeof window.setInterval;
  });
}

test.beforeEach(async ({ page, server, admin }) => {
  if (!server.cli(["namespace", "list"]).includes("live")) server.cli(["namespace", "create", "live"]);
  deploy(server, "live", MODULE);
  await withoutPolls(page);
  await page.goto("/ns/live/");
  await signIn(page, admin);
});

test("fires that never run appear in the ledger as they are decided, and wait while lists are held", async ({
  page,
  server,
}) => {
  await page.goto("/ns/live/ledger?verdict=skipped&q=name:blocked");
  const newest = page.getByTestId("ledger-row").first();
  const shown = () => newest.getAttribute("data-id");
  await expect(newest).toContainText("blocked");
  for (let turn = 0; turn < 3; turn += 1) {
    const before = await shown();
    await expect.poll(shown).not.toBe(before);
  }
  await page.getByRole("button", { name: "Hold" }).click();
  const held = page.locator(".hold");
  await expect(held).toContainText("new");
  const before = await shown();
  await expect(held).toContainText(/([3-9]|\d\d) new/);
  expect(await shown()).toBe(before);
  await held.click();
  await expect.poll(shown).not.toBe(before);
  server.cli(["pause", "blocked", "--namespace", "live", "--reason", "its test is over"]);
});

test("an alert appears on its page and in the rail when it begins", async ({ page, server }) => {
  await page.goto("/ns/live/alerts");
  const rail = page.getByRole("navigation", { name: "Main" });
  await expect(page.getByText("All is quiet")).toBeVisible();
  await expect(rail.getByRole("link", { name: "Alerts", exact: true })).toBeVisible();
  server.cli(["trigger", "breaks", "--namespace", "live"]);
  await expect(page.getByTestId("alert-row").filter({ hasText: "breaks" })).toBeVisible();
  await expect(rail.getByRole("link", { name: "Alerts 1 open" })).toBeVisible();
});

test("a backfill's progress moves as its runs end", async ({ page }) => {
  await page.goto("/ns/live/backfills/new?schedule=tide");
  await page.getByRole("button", { name: "Last week" }).click();
  await expect(page.getByTestId("would-run")).toContainText("would run");
  await page.getByLabel("Reason").fill("the tide was missed");
  await page.getByRole("button", { name: "Start backfill" }).click();
  await expect(page.getByRole("heading", { name: "Backfill of tide" })).toBeVisible();
  const progress = page.getByRole("region", { name: "Progress" });
  await expect(progress).toContainText(/[1-9]\d* succeeded/);
  const succeeded = async () => Number(/(\d+) succeeded/.exec(await progress.innerText())?.[1] ?? 0);
  const before = await succeeded();
  await expect.poll(succeeded).toBeGreaterThan(before);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel backfill" });
  await dialog.getByLabel("Reason").fill("once is enough");
  await dialog.getByRole("button", { name: "Cancel backfill" }).click();
  await expect(page.locator(".page-head")).toContainText("Cancelled");
});

test("what the user does is shown while lists are held", async ({ page }) => {
  await page.goto("/ns/live/schedules?q=schedule:tide");
  await page.getByRole("link", { name: "tide", exact: true }).click();
  const state = page.getByTestId("schedule-state");
  await expect(state).toHaveAttribute("data-state", "active");
  await page.getByRole("button", { name: "Hold" }).click();
  const held = page.locator(".hold");
  await expect(held).toHaveAttribute("aria-pressed", "true");

  await page.getByRole("button", { name: "Pause" }).click();
  const pause = page.getByRole("dialog", { name: "Pause schedule" });
  await pause.getByLabel("Reason").fill("low water");
  await pause.getByRole("button", { name: "Pause" }).click();
  await expect(state).toHaveAttribute("data-state", "paused");
  await page.getByRole("button", { name: "Resume" }).click();
  const resume = page.getByRole("dialog", { name: "Resume schedule" });
  await resume.getByRole("button", { name: "Resume" }).click();
  await expect(state).toHaveAttribute("data-state", "active");
  await expect(held).toHaveAttribute("aria-pressed", "true");
});
