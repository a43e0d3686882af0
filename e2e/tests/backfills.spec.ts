import { openDialogHasNoViolations } from "../support/axe.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: backfills
namespace: backfills
schedules:
  tide: { when: "0 * * * *", task: { target: { command: { script: "sleep 2" } } } }
`;

test("a running backfill says when it will end, and how many instants do not run if it is cancelled", async ({
  page,
  server,
  admin,
}) => {
  server.cli(["namespace", "create", "backfills"]);
  deploy(server, "backfills", MODULE);
  // The end is estimated from the last successful runs.
  server.cli(["trigger", "tide", "--namespace", "backfills", "--wait"]);
  await page.goto("/ns/backfills/backfills/new?schedule=tide");
  await signIn(page, admin);
  await page.getByRole("button", { name: "Last week" }).click();
  await expect(page.getByTestId("would-run")).toContainText("would run");
  await page.getByLabel("Context (JSON)").fill("dry");
  await page.getByLabel("Reason").fill("the tide was missed");
  await page.getByRole("button", { name: "Start backfill" }).click();
  await expect(page.getByText("This is not JSON")).toBeVisible();
  await page.getByLabel("Context (JSON)").fill('{ "dry": true }');
  await page.getByRole("button", { name: "Start backfill" }).click();
  await expect(page.getByRole("heading", { name: "Backfill of tide" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Context" })).toContainText('"dry": true');
  const ends = page.locator(".fact").filter({ has: page.getByText("Ends", { exact: true }) });
  await expect(ends).toContainText(/in about \d+ min.*, based on its last \d+ successful runs/);
  const begun = page.getByTestId("backfill-fire").filter({ has: page.getByRole("link", { name: "Run", exact: true }) });
  await expect(begun.first()).toBeVisible();

  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel backfill" });
  await expect(dialog).toContainText(/\d+ instants will not run/);
  await openDialogHasNoViolations(page, "cancelling a backfill");
  await dialog.getByLabel("Reason").fill("once is enough");
  await dialog.getByRole("button", { name: "Cancel backfill" }).click();
  await expect(page.locator(".page-head")).toContainText("Cancelled");
  await expect(ends).toHaveCount(0);

  await page.getByRole("link", { name: "Runs of the window" }).click();
  await expect(page).toHaveURL(/\/ns\/backfills\/runs\?q=schedule.*backfill.*scheduled/);
  await expect(page.getByTestId("run-row").filter({ hasText: "tide" }).first()).toBeVisible();
});
