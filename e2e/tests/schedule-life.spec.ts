import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

test("a schedule goes from the form to runs that are watched while they work", async ({
  page,
  server,
  admin,
}) => {
  await page.goto("/schedules/new");
  await signIn(page, admin);

  // The preview is updated during typing: a bad expression gets an error, a good one shows its
  // fires.
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

  // The times change with the zone, even though the instants are the same.
  await expression.fill("0 * * * *");
  await expect(preview.first()).toContainText("+00:00");
  const zone = page.getByLabel("Time zone", { exact: true });
  await zone.fill("Asia/Tokyo");
  await expect(preview.first()).toContainText("+09:00");
  await zone.fill("UTC");

  await expression.fill("* * * * * *");
  await expect(preview.first()).not.toContainText("+09:00");
  await expect(description).not.toHaveText(daily);

  // The command waits for a file, so the first run continues until this test creates the file.
  const gate = join(server.folder, "gate");
  await page.getByLabel("Name", { exact: true }).fill("every-second");
  await page.getByRole("radio", { name: "Command" }).check();
  await page
    .getByLabel("Script")
    .fill(`echo waiting for the gate; until [ -e ${gate} ]; do sleep 0.1; done; echo the gate is open`);
  await page.getByRole("button", { name: "Create schedule" }).click();

  await expect(page.getByRole("heading", { name: "every-second" })).toBeVisible();
  await expect(page.getByTestId("connection")).toHaveAttribute("data-state", "live");
  // While the run continues, further fires are skipped, with the reason.
  await expect(
    page.getByTestId("ledger-row").filter({ hasText: /skipped/i }).first(),
  ).toBeVisible();

  // The run is listed on the next tab, and a click shows its log.
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

  // The run settles while its page is open.
  writeFileSync(gate, "");
  await expect(lines.filter({ hasText: "the gate is open" })).toBeVisible();
  await expect(state).toHaveAttribute("data-state", "succeeded");

  // On the schedule's page, the next runs settle as well, without a reload.
  await page.goBack();
  await expect(runs.and(page.locator("[data-state=succeeded]")).nth(2)).toBeVisible();
  server.cli(["pause", "every-second", "--reason", "its test is over"]);
});

test("a deleted schedule is found in a list of its own and restored", async ({ page, server, admin }) => {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ name: "thrown-away", timing: { expressions: ["@daily"] }, task })]);
  await page.goto("/schedules?q=name:thrown-away");
  await signIn(page, admin);
  await page.getByLabel("Choose thrown-away").click();
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  await bar.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 1 schedule" }).click();
  await expect(page.getByText("No schedule matches")).toBeVisible();

  // The notice undoes the deletion.
  await page.getByRole("button", { name: "Undo" }).click();
  const row = page.getByTestId("schedule-row").filter({ hasText: "thrown-away" });
  await expect(row).toBeVisible();

  // Other pages keep links to the schedule: its address says where it is once it is deleted.
  const address = (await row.getByRole("link", { name: "thrown-away", exact: true }).getAttribute("href"))!;
  expect(address).toContain("/ns/default/");
  // Later, the schedule can be restored from the list of deleted schedules.
  await page.getByLabel("Choose thrown-away").click();
  await bar.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 1 schedule" }).click();
  await expect(row).toHaveCount(0);
  const gone = page.getByTestId("gone");
  // Each namespace has a list of its own, and the address does not say which one it is.
  await page.goto(address.replace("/ns/default/", "/all/"));
  await expect(gone).toContainText("can be restored from the deleted schedules of its namespace.");
  await expect(gone.getByRole("link")).toHaveCount(0);
  await page.goto(address);
  await gone.getByRole("link", { name: "deleted schedules" }).click();
  await expect(page).toHaveURL(/schedules\?deleted=yes/);
  await page.goto("/schedules?q=name:thrown-away");
  await page.getByRole("link", { name: "Deleted", exact: true }).click();
  await expect(page).toHaveURL(/schedules\?deleted=yes/);
  await page.getByRole("button", { name: "Restore thrown-away" }).click();
  const dialog = page.getByRole("dialog", { name: "Restore schedule" });
  await dialog.getByLabel("Name").fill("brought-back");
  await dialog.getByRole("button", { name: "Restore" }).click();
  await expect(page.getByTestId("deleted-row").filter({ hasText: "thrown-away" })).toHaveCount(0);
  await page.getByRole("link", { name: "All schedules" }).click();
  await expect(page.getByTestId("schedule-row").filter({ hasText: "brought-back" })).toBeVisible();
});

test("the list of deleted schedules follows a deletion that is taken back", async ({ page, server, admin }) => {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ name: "taken-back", timing: { expressions: ["@daily"] }, task })]);
  await page.goto("/schedules?q=name:taken-back");
  await signIn(page, admin);
  await page.getByLabel("Choose taken-back").click();
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  await bar.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 1 schedule" }).click();
  await page.getByRole("link", { name: "Deleted schedules" }).click();
  const row = page.getByTestId("deleted-row").filter({ hasText: "taken-back" });
  await expect(row).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(row).toHaveCount(0, { timeout: 15_000 });
});

test("the list of deleted schedules has a way back from its second page", async ({ page, server, admin }) => {
  const head = "module: bin\nnamespace: bin\n";
  const line = (at: number) => `  bin-${at}: { when: "0 0 1 1 *", task: { target: { noop: {} } } }\n`;
  server.cli(["namespace", "create", "bin"]);
  deploy(server, "bin", `${head}schedules:\n${Array.from({ length: 51 }, (_, at) => line(at)).join("")}`);
  deploy(server, "bin", head);
  await page.goto("/ns/bin/schedules?deleted=yes");
  await signIn(page, admin);
  const rows = page.getByTestId("deleted-row");
  await expect(rows).toHaveCount(50);
  const pages = page.getByRole("navigation", { name: "Pages of deleted schedules" });
  await expect(pages.getByRole("button", { name: "Previous" })).toBeDisabled();
  await pages.getByRole("button", { name: "Next" }).click();
  await expect(page).toHaveURL(/deleted=yes&after=/);
  await expect(rows).toHaveCount(1);
  await pages.getByRole("button", { name: "Previous" }).click();
  await expect(page).toHaveURL(/deleted=yes$/);
  await expect(rows).toHaveCount(50);
});

test("tags and the zone of several schedules are changed at once, after a preview", async ({ page, server, admin }) => {
  const task = { target: { noop: {} } };
  for (const name of ["edited-one", "edited-two"]) {
    server.cli(["create", JSON.stringify({ name, timing: { expressions: ["@daily"] }, task })]);
  }
  await page.goto("/schedules?q=name:edited");
  await signIn(page, admin);
  const rows = page.getByTestId("schedule-row");
  await expect(rows).toHaveCount(2);
  await page.getByLabel("Select all on this page").click();
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  await bar.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Preview" }).click();
  await expect(dialog).toContainText("Enter what is to change.");
  await dialog.getByLabel("Add tags").fill("moved, eu");
  await dialog.getByLabel("Time zone").fill("Europe/Berlin");
  await dialog.getByRole("button", { name: "Preview" }).click();
  await expect(dialog).toContainText("Edit 2 schedules: edited-one, edited-two.");
  // A different change requires a new preview.
  await dialog.getByLabel("Priority").fill("10");
  await dialog.getByRole("button", { name: "Preview" }).click();
  await dialog.getByRole("button", { name: "Edit 2 schedules" }).click();
  for (const row of await rows.all()) {
    await expect(row).toContainText("moved");
    await expect(row).toContainText("Europe/Berlin");
  }
});
