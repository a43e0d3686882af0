import { hasNoViolations, openDialogHasNoViolations } from "../support/axe.ts";
import type { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

const DAY = 86_400_000;
/** Far enough ahead that no test of the coming week sees it. */
const AHEAD = new Date(Date.now() + 20 * DAY).toISOString().slice(0, 10);

const opened: string[] = [];

/** A namespace with schedules of its own. */
function open(server: Server, namespace: string): void {
  opened.push(namespace);
  server.cli(["namespace", "create", namespace]);
  const task = "task: { target: { noop: {} } }";
  deploy(
    server,
    namespace,
    `module: ${namespace}
namespace: ${namespace}
schedules:
  books: { when: "0 * * * *", tags: [billing], ${task} }
  letters: { when: "0 * * * *", ${task} }
  ticks: { when: "* * * * * *", ${task} }
`,
  );
}

test.afterAll(async ({ server }) => {
  for (const namespace of opened) await rest(server, namespace, namespace);
});

interface Planned {
  planMaintenance: { window: { id: string } };
}

/** Plans a window for the schedule with this name. */
async function plan(server: Server, namespace: string, name: string, from: Date, hours: number): Promise<void> {
  const input = {
    namespace,
    title: "Quick fix",
    ticket: "OPS-7",
    search: `schedule:${name}`,
    startsAt: from.toISOString(),
    endsAt: new Date(from.getTime() + hours * 3_600_000).toISOString(),
  };
  const query = `mutation ($input: MaintenanceInput!) { planMaintenance(input: $input) { window { id } } }`;
  await server.ask<Planned>(query, { input });
}

test("a window is planned with a preview, and the pages of its schedules say so", async ({ page, server, admin }) => {
  open(server, "upkeep-plan");
  await page.goto("/ns/upkeep-plan/maintenance");
  await signIn(page, admin);
  await expect(page.locator(".empty")).toContainText("No maintenance planned");
  await expect(page.locator(".empty").getByRole("link", { name: "a calendar" })).toBeVisible();
  await page.getByRole("link", { name: "Plan maintenance" }).click();

  // The form proposes a time, and previews it.
  await expect(page.getByTestId("would-pause")).toHaveText("3 schedules would be paused.");
  const search = page.getByRole("combobox", { name: "About the schedules" });
  await search.fill("tga:billing");
  await search.press("Tab");
  await expect(page.locator("#search-error")).not.toBeEmpty();
  await search.fill("tag:billing");
  await search.press("Tab");
  await page.getByLabel("From (your time)").fill(`${AHEAD}T10:00`);
  await page.getByLabel("Until (your time)").fill(`${AHEAD}T09:00`);
  await expect(page.locator("#ends-error")).not.toBeEmpty();
  await page.getByRole("button", { name: "2 hours" }).click();
  await expect(page.getByLabel("Until (your time)")).toHaveValue(`${AHEAD}T12:00`);
  await expect(page.getByTestId("would-pause")).toHaveText("1 schedule would be paused.");
  await expect(page.getByTestId("would-hold")).toContainText("2 fires would fall into it");
  await expect(page.getByRole("list", { name: "Schedules", exact: true })).toContainText("books");
  await page.getByLabel("Start the latest once").check();
  await hasNoViolations(page, "planning maintenance");
  await page.getByRole("button", { name: "Plan maintenance" }).click();
  await expect(page.locator("#title-error")).toContainText("Give it a title");
  await page.getByLabel("Title").fill("Database move");
  await page.getByLabel("Ticket").fill("https://tickets.example/OPS-42");
  await page.getByRole("button", { name: "Plan maintenance" }).click();

  await expect(page).toHaveURL(/\/ns\/upkeep-plan\/maintenance\/[0-9a-f-]{36}$/);
  await expect(page.getByRole("heading", { name: "Database move", level: 1 })).toBeVisible();
  await expect(page.getByTestId("maintenance-state")).toHaveText("Planned");
  await hasNoViolations(page, "a maintenance window");
  await page.getByRole("link", { name: "1 schedule", exact: true }).click();
  await expect(page.getByTestId("schedule-row")).toHaveCount(1);
  await page.getByRole("link", { name: "books" }).click();
  const note = page.getByTestId("planned-pause");
  await expect(note).toContainText("Maintenance: Database move");
  await expect(note).toContainText(", then runs the latest");
  const ticket = note.getByRole("link", { name: "tickets.example/OPS-42" });
  await expect(ticket).toHaveAttribute("href", "https://tickets.example/OPS-42");
  await hasNoViolations(page, "a schedule with planned maintenance");

  // It is a band among what suppresses fires, and can be changed.
  await page.goto("/ns/upkeep-plan/upcoming?view=month");
  const band = page.getByTestId("band").filter({ hasText: "Database move" });
  await expect(band).toContainText("maintenance of 1 schedule");
  await band.getByRole("link", { name: "Database move" }).click();
  await page.getByRole("link", { name: "Change", exact: true }).click();
  await expect(page.getByLabel("Title")).toHaveValue("Database move");
  await expect(page.getByLabel("From (your time)")).toHaveValue(`${AHEAD}T10:00`);
  await expect(page.getByLabel("Start the latest once")).toBeChecked();
  await page.getByLabel("Until (your time)").fill(`${AHEAD}T13:00`);
  await expect(page.getByTestId("would-hold")).toContainText("3 fires would fall into it");
  // A window does not overlap itself.
  await expect(page.getByRole("list", { name: "Overlapping windows" })).toHaveCount(0);
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText("Database move is changed.")).toBeVisible();
});

interface Fired {
  schedule: { state: string; lastFireAt: string | null };
}

test("an active window pauses its schedules, and they fire again once it is cancelled", async ({
  page,
  server,
  admin,
}) => {
  open(server, "upkeep-now");
  await plan(server, "upkeep-now", "ticks", new Date(), 1);
  await page.goto("/ns/upkeep-now/schedules?q=name:ticks");
  await signIn(page, admin);
  await page.getByRole("link", { name: "ticks" }).click();
  await expect(page.getByTestId("schedule-state")).toHaveAttribute("data-state", "paused");
  const note = page.locator(".pause-note").filter({ hasText: "Paused by" });
  await expect(note).toContainText("Maintenance: Quick fix");
  await expect(note).toContainText("OPS-7");
  const schedule = new URL(page.url()).pathname;

  // Of an active window only the title, the ticket and the end can be changed.
  await page.goto("/ns/upkeep-now/maintenance");
  const row = page.getByTestId("maintenance-row");
  await expect(row).toContainText("Active");
  await expect(row).toContainText("1 schedule");
  await row.getByRole("link", { name: "Change", exact: true }).click();
  await expect(page.getByLabel("Until (your time)")).toBeVisible();
  await expect(page.getByLabel("From (your time)")).toHaveCount(0);
  await page.getByLabel("Title").fill("Slow fix");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByRole("heading", { name: "Slow fix", level: 1 })).toBeVisible();

  await page.goto("/ns/upkeep-now/maintenance");
  await row.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel maintenance" });
  await expect(dialog).toContainText("ends now: 1 schedule fires again");
  await openDialogHasNoViolations(page, "cancelling maintenance");
  await dialog.getByRole("button", { name: "Cancel maintenance" }).click();
  await expect(dialog.locator("#cancel-reason-error")).toContainText("Give a reason");
  await dialog.getByLabel("Reason").fill("done early");
  const cancelled = new Date().toISOString();
  await dialog.getByRole("button", { name: "Cancel maintenance" }).click();
  await expect(row).toHaveCount(0);
  await page.getByRole("link", { name: "Earlier" }).click();
  await expect(row).toContainText("Cancelled");
  await expect(row).toContainText("done early");

  const query = `query ($name: String!) { schedule(namespace: "upkeep-now", name: $name) { state lastFireAt } }`;
  const fired = async () => {
    const { schedule } = await server.ask<Fired>(query, { name: "ticks" });
    return schedule.state === "ACTIVE" && (schedule.lastFireAt ?? "") > cancelled;
  };
  await expect.poll(fired).toBe(true);
  await page.goto(schedule);
  await expect(page.getByTestId("schedule-state")).toHaveAttribute("data-state", "active");
  await expect(page.locator(".pause-note")).toHaveCount(0);
});

test("the chosen schedules become the search of a new window", async ({ page, server, admin }) => {
  open(server, "upkeep-bulk");
  await page.goto("/ns/upkeep-bulk/schedules");
  await signIn(page, admin);
  await page.getByLabel("Choose books").check();
  await page.getByLabel("Choose letters").check();
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  await bar.getByRole("button", { name: "Plan maintenance" }).click();
  const search = page.getByRole("combobox", { name: "About the schedules" });
  await expect(search).toHaveValue(/^schedule:"(books|letters)","(books|letters)"$/);
  await expect(page.getByTestId("would-pause")).toHaveText("2 schedules would be paused.");

  // The palette opens the form of an empty one.
  await page.goto("/ns/upkeep-bulk/schedules");
  await expect(page.getByTestId("schedule-row").first()).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "A page, a schedule" }).fill("new mai");
  await page.getByRole("option", { name: "Create New maintenance window" }).click();
  await expect(search).toHaveValue("");
});

test("a declared window says where it is changed", async ({ page, server, admin }) => {
  const namespace = "upkeep-file";
  server.cli(["namespace", "create", namespace]);
  const at = (days: number) => new Date(Date.now() + days * DAY).toISOString();
  const window = `  New disks: { start: "${at(20)}", end: "${at(21)}" }\n`;
  deploy(server, "upkeep-file", `module: disks\nnamespace: ${namespace}\nmaintenance_windows:\n${window}`);
  const list = `query ($namespace: String) { maintenanceWindows(namespace: $namespace) { nodes { id } } }`;
  interface Windows {
    maintenanceWindows: { nodes: { id: string }[] };
  }
  const { maintenanceWindows } = await server.ask<Windows>(list, { namespace });
  const { id } = maintenanceWindows.nodes[0]!;
  await page.goto(`/ns/${namespace}/maintenance`);
  await signIn(page, admin);
  const row = page.getByTestId("maintenance-row");
  await expect(row).toContainText("declared by disks");
  await expect(row.getByRole("link", { name: "Change", exact: true })).toHaveCount(0);

  const form = `/ns/${namespace}/maintenance/${id}/edit`;
  const heading = page.getByRole("heading", { name: "Change New disks", level: 1 });
  await page.goto(form);
  await expect(heading).toBeVisible();
  await expect(page.getByRole("main")).toContainText("A module declares this window");
  await hasNoViolations(page, "the form of a declared window");
  await page.goto(`/ns/default/maintenance/${id}/edit`);
  await expect(page.getByRole("heading", { name: "Change maintenance", level: 1 })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("No such maintenance window");
});

test("a viewer sees the windows and finds no action", async ({ page, server }) => {
  open(server, "upkeep-view");
  await plan(server, "upkeep-view", "books", new Date(Date.now() + 20 * DAY), 2);
  await page.goto("/ns/upkeep-view/maintenance");
  await signIn(page, await server.addMember("velma", "viewer", "upkeep-view"));
  const row = page.getByTestId("maintenance-row");
  await expect(row).toContainText("Quick fix");
  await expect(page.getByRole("link", { name: "Plan maintenance" })).toHaveCount(0);
  await row.getByRole("link", { name: "Quick fix" }).click();
  await expect(page.getByTestId("maintenance-state")).toHaveText("Planned");
  await expect(page.getByRole("link", { name: "Change", exact: true })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Cancel", exact: true })).toHaveCount(0);
  await page.goto("/ns/upkeep-view/maintenance/new");
  await expect(page.getByRole("heading", { name: "This page needs the role Operator" })).toBeVisible();
});
