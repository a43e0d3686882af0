import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, openTab, signIn, test } from "../support/test.ts";

test("a schedule goes from the form to runs that are watched while they work", async ({
  page,
  server,
  admin,
}) => {
  await page.goto("/schedules/new");
  await signIn(page, admin);

  // The preview follows the typing: a bad expression is explained, a good one shows its fires.
  const expression = page.getByLabel("Expression 1");
  const preview = page.getByTestId("preview").locator("tbody tr");
  const description = page.getByTestId("preview-description");
  await expression.fill("0 25 * * *");
  await expect(expression).toHaveAttribute("aria-invalid", "true");
  await expect(description).toContainText("cannot be read");
  await expect(page.locator("#expression-1-error")).toContainText("25");

  await expression.fill("0 9 * * *");
  await expect(expression).not.toHaveAttribute("aria-invalid", "true");
  await expect(preview.first()).toContainText("09:00");
  const daily = await description.innerText();

  // Another zone is another clock, where the instants are the same too.
  await expression.fill("0 * * * *");
  await expect(preview.first()).toContainText("+00:00");
  const zone = page.getByLabel("Time zone", { exact: true });
  await zone.fill("Asia/Tokyo");
  await expect(preview.first()).toContainText("+09:00");
  await zone.fill("UTC");

  await expression.fill("* * * * * *");
  await expect(preview.first()).not.toContainText("+09:00");
  await expect(description).not.toHaveText(daily);

  // The command waits for a file: the first run works until this test says so.
  const gate = join(server.folder, "gate");
  await page.getByLabel("Name", { exact: true }).fill("every-second");
  await page.getByRole("radio", { name: "Command" }).check();
  await page
    .getByLabel("Script")
    .fill(`echo waiting for the gate; until [ -e ${gate} ]; do sleep 0.1; done; echo the gate is open`);
  await page.getByRole("button", { name: "Create schedule" }).click();

  await expect(page.getByRole("heading", { name: "every-second" })).toBeVisible();
  await expect(page.getByTestId("connection")).toHaveAttribute("data-state", "live");
  // While it works further fires are skipped and say why.
  await expect(
    page.getByTestId("ledger-row").filter({ hasText: /skipped/i }).first(),
  ).toBeVisible();

  // Its run is on the next tab, and its lines are a click away.
  await openTab(page, "Runs");
  const runs = page.getByTestId("run-row");
  const running = runs.and(page.locator("[data-state=running]"));
  await expect(running).toHaveCount(1);
  await running.getByRole("link").first().click();
  const state = page.getByTestId("run-state");
  const lines = page.getByTestId("log-line");
  await expect(lines.filter({ hasText: "waiting for the gate" })).toBeVisible();
  await expect(state).toHaveAttribute("data-state", "running");
  await expect(lines.filter({ hasText: "the gate is open" })).toHaveCount(0);

  // It settles before the eyes of the operator.
  writeFileSync(gate, "");
  await expect(lines.filter({ hasText: "the gate is open" })).toBeVisible();
  await expect(state).toHaveAttribute("data-state", "succeeded");

  // And so do the next ones, on the schedule's page, without a reload.
  await page.goBack();
  await expect(runs.and(page.locator("[data-state=succeeded]")).nth(2)).toBeVisible();
});
