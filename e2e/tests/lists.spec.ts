import type { Page } from "@playwright/test";

import { expect, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

const stored = Array.from(
  { length: 60 },
  (_, n) => `  shelf-${n}: { tags: [shelf], when: "0 4 1 1 *", zone: Europe/Berlin, task: { target: { noop: {} } } }`,
);
/** More schedules than a page of the list holds. */
const SHELF = `module: shelf\nschedules:\n${stored.join("\n")}\n`;
const METRONOME = `
module: metronome
schedules:
  metronome: { when: "* * * * * *", task: { target: { noop: {} } } }
`;

const rows = (page: Page) => page.getByTestId("schedule-row");

test.afterAll(({ server }) => rest(server, "metronome"));

test("a list says how many match, on every page of it", async ({ page, server, admin }) => {
  deploy(server, "shelf", SHELF);
  await page.goto("/schedules?q=tag:shelf");
  await signIn(page, admin);
  await expect(rows(page)).toHaveCount(50);
  await expect(page.getByText("60 schedules", { exact: true })).toBeVisible();
  await page.getByRole("navigation", { name: "Pages of schedules" }).getByRole("button", { name: "Next" }).click();
  await expect(rows(page)).toHaveCount(10);
  await expect(page.getByText("60 schedules", { exact: true })).toBeVisible();
  await page.getByLabel("Search schedules").fill("tag:shelf shelf-17");
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByText("1 schedule", { exact: true })).toBeVisible();
});

test("a row that the next search finds as well stays as it is", async ({ page, server, admin }) => {
  deploy(server, "shelf", SHELF);
  await page.goto("/schedules?q=tag:shelf");
  await signIn(page, admin);
  await expect(rows(page)).toHaveCount(50);
  const kept = rows(page).filter({ hasText: "shelf-17" });
  await kept.evaluate((row) => (row.dataset.kept = "yes"));
  await page.getByLabel("Search schedules").fill("tag:shelf shelf-1");
  await expect(rows(page)).toHaveCount(11);
  await expect(kept).toHaveAttribute("data-kept", "yes");
});

test("members are found by a part of their names", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "harbour"]);
  await server.addMember("Mira-Sand", "viewer", "harbour");
  await server.addMember("sandor", "operator", "harbour");
  await server.addMember("tove", "viewer", "harbour");
  await page.goto("/ns/harbour/settings/people?tab=members");
  await signIn(page, admin);
  const members = page.getByTestId("member-row");
  await expect(members).toHaveCount(3);
  await page.getByLabel("Name contains").fill("SAND");
  await expect(members).toHaveCount(2);
  await expect(page).toHaveURL(/q=SAND/);
  await page.reload();
  await expect(members).toHaveCount(2);
  await page.getByLabel("Name contains").fill("nobody");
  await expect(page.getByText("No member matches")).toBeVisible();
  await page.getByLabel("Name contains").fill("");
  await expect(members).toHaveCount(3);
});

test("tokens of everybody are found by a part of their names or of their owners'", async ({ page, server, admin }) => {
  const chief = server.cli(["token", "create", "harbour-chief", "--role", "admin"]).trim();
  const robot = `mutation { createServiceAccount(input: { name: "pilot-robot", role: VIEWER }) { user { id } } }`;
  await server.ask(robot, {}, chief);
  const theirs = `mutation { createApiToken(input: {
    name: "pier-lights", role: VIEWER, serviceAccount: "pilot-robot" }) { secret } }`;
  await server.ask(theirs, {}, chief);
  server.cli(["token", "create", "pier-gates", "--role", "viewer"]);
  await page.goto("/settings/tokens");
  await signIn(page, admin);
  await page.getByLabel("Everyone's tokens").check();
  const tokens = page.getByTestId("token-row");
  await page.getByLabel("Name contains").fill("PIER-");
  await expect(tokens).toHaveCount(2);
  await page.getByLabel("Name contains").fill("ot-ROB");
  await expect(tokens).toHaveCount(1);
  await expect(tokens).toContainText("pier-lights");
  // The view can be sent to a colleague.
  await page.reload();
  await expect(tokens).toHaveCount(1);

  // The palette opens the dialog, and the list stays as it is.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "A page, a schedule" }).fill("new token");
  await page.getByRole("option", { name: "Create New token" }).click();
  await expect(page.getByRole("dialog", { name: "New token" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByLabel("Everyone's tokens")).toBeChecked();
  await expect(page.getByLabel("Name contains")).toHaveValue("ot-ROB");
  await expect(tokens).toHaveCount(1);
  await page.getByLabel("Name contains").fill("no-such-token");
  await expect(page.getByText("No token matches")).toBeVisible();

  // What a link and the way back change is shown by the fields above the list.
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Tokens and sessions" }).click();
  await expect(page.getByLabel("Everyone's tokens")).not.toBeChecked();
  await expect(page.getByLabel("Name contains")).toHaveValue("");
  await page.goBack();
  await expect(page.getByLabel("Everyone's tokens")).toBeChecked();
  await expect(page.getByLabel("Name contains")).toHaveValue("no-such-token");
  await expect(page.getByText("No token matches")).toBeVisible();
});

test("modules are found by a part of their names", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "quays"]);
  for (const name of ["quay-north", "quay-south"]) {
    const nightly = `${name}: { when: "0 4 1 1 *", task: { target: { noop: {} } } }`;
    deploy(server, name, `module: ${name}\nnamespace: quays\nschedules:\n  ${nightly}\n`);
  }
  await page.goto("/ns/quays/modules");
  await signIn(page, admin);
  const modules = page.getByTestId("module-row");
  await expect(modules).toHaveCount(2);
  await page.getByLabel("Name contains").fill("NORTH");
  await expect(modules).toHaveCount(1);
  await expect(modules).toContainText("quay-north");
  await page.getByLabel("Name contains").fill("nowhere");
  await expect(page.getByText("No module here")).toBeVisible();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Modules", exact: true }).click();
  await expect(page.getByLabel("Name contains")).toHaveValue("");
  await expect(modules).toHaveCount(2);
});

test("a calendar leads to all schedules that use it", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "shifts"]);
  const times = `when: "0 4 1 1 *", calendars: [shift-days], task: { target: { noop: {} } }`;
  const lines = Array.from({ length: 53 }, (_, n) => `  shift-${n}: { ${times} }`);
  lines.push(`  other: { when: "0 4 1 1 *", task: { target: { noop: {} } } }`);
  const calendars = "calendars:\n  shift-days: { mode: exclude, weekdays: [sun] }";
  deploy(server, "shifts", `module: shifts\nnamespace: shifts\n${calendars}\nschedules:\n${lines.join("\n")}\n`);
  await page.goto("/ns/shifts/calendars");
  await signIn(page, admin);
  await page.getByTestId("calendar-row").getByRole("link", { name: "shift-days" }).click();
  await page.getByRole("link", { name: "and 3 more" }).click();
  await expect(page.getByLabel("Search schedules")).toHaveValue('calendar:"shift-days"');
  await expect(page.getByText("53 schedules", { exact: true })).toBeVisible();
  await page.goto("/ns/shifts/calendars");
  await page.getByTestId("calendar-row").getByRole("link", { name: "53" }).click();
  await expect(page.getByText("53 schedules", { exact: true })).toBeVisible();
});

test("what others create appears in the lists of calendars and workflows", async ({ page, server, admin }) => {
  const calendar = (name: string) => `createCalendar(input: { name: "${name}", mode: EXCLUDE }) { calendar { id } }`;
  const workflow = (name: string) =>
    `createWorkflow(input: { name: "${name}", tasks: [{ name: "only", target: { noop: {} } }] }) { workflow { id } }`;
  await page.goto("/calendars");
  await signIn(page, admin);
  for (const [list, create] of [
    ["calendar", calendar],
    ["workflow", workflow],
  ] as const) {
    await server.ask(`mutation { ${create("arrival-first")} }`, {});
    await page.goto(`/${list}s?q=arrival`);
    const listed = page.getByTestId(`${list}-row`);
    await expect(listed).toHaveCount(1);
    await server.ask(`mutation { ${create("arrival-second")} }`, {});
    await expect(listed).toHaveCount(2);
  }
});

test("the last fires and the exact times are told where the pointer is", async ({ page, server, admin }) => {
  deploy(server, "metronome", METRONOME);
  await page.goto("/schedules?q=name:metronome");
  await signIn(page, admin);
  // The bars are loaded after the row, and are updated by events.
  const bars = rows(page).getByRole("img", { name: /^The last \d+ fires: .*succeeded/ });
  await expect(bars).toBeVisible();
  // A row that is drawn anew under the pointer learns of it when it moves.
  let x = 1;
  await expect(async () => {
    x = 3 - x;
    await bars.hover({ position: { x, y: 8 } });
    const title = /^\w{3} \d{1,2} \w{3} \d\d:\d\d:\d\d \S+: \S/;
    await expect(bars).toHaveAttribute("title", title, { timeout: 1_000 });
  }).toPass();

  deploy(server, "shelf", SHELF);
  await page.goto("/schedules?q=name:shelf-17");
  const time = rows(page).locator("time").first();
  await expect(time).not.toHaveAttribute("title");
  await time.hover();
  await expect(time).toHaveAttribute("title", /^\d{4}-01-01 03:00:00 UTC {2}UTC\n\d{4}-01-01 04:00:00 \+01:00 {2}Europe\/Berlin/);
});
