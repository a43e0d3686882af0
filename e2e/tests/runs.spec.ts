import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

/** Schedules whose runs continue until the file exists. */
const held = (module: string, names: string[], gate: string) =>
  `module: ${module}\nschedules:\n` +
  names
    .map(
      (name) =>
        `  ${name}: { when: "0 4 1 1 *", task: { target: { command: ` +
        `{ script: "until [ -e ${gate} ]; do sleep 0.1; done" } } } }\n`,
    )
    .join("");

test("chosen runs are counted, cancelled with a reason, and run again", async ({
  page,
  server,
  admin,
}) => {
  const gate = join(server.folder, "herd-gate");
  const names = ["herd-one", "herd-two", "herd-three"];
  deploy(server, "herd", held("herd", names, gate));
  for (const name of names) server.cli(["trigger", name]);
  await page.goto("/runs?q=name:herd");
  await signIn(page, admin);
  const rows = page.getByTestId("run-row");
  await expect(rows.and(page.locator("[data-state=running]"))).toHaveCount(3);

  // The newest run is at the top.
  await page.getByLabel("Choose the run of herd-one").click();
  await page.getByLabel("Choose the run of herd-three").click({ modifiers: ["Shift"] });
  const bar = page.getByRole("region", { name: "Actions for the selected runs" });
  await expect(bar).toContainText("3 chosen");
  await bar.getByRole("button", { name: "Cancel runs" }).click();
  const dialog = page.getByRole("dialog", { name: "Bulk action" });
  await expect(dialog).toContainText("Cancel 3 runs");
  await expect(dialog).toContainText("herd-two");
  await dialog.getByLabel("Reason").fill("the herd is lost");
  await dialog.getByRole("button", { name: "Cancel 3 runs" }).click();
  await expect(rows.and(page.locator("[data-state=cancelled]"))).toHaveCount(3);
  await expect(bar).toHaveCount(0);

  await page.getByLabel("Select all on this page").click();
  await bar.getByRole("button", { name: "Run again" }).click();
  await dialog.getByRole("button", { name: "Run again 3 runs" }).click();
  await expect(rows).toHaveCount(6);
  writeFileSync(gate, "");
  await expect(rows.and(page.locator("[data-state=succeeded]"))).toHaveCount(3);
});

test("what has settled is refused, and the dialog says why", async ({ page, server, admin }) => {
  const gate = join(server.folder, "flock-gate");
  writeFileSync(gate, "");
  deploy(server, "flock", held("flock", ["flock"], gate));
  server.cli(["trigger", "flock"]);
  await page.goto("/runs?q=name:flock");
  await signIn(page, admin);
  await expect(page.getByTestId("run-row")).toHaveAttribute("data-state", "succeeded");
  await page.getByLabel("Choose the run of flock").click();
  const bar = page.getByRole("region", { name: "Actions for the selected runs" });
  await bar.getByRole("button", { name: "Cancel runs" }).click();
  const dialog = page.getByRole("dialog", { name: "Bulk action" });
  // The preview says so before the action is tried.
  await expect(dialog.getByRole("list", { name: "Would be refused" })).toContainText("has succeeded already");
  await dialog.getByRole("button", { name: "Cancel 1 run" }).click();
  await expect(dialog.getByRole("list", { name: "Refused", exact: true })).toContainText("has succeeded already");
});

test("a row's own buttons cancel its run after a question, and run it again", async ({
  page,
  server,
  admin,
}) => {
  const gate = join(server.folder, "lone-gate");
  deploy(server, "lone", held("lone", ["lone"], gate));
  server.cli(["trigger", "lone"]);
  await page.goto("/runs?q=schedule:lone");
  await signIn(page, admin);
  const rows = page.getByTestId("run-row");
  const running = rows.and(page.locator("[data-state=running]"));
  await expect(running).toHaveCount(1);
  const cancel = rows.getByRole("button", { name: "Cancel the run of lone" });
  const again = rows.getByRole("button", { name: "Run lone again" });
  await expect(again).toBeDisabled();

  const dialog = page.getByRole("dialog", { name: "Cancel run" });
  await cancel.click();
  await dialog.getByRole("button", { name: "Keep it running" }).click();
  await expect(dialog).toBeHidden();
  await expect(running).toHaveCount(1);
  await cancel.click();
  await dialog.getByRole("button", { name: "Cancel this run" }).click();
  const cancelled = rows.and(page.locator("[data-state=cancelled]"));
  await expect(cancelled).toHaveCount(1);
  await expect(cancel).toBeDisabled();

  await again.click();
  await expect(page.getByRole("link", { name: "Open the run" })).toBeVisible();
  await expect(rows).toHaveCount(2);
  writeFileSync(gate, "");
  const succeeded = rows.and(page.locator("[data-state=succeeded]"));
  await expect(succeeded).toHaveCount(1);
  await succeeded.getByRole("link", { name: "Log of the run of lone" }).click();
  await expect(page).toHaveURL(/\/runs\/[0-9a-f-]{36}$/);
  await expect(page.getByTestId("run-state")).toHaveAttribute("data-state", "succeeded");
});

test("the time that sorts the runs is shown, and a field of the search is completed", async ({
  page,
  server,
  admin,
}) => {
  const gate = join(server.folder, "order-gate");
  writeFileSync(gate, "");
  deploy(server, "ordered", held("ordered", ["ordered"], gate));
  server.cli(["trigger", "ordered"]);
  await page.goto("/runs?q=schedule:ordered");
  await signIn(page, admin);
  await expect(page.getByTestId("run-row")).toHaveCount(1);
  const started = page.getByRole("columnheader", { name: /^Started/ });
  await expect(page.getByRole("columnheader", { name: "Created" })).toBeVisible();
  await expect(started).toHaveCount(0);
  await page.getByLabel("Order", { exact: true }).selectOption({ label: "Last started first" });
  await expect(page).toHaveURL(/sort=-started/);
  await expect(started).toHaveAttribute("aria-sort", "descending");
  await page.getByRole("button", { name: "Took" }).click();
  await expect(page).toHaveURL(/sort=took/);
  await expect(started).toHaveCount(0);

  const line = page.getByLabel("Search runs");
  await line.fill("schedule:ordered trig");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(line).toHaveValue("schedule:ordered trigger:");
  await line.fill("schedule:ordered trigger:backfill");
  await expect(page.getByText("No run fits the search.")).toBeVisible();
});

test("a viewer of runs is offered their logs and nothing that would be refused", async ({ page, server }) => {
  const gate = join(server.folder, "shown-gate");
  writeFileSync(gate, "");
  deploy(server, "shown", held("shown", ["shown"], gate));
  server.cli(["trigger", "shown"]);
  await page.goto("/runs?q=schedule:shown");
  await signIn(page, server.addPerson("rita", "viewer"));
  const row = page.getByTestId("run-row");
  await expect(row.getByRole("link", { name: "Log of the run of shown" })).toBeVisible();
  await expect(row.getByRole("button")).toHaveCount(0);
  await page.getByLabel("Choose the run of shown").click();
  await expect(page.getByRole("region", { name: "Actions for the selected runs" })).toHaveCount(0);
});
