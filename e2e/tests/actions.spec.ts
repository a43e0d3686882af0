import { expect, follow, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: actions
schedules:
  on-demand:
    when: "0 4 1 1 *"
    task: { target: { noop: {} } }
`;

test("a run can be given a context of its own, and a dialog forgets what was typed", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "actions", MODULE);
  await page.goto("/schedules");
  await signIn(page, admin);
  await page.getByRole("link", { name: "on-demand" }).click();

  const ask = async () => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Run with …" }).click();
  };
  await ask();
  const dialog = page.getByRole("dialog", { name: "Run with other values" });
  const context = dialog.getByLabel("Context (JSON)");
  await expect(context).toBeFocused();
  await context.fill("{ not json");
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await expect(context).toHaveAttribute("aria-invalid", "true");
  await page.keyboard.press("Escape");
  await ask();
  await expect(context).toHaveValue("");

  await context.fill('{ "month": "2026-10" }');
  // The notice disappears by itself, so start waiting for it before the click.
  const told = Promise.all([
    expect(page.getByText("on-demand runs now.")).toBeVisible(),
    expect(page.getByRole("link", { name: "Open the run" })).toHaveAttribute("href", /\/runs\/[0-9a-f-]+$/),
  ]);
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await told;
  await expect(dialog).toBeHidden();
  await openTab(page, "Runs");
  const run = page.getByTestId("run-row").first();
  await expect(run).toHaveAttribute("data-state", "succeeded");
  await run.getByRole("link").first().click();
  await expect(page.getByRole("region", { name: "Context of the run" })).toContainText("2026-10");
});

test("what a module declares is changed there, and the console says where", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "actions", MODULE);
  await page.goto("/schedules");
  await signIn(page, admin);
  await page.getByRole("link", { name: "on-demand" }).click();
  await expect(page.getByText("declared by module actions")).toBeVisible();
  await expect(page.getByRole("link", { name: "Edit" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Delete" })).toHaveCount(0);
});

test("a schedule says what it affects before it is deleted", async ({ page, server, admin }) => {
  const input = { name: "short-lived", timing: { expressions: ["0 4 1 1 *"] }, task: { target: { noop: {} } } };
  const create = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }`;
  const made = await server.ask<{ createSchedule: { schedule: { id: string } } }>(create, { input });
  server.cli(["trigger", "short-lived"]);
  await expect.poll(() => server.cli(["runs", "--state", "succeeded"])).toContain("short-lived");
  await page.goto(`/schedules/${made.createSchedule.schedule.id}`);
  await signIn(page, admin);
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete schedule" });
  await expect(dialog.getByTestId("impact")).toContainText("No run is live. The ledger and 1 run are kept");
  await dialog.getByLabel("Name of the schedule").fill("short-lived");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/\/schedules$/);
});

test("an error in a field that is folded away is unfolded", async ({ page, admin }) => {
  await page.goto("/schedules/new");
  await signIn(page, admin);
  await page.getByLabel("Name", { exact: true }).fill("folded");
  await page.getByLabel("Script").fill("true");
  const timeout = page.getByLabel("Timeout (seconds)");
  await page.getByText("Timeout and retries").click();
  await timeout.fill("-5");
  await page.getByText("Timeout and retries").click();
  await expect(timeout).toBeHidden();
  await page.getByRole("button", { name: "Create schedule" }).click();
  await expect(timeout).toBeFocused();
  await expect(page.getByRole("alert").filter({ hasText: "see Timeout (seconds)" })).toBeVisible();
});

test("single keys lead to pages until they are switched off", async ({ page, admin }) => {
  await page.goto("/");
  await signIn(page, admin);
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await follow(page, "gs", /\/schedules$/);
  await expect(page.getByRole("heading", { name: "Schedules" })).toBeVisible();

  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await dialog.getByRole("checkbox").uncheck();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await page.keyboard.press("?");
  await expect(dialog).toBeHidden();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Schedules" })).toBeVisible();
  await page.keyboard.press("?");
  await expect(dialog).toBeHidden();
});

test("a narrow header has the shortcuts in the person's menu", async ({ page, admin }) => {
  await page.setViewportSize({ width: 800, height: 900 });
  await page.goto("/");
  await signIn(page, admin);
  await expect(page.getByRole("button", { name: "Keyboard shortcuts", exact: true })).toBeHidden();
  const person = page.getByRole("button", { name: /^You:/ });
  await person.click();
  await page.getByRole("button", { name: "Shortcuts", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(person).toHaveAttribute("aria-expanded", "false");
});

test("a schedule is renamed on its page, and has its name back", async ({ page, server, admin }) => {
  const task = { target: { noop: {} } };
  for (const name of ["misnamed", "taken-name"]) {
    server.cli(["create", JSON.stringify({ name, timing: { expressions: ["@yearly"] }, task })]);
  }
  await page.goto("/schedules?q=name:misnamed");
  await signIn(page, admin);
  await page.getByRole("link", { name: "misnamed" }).click();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("button", { name: "Rename …" }).click();
  const dialog = page.getByRole("dialog", { name: "Rename schedule" });
  const name = dialog.getByLabel("Name", { exact: true });
  await expect(name).toHaveValue("misnamed");
  await name.fill("taken-name");
  await dialog.getByRole("button", { name: "Rename", exact: true }).click();
  await expect(name).toHaveAttribute("aria-invalid", "true");
  await name.fill("well-named");
  await dialog.getByRole("button", { name: "Rename", exact: true }).click();
  await expect(page.getByRole("heading", { name: "well-named" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("heading", { name: "misnamed" })).toBeVisible();
});
