import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: activity
schedules:
  each-second: { when: "* * * * * *", task: { target: { noop: {} } } }
`;

test("the last days are strips, and a day narrows the ledger to it", async ({ page, server, admin }) => {
  deploy(server, "activity", MODULE);
  await page.goto("/schedules?q=name:each-second");
  await signIn(page, admin);
  await page.getByRole("link", { name: "each-second" }).click();
  const rows = page.getByTestId("ledger-row");
  await expect(rows.filter({ hasText: /succeeded/i }).first()).toBeVisible();

  // The days are counted once a minute, so the page is opened again.
  const strips = page.getByTestId("strip");
  await expect(async () => {
    await page.reload();
    await expect(strips).toHaveCount(7, { timeout: 2_000 });
  }).toPass();
  const [today, yesterday] = [strips.nth(0), strips.nth(1)];
  await expect(today).toContainText(/\d succeeded/);
  await expect(today.getByRole("img")).toHaveAccessibleName(/: .*\d succeeded/);
  await expect(yesterday).toContainText("nothing");

  // Nothing has happened yesterday.
  await yesterday.getByRole("button").click();
  await expect(yesterday.getByRole("button")).toHaveAttribute("aria-pressed", "true");
  await expect(page).toHaveURL(/from=.+until=/);
  await expect(page.getByText("No such fire")).toBeVisible();
  const range = page.getByTestId("ledger-range");
  await expect(range).toContainText(/Only fires from .+ until /);
  await page.reload();
  await expect(page.getByText("No such fire")).toBeVisible();

  // All of it has happened today, and today has no end yet.
  await today.getByRole("button").click();
  await expect(rows.first()).toBeVisible();
  await expect(page).not.toHaveURL(/until=/);
  await range.getByRole("button", { name: "All days" }).click();
  await expect(range).toHaveCount(0);
  await expect(page).not.toHaveURL(/from=/);
  await expect(rows.first()).toBeVisible();
});
