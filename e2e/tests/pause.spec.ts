import type { Page } from "@playwright/test";

import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: pause
schedules:
  to-be-paused:
    when: "* * * * * *"
    task: { target: { noop: {} } }
  witness:
    when: "* * * * * *"
    task: { target: { noop: {} } }
`;

/** The instants in the ledger, newest first. */
const ledger = (page: Page) =>
  page
    .getByTestId("ledger-row")
    .evaluateAll((rows) =>
      rows.map((row) => row.querySelector("time")?.getAttribute("datetime") ?? ""),
    );

test("a schedule that is paused with a reason does not fire again", async ({
  page,
  context,
  server,
  admin,
}) => {
  deploy(server, "pause", MODULE);
  await page.goto("/schedules");
  await signIn(page, admin);
  await page.getByRole("link", { name: "to-be-paused" }).click();
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();

  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  await dialog.getByLabel("Reason").fill("the database moves tonight");
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByTestId("schedule-state")).toHaveAttribute("data-state", "paused");
  await expect(page.getByText("the database moves tonight")).toBeVisible();

  // Time is told by another schedule that goes on: three more of its fires are three more instants
  // at which this one would have fired.
  const other = await context.newPage();
  await other.goto("/schedules");
  await other.getByRole("link", { name: "witness" }).click();
  const passes = async (instants: number) => {
    const newest = (await ledger(other))[0] ?? "";
    await expect
      .poll(async () => (await ledger(other)).filter((instant) => instant > newest).length)
      .toBeGreaterThanOrEqual(instants);
  };
  await expect(other.getByTestId("ledger-row").first()).toBeVisible();
  await passes(1);
  await page.reload();
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();
  const before = await ledger(page);
  await passes(3);
  await page.reload();
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();
  expect(await ledger(page)).toEqual(before);

  // Resumed, it fires again.
  await page.getByRole("button", { name: "Resume" }).click();
  const resume = page.getByRole("dialog", { name: "Resume schedule" });
  await resume.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByTestId("schedule-state")).toHaveAttribute("data-state", "active");
  await expect.poll(async () => (await ledger(page))[0]).not.toBe(before[0]);
});
