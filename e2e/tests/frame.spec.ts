import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Request } from "@playwright/test";

import { chooseRange, expect, openRanges, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: frame
schedules:
  frame-one: { tags: [frame], when: "0 4 1 1 *", task: { target: { noop: {} } } }
  frame-two: { tags: [frame], when: "0 5 1 1 *", task: { target: { noop: {} } } }
  frame-three: { tags: [frame], when: "0 6 1 1 *", task: { target: { noop: {} } } }
`;

test("a person of one namespace works only there, and the address says where", async ({
  page,
  server,
}) => {
  server.cli(["namespace", "create", "billing"]);
  const ben = await server.addMember("ben", "editor", "billing");
  await page.goto("/");
  await signIn(page, ben);
  await expect(page).toHaveURL(/\/ns\/billing$/);
  await page.goto("/schedules/new");
  await page.getByLabel("Name", { exact: true }).fill("bens-own");
  await page.getByRole("radio", { name: "Nothing, a rehearsal" }).check();
  await page.getByRole("button", { name: "Create schedule" }).click();
  await expect(page.getByRole("heading", { name: "bens-own" })).toBeVisible();
  await expect(page).toHaveURL(/\/ns\/billing\/schedules\/.+/);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Schedules" }).click();
  await expect(page.getByTestId("schedule-row")).toHaveCount(1);
});

test("what happens in another namespace than the default one is seen as it happens", async ({ page, server }) => {
  server.cli(["namespace", "create", "ledgers"]);
  const cleo = await server.addMember("cleo", "operator", "ledgers");
  const source = `
module: ledgers
namespace: ledgers
schedules:
  ledgers-close: { when: "0 4 1 1 *", task: { target: { http: { url: "http://nobody.invalid/" } } } }
`;
  deploy(server, "ledgers", source);
  await page.goto("/ns/ledgers/runs");
  await signIn(page, cleo);
  await expect(page.getByText("Live", { exact: true }).first()).toBeVisible();
  await expect(page.getByTestId("run-row")).toHaveCount(0);
  server.cli(["trigger", "ledgers-close", "--namespace", "ledgers"]);
  const run = page.getByTestId("run-row");
  await expect(run).toHaveCount(1);
  await run.getByRole("link").first().click();
  // The run fails, because nothing listens at its target.
  await expect(page.getByTestId("run-state")).toHaveAttribute("data-state", "failed");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Schedules" }).click();
  await page.getByTestId("schedule-row").getByRole("link", { name: "ledgers-close" }).click();
  await expect(page.getByRole("heading", { name: "ledgers-close" })).toBeVisible();
  server.cli(["pause", "ledgers-close", "--namespace", "ledgers", "--reason", "stock-taking"]);
  await expect(page.getByText("stock-taking").first()).toBeVisible();
});

test("a member of one namespace sees it live on the overview, in the ledger and in the rail", async ({ page, server }) => {
  server.cli(["namespace", "create", "harbour"]);
  const dora = await server.addMember("dora", "operator", "harbour");
  const gate = join(server.folder, "harbour-gate");
  const schedule = (name: string, when: string, script: string) =>
    `  ${name}: { when: "${when}", task: { target: { command: { script: "${script}" } } } }\n`;
  const held = schedule("harbour-held", "0 4 1 1 *", `until [ -e ${gate} ]; do sleep 0.1; done; exit 3`);
  const module = "module: harbour\nnamespace: harbour\nschedules:\n";
  deploy(server, "harbour", module + held);
  await page.goto("/ns/harbour");
  await signIn(page, dora);
  const rail = page.getByRole("navigation", { name: "Main" });
  await expect(page.getByTestId("connection")).toHaveAttribute("data-state", "live");
  await expect(page.getByTestId("live-run")).toHaveCount(0);
  await expect(rail.getByRole("link", { name: "Runs", exact: true })).toBeVisible();

  server.cli(["trigger", "harbour-held", "--namespace", "harbour"]);
  await expect(page.getByTestId("live-run")).toContainText("harbour-held");
  await expect(rail.getByRole("link", { name: "Runs 1 live" })).toBeVisible();

  await rail.getByRole("link", { name: "Ledger" }).click();
  await expect(page.getByRole("heading", { name: "Ledger" })).toBeVisible();
  const rows = page.getByRole("row").filter({ hasText: "harbour-beat" });
  await expect(rows).toHaveCount(0);
  deploy(server, "harbour", module + held + schedule("harbour-beat", "@every 1s", "true"));
  await expect(rows.first()).toBeVisible();

  // While lists are held, the counts do not change; they are updated on release.
  deploy(server, "harbour", module + held);
  await expect(rail.getByRole("link", { name: "Runs 1 live" })).toBeVisible();
  await page.getByRole("button", { name: "Hold" }).click();
  writeFileSync(gate, "");
  await expect.poll(() => server.cli(["runs", "--namespace", "harbour", "--state", "running"])).not.toContain("harbour-held");
  await expect(rail.getByRole("link", { name: "Runs 1 live" })).toBeVisible();
  await page.getByRole("button", { name: /Held|new/ }).click();
  await expect(rail.getByRole("link", { name: "Runs", exact: true })).toBeVisible();
  await expect(rail.getByRole("link", { name: "Overview 1 in trouble" })).toBeVisible({ timeout: 60_000 });
});

test("all namespaces are seen at once, and one thing leads into its own", async ({ page, server, admin }) => {
  for (const place of ["quay", "pier"]) {
    server.cli(["namespace", "create", place]);
    const one = `  ${place}-tide: { tags: [tide], when: "0 4 1 1 *", task: { target: { noop: {} } } }\n`;
    deploy(server, place, `module: ${place}\nnamespace: ${place}\nschedules:\n${one}`);
    server.cli(["trigger", `${place}-tide`, "--namespace", place]);
  }
  await page.goto("/ns/quay/schedules?q=tag:tide");
  await signIn(page, admin);
  const schedules = page.getByTestId("schedule-row");
  await expect(schedules).toHaveCount(1);
  await page.getByRole("button", { name: "Namespace" }).click();
  await page.getByRole("link", { name: "All namespaces" }).click();
  await expect(page).toHaveURL(/\/all\/schedules/);
  await page.getByLabel("Search schedules").fill("tag:tide");
  await expect(schedules).toHaveCount(2);
  await expect(schedules.filter({ hasText: "pier-tide" }).getByRole("cell", { name: "pier", exact: true })).toBeVisible();

  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "A page, a schedule" }).fill("pier-tide");
  await expect(page.getByRole("option", { name: "Go to pier-tide in pier" })).toBeVisible();
  await page.keyboard.press("Escape");

  const rail = page.getByRole("navigation", { name: "Main" });
  await rail.getByRole("link", { name: "Runs" }).click();
  await expect(page).toHaveURL(/\/all\/runs/);
  const runs = page.getByTestId("run-row").filter({ hasText: "-tide" });
  await expect(runs).toHaveCount(2);
  server.cli(["trigger", "quay-tide", "--namespace", "quay"]);
  await expect(runs).toHaveCount(3);
  await rail.getByRole("link", { name: "Overview" }).click();
  await expect(page).toHaveURL(/\/all$/);
  await expect(page.getByRole("heading", { name: "Next hour" })).toBeVisible();
  await rail.getByRole("link", { name: "Upcoming" }).click();
  await expect(page).toHaveURL(/\/all\/upcoming/);
  await expect(page.getByRole("heading", { name: "Starts in the next 7 days" })).toBeVisible();
  await rail.getByRole("link", { name: "Metrics" }).click();
  await expect(page).toHaveURL(/\/all\/metrics/);
  await expect(page.getByRole("heading", { name: "Throughput" })).toBeVisible();
  await expect(page.getByRole("main").getByRole("alert")).toHaveCount(0);

  await page.goto("/all/schedules?q=name:pier-tide");
  await schedules.getByRole("link", { name: "pier-tide" }).click();
  await expect(page.getByRole("heading", { name: "pier-tide" })).toBeVisible();
  await expect(page).toHaveURL(/\/ns\/pier\/schedules\//);
});

test("what is made in all namespaces is listed, and leads into its own", async ({ page, server, admin }) => {
  const module = (place: string) => `
module: ${place}
namespace: ${place}
calendars:
  ${place}-closed: { mode: exclude, dates: ["2030-01-01"] }
groups:
  ${place}-berths: 2
alert_channels:
  ${place}-hook: { kind: webhook, url: "https://hooks.invalid/" }
alert_rules:
  ${place}-fails: { on: [failed], channels: [${place}-hook] }
schedules:
  ${place}-bell: { when: "0 4 1 1 *", task: { target: { noop: {} } } }
`;
  for (const place of ["dock", "basin"]) {
    server.cli(["namespace", "create", place]);
    deploy(server, place, module(place));
  }
  await page.goto("/all/calendars");
  await signIn(page, admin);
  const pages: [string, string, string, string][] = [
    ["calendars", "calendar-row", "dock-closed", "basin-closed"],
    ["groups", "group-row", "dock-berths", "basin-berths"],
    ["workflows", "workflow-row", "dock-bell", "basin-bell"],
    ["modules", "module-row", "dock", "basin"],
    ["settings/alerts", "rule-row", "dock-fails", "basin-fails"],
    ["settings/alerts?tab=channels", "channel-row", "dock-hook", "basin-hook"],
  ];
  for (const [path, row, dock, basin] of pages) {
    await page.goto(`/all/${path}`);
    const rows = page.getByTestId(row);
    for (const [place, name] of [["dock", dock], ["basin", basin]] as const) {
      const one = rows.filter({ has: page.getByRole("rowheader", { name }) });
      await expect(one.getByRole("cell", { name: place, exact: true }), `${path}, ${name}`).toBeVisible();
    }
  }
  for (const path of ["alerts", "backfills", "settings/alerts?tab=deliveries"]) {
    await page.goto(`/all/${path}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page).toHaveURL(new RegExp(`/all/${path.replace("?", "\\?")}$`));
    await expect(page.getByRole("main").getByRole("alert")).toHaveCount(0);
  }
  await page.goto("/all/calendars");
  await page.getByRole("link", { name: "basin-closed" }).click();
  await expect(page).toHaveURL(/\/ns\/basin\/calendars\//);
  await expect(page.getByRole("heading", { name: "basin-closed" })).toBeVisible();
});

test("what belongs to one namespace is picked in the view of all, and lists say where rows lie", async ({
  page,
  server,
  admin,
}) => {
  for (const place of ["north", "south"]) {
    server.cli(["namespace", "create", place]);
    const beat = `  ${place}-beat: { when: "@every 1s", task: { target: { noop: {} } } }\n`;
    deploy(server, place, `module: ${place}\nnamespace: ${place}\nschedules:\n${beat}`);
  }
  await page.goto("/all/settings/secrets");
  await signIn(page, admin);
  const pick = page.getByLabel("Shown namespace");
  for (const path of ["settings/secrets", "settings/feeds", "settings/people?tab=members", "cluster"]) {
    await page.goto(`/all/${path}`);
    await expect(pick, path).toBeVisible();
    await pick.selectOption("south");
    await expect(page).toHaveURL(new RegExp(`/all/${path.split("?")[0]}\\?.*namespace=south`));
    await expect(pick, path).toHaveValue("south");
  }

  // The rows of the previous namespace disappear, even if the server does not answer for the next
  // one.
  await server.addMember("nora", "viewer", "north");
  await page.goto("/all/settings/people?tab=members&namespace=north");
  const nora = page.getByTestId("member-row").filter({ hasText: "nora" });
  await expect(nora).toBeVisible();
  await page.route("**/graphql", async (route) => {
    const { query, variables } = route.request().postDataJSON();
    const isNext = query.includes("memberships(") && variables.namespace === "south";
    await (isNext ? route.abort() : route.fallback());
  });
  await pick.selectOption("south");
  await expect(page.getByText("The server does not answer.").first()).toBeVisible();
  await expect(nora).toHaveCount(0);
  await page.unrouteAll();

  await page.goto("/all/ledger?q=name:th-beat");
  const fires = page.getByTestId("ledger-row");
  for (const place of ["north", "south"]) {
    const one = fires.filter({ hasText: `${place}-beat` }).first();
    await expect(one.getByRole("cell", { name: place, exact: true })).toBeVisible();
  }
  await page.goto("/all/audit?action=module.deploy");
  await expect(page.getByRole("columnheader", { name: "Namespace" })).toBeVisible();
  await page.goto("/all");
  await expect(
    page.getByTestId("next-schedule").filter({ hasText: "south-beat" }).first(),
  ).toContainText("south-beat south");
  // Paused, because these schedules would otherwise fire during the other tests.
  for (const place of ["north", "south"]) {
    server.cli(["pause", `${place}-beat`, "--namespace", place, "--reason", "the test is over"]);
  }
});

test("runs are narrowed to a range, which goes along from page to page", async ({ page, server, admin }) => {
  deploy(server, "frame", MODULE);
  server.cli(["trigger", "frame-one"]);
  await page.goto("/ns/default/runs?q=schedule:frame-one");
  await signIn(page, admin);
  const rows = page.getByTestId("run-row");
  await expect(rows.first()).toBeVisible();
  await page.goto("/ns/default/runs?q=schedule:frame-one&until=2020-01-01T00:00:00Z");
  await expect(page.getByText("No run fits the search.")).toBeVisible();
  await chooseRange(page, "Last 7 days");
  await expect(page).toHaveURL(/range=7d/);
  await expect(page).not.toHaveURL(/until=/);
  await expect(rows.first()).toBeVisible();
  await page.getByLabel("Order").selectOption({ label: "Longest first" });
  await expect(page).toHaveURL(/sort=-took/);
  await expect(rows.first()).toBeVisible();
  const rail = page.getByRole("navigation", { name: "Main" });
  await rail.getByRole("link", { name: "Ledger" }).click();
  await expect(page).toHaveURL(/\/ledger\?range=7d$/);
  await rail.getByRole("link", { name: "Metrics" }).click();
  await expect(page).toHaveURL(/\/metrics\?range=7d$/);
});

test("a range is chosen in the header by keys, narrows the list, and stays on the next page", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "frame", MODULE);
  server.cli(["trigger", "frame-two"]);
  await page.goto("/ns/default/runs?q=schedule:frame-two");
  await signIn(page, admin);
  const rows = page.getByTestId("run-row");
  await expect(rows.first()).toBeVisible();
  const ranges = page.getByRole("button", { name: /^Range of time/ });
  await expect(ranges).toHaveAccessibleName("Range of time: Any time");

  // First selects a range between two instants of 2020, and then the last hour.
  await openRanges(page);
  await page.getByLabel("From", { exact: true }).fill("2020-01-01T00:00");
  await page.getByLabel("Until", { exact: true }).fill("2020-01-02T00:00");
  await expect(page).toHaveURL(/from=(2019|2020)-.*until=2020-/);
  await expect(page.getByText("No run fits the search.")).toBeVisible();
  await expect(ranges).toHaveAccessibleName(/Wed 1 Jan 2020 00:00 – Thu 2 Jan 2020 00:00/);
  await page.keyboard.press("Escape");
  await expect(ranges).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/runs\?q=schedule%3Aframe-two&range=1h$/);
  await expect(ranges).toHaveAccessibleName("Range of time: Last hour");
  await expect(ranges).toBeFocused();
  await expect(rows.first()).toBeVisible();
  await page.reload();
  await expect(ranges).toHaveAccessibleName("Range of time: Last hour");

  const rail = page.getByRole("navigation", { name: "Main" });
  await rail.getByRole("link", { name: "Overview" }).click();
  await expect(page).toHaveURL(/\/ns\/default\?range=1h$/);
  await expect(ranges).toHaveAccessibleName("Range of time: Last hour");
  await rail.getByRole("link", { name: "Ledger" }).click();
  await expect(page).toHaveURL(/\/ledger\?range=1h$/);
  await rail.getByRole("link", { name: "Schedules" }).click();
  await expect(page).toHaveURL(/\/schedules$/);
  await expect(ranges).toHaveCount(0);
});

test("a query is text and chips, is completed, and is kept in the address", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "frame", MODULE);
  await page.goto("/schedules?q=tag:frame");
  await signIn(page, admin);
  await expect(page.getByTestId("schedule-row")).toHaveCount(3);
  const line = page.getByLabel("Search schedules");
  await line.fill("tag:frame na");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(line).toHaveValue("tag:frame name:");
  await line.fill("tag:frame name:two");
  await expect(page.getByTestId("schedule-row")).toHaveCount(1);
  await page.reload();
  await expect(page.getByTestId("schedule-row")).toHaveCount(1);
  await page.getByRole("button", { name: "Remove name:two" }).click();
  await expect(page.getByTestId("schedule-row")).toHaveCount(3);
});

test("what is chosen is counted, paused with a reason, and can be undone", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "frame", MODULE);
  await page.goto("/schedules?q=tag:frame");
  await signIn(page, admin);
  const rows = page.getByTestId("schedule-row");
  await expect(rows).toHaveCount(3);
  await page.getByLabel("Choose frame-one").click();
  await page.getByLabel("Choose frame-two").click({ modifiers: ["Shift"] });
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  await expect(bar).toContainText("3 chosen");
  await bar.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Pause 3 schedules");
  await dialog.getByLabel("Reason").fill("maintenance");
  await dialog.getByRole("button", { name: "Pause 3 schedules" }).click();
  const paused = rows.and(page.locator("[data-state=paused]"));
  await expect(paused).toHaveCount(3);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(paused).toHaveCount(0);
});

test("a bulk action whose schedules have changed is counted again, and keeps what was typed", async ({
  page,
  server,
  admin,
}) => {
  const line = (name: string) => `  ${name}: { tags: [recount], when: "0 4 1 1 *", task: { target: { noop: {} } } }\n`;
  const head = "module: recount\nschedules:\n";
  deploy(server, "recount", head + line("recount-one") + line("recount-two"));
  await page.goto("/schedules?q=tag:recount");
  await signIn(page, admin);
  await expect(page.getByTestId("schedule-row")).toHaveCount(2);
  await page.getByLabel("Select all on this page").click();
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  await bar.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("tides");
  await expect(dialog.getByRole("button", { name: "Pause 2 schedules" })).toBeVisible();
  deploy(server, "recount", head + line("recount-one"));
  await dialog.getByRole("button", { name: "Pause 2 schedules" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByRole("button", { name: "Count again" }).click();
  await dialog.getByRole("button", { name: "Pause 1 schedule", exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByTestId("schedule-row").and(page.locator("[data-state=paused]"))).toHaveCount(1);
});

test("what was typed survives the end of the session and the sign-in after it", async ({
  page,
  context,
  admin,
}) => {
  await page.goto("/schedules/new");
  await signIn(page, admin);
  await page.getByLabel("Name", { exact: true }).fill("half-typed");
  await page.getByLabel("Script").fill("echo half");
  await context.clearCookies();
  await page.getByRole("button", { name: "Create schedule" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await signIn(page, admin);
  await expect(page.getByText("What you had typed is back.")).toBeVisible();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("half-typed");
  await expect(page.getByLabel("Script")).toHaveValue("echo half");
  await page.getByRole("button", { name: "Start afresh" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("");
  await expect(page.getByText("What you had typed is back.")).toHaveCount(0);
  await expect(page.getByLabel("Script")).toHaveValue("");
});

test("a row is one stop, and its keys go from row to row and choose it", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "frame", MODULE);
  await page.goto("/schedules?q=tag:frame");
  await signIn(page, admin);
  await expect(page.getByTestId("schedule-row")).toHaveCount(3);
  await page.keyboard.press("j");
  await expect(page.getByRole("link", { name: "frame-one" })).toBeFocused();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  await expect(bar).toContainText("1 chosen");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "frame-two" })).toBeFocused();
  await page.keyboard.press("Shift+KeyX");
  await expect(bar).toContainText("2 chosen");
});

test("the palette goes to a schedule by a few letters", async ({ page, server, admin }) => {
  deploy(server, "frame", MODULE);
  await page.goto("/runs");
  await signIn(page, admin);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("frame-tw");
  await expect(page.getByRole("option", { name: /Go to frame-two/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "frame-two" })).toBeVisible();
});

test("the line that the arrow keys reach in the palette is in sight", async ({ page, admin }) => {
  await page.goto("/runs");
  await signIn(page, admin);
  await page.keyboard.press("Control+k");
  const options = page.getByRole("listbox", { name: "Search results" }).getByRole("option");
  const reached = options.and(page.locator("[aria-selected=true]"));
  // An option that is not there would not be in the viewport, either.
  await expect(options.first()).toBeInViewport();
  await expect(options.last()).not.toBeInViewport();
  for (let at = await options.count(); at > 1; at--) await page.keyboard.press("ArrowDown");
  await expect(options.last()).toHaveAttribute("aria-selected", "true");
  await expect(reached).toBeInViewport({ ratio: 0.9 });
  for (let at = await options.count(); at > 1; at--) await page.keyboard.press("ArrowUp");
  await expect(options.first()).toHaveAttribute("aria-selected", "true");
  await expect(reached).toBeInViewport({ ratio: 0.9 });
});

test("the palette opens a run by its id, and a form", async ({ page, server, admin }) => {
  const input = { name: "by-its-id", timing: { expressions: ["@yearly"] }, task: { target: { noop: {} } } };
  server.cli(["create", JSON.stringify(input)]);
  server.cli(["trigger", "by-its-id"]);
  await page.goto("/runs?q=schedule:by-its-id");
  await signIn(page, admin);
  const run = page.getByTestId("run-row").getByRole("link").first();
  const id = ((await run.getAttribute("href")) ?? "").split("/").pop()!;
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("combobox", { name: "A page, a schedule" });
  await palette.fill(id);
  await expect(page.getByRole("option", { name: `Open the run ${id}` })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/runs/${id}$`));
  await expect(page.getByTestId("run-state")).toBeVisible();

  await page.keyboard.press("Control+k");
  await palette.fill("new cal");
  await expect(page.getByRole("option", { name: "Create New calendar" })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/calendars\/new$/);
});

test("the palette opens the dialogs that create groups, secrets, tokens and feeds", async ({ page, server, admin }) => {
  await page.goto("/ns/default/runs");
  await signIn(page, admin);
  const field = page.getByRole("combobox", { name: "A page, a schedule" });
  const create = async (what: string) => {
    await page.keyboard.press("Control+k");
    await field.fill(`new ${what}`);
    await expect(page.getByRole("option", { name: `Create New ${what}` })).toHaveAttribute("aria-selected", "true");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("dialog", { name: `New ${what}` })).toBeVisible();
    // The address opens the dialog only once.
    await expect(page).not.toHaveURL(/do=/);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  };
  for (const [what, path] of [
    ["group", "groups"],
    ["secret", "settings/secrets"],
    ["token", "settings/tokens"],
    ["feed", "settings/feeds"],
  ] as const) {
    await create(what);
    await expect(page).toHaveURL(new RegExp(`/ns/default/${path}$`));
    // On the page itself, too, and from another tab of it.
    await create(what);
    await page.reload();
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.getByRole("dialog")).toHaveCount(0);
  }
  await page.goto("/ns/default/settings/tokens?tab=sessions");
  await expect(page.getByTestId("session-row").first()).toBeVisible();
  await create("token");

  // Across all namespaces, a group would have no namespace, and the secret is one of the picked namespace.
  server.cli(["namespace", "create", "picked-here"]);
  await page.goto("/all/settings/secrets?namespace=picked-here");
  await expect(page.getByRole("heading", { level: 1, name: "Secrets" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await field.fill("new ");
  await expect(page.getByRole("option", { name: "Create New schedule" })).toBeVisible();
  await expect(page.getByRole("option", { name: "Create New group" })).toHaveCount(0);
  await page.keyboard.press("Escape");
  await create("secret");
  await expect(page).toHaveURL(/namespace=picked-here/);
});

test("the palette offers a viewer only what a viewer may create", async ({ page, server }) => {
  await page.goto("/ns/default/runs");
  await signIn(page, server.addPerson("palette-looker", "viewer"));
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "A page, a schedule" }).fill("new ");
  const offers = page.getByRole("option", { name: /^Create New / });
  await expect(offers).toHaveText(["Create New token", "Create New feed"]);
});

test("the palette offers a new secret only in a namespace that one administers", async ({ page, server }) => {
  server.cli(["namespace", "create", "chief-here"]);
  server.cli(["namespace", "create", "guest-here"]);
  const chief = await server.addMember("palette-chief", "admin", "chief-here");
  server.cli(["member", "add", chief.name, "--namespace", "guest-here", "--role", "viewer"]);
  await page.goto("/all/settings/secrets?namespace=guest-here");
  await signIn(page, chief);
  const offers = async (count: number) => {
    await expect(page.getByRole("combobox", { name: "Shown namespace" })).toBeVisible();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "A page, a schedule" }).fill("new ");
    await expect(page.getByRole("option", { name: "Create New token" })).toBeVisible();
    await expect(page.getByRole("option", { name: "Create New secret" })).toHaveCount(count);
    await page.keyboard.press("Escape");
  };
  await offers(0);
  await page.getByRole("combobox", { name: "Shown namespace" }).selectOption("chief-here");
  await offers(1);
});

test("the palette says that nothing matches, once the server has answered", async ({ page, server, admin }) => {
  deploy(server, "frame", MODULE);
  await page.goto("/ns/default/runs");
  await signIn(page, admin);
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const asks = (request: Request) =>
    request.url().endsWith("/graphql") && String(request.postDataJSON()?.variables?.search).includes("frame-nowhere");
  await page.route("**/graphql", async (route) => {
    if (asks(route.request())) await released;
    await route.fallback();
  });
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to or do" });
  const field = palette.getByRole("combobox", { name: "A page, a schedule" });
  const asked = page.waitForRequest(asks);
  await field.fill("frame-nowhere");
  await asked;
  await expect(palette.getByRole("option")).toHaveCount(0);
  await expect(palette.getByRole("status")).toHaveText("");
  release();
  await expect(palette.getByRole("status")).toHaveText("No page, action or schedule matches this text.");

  await field.fill("frame-tw");
  await expect(palette.getByRole("option", { name: /Go to frame-two/ })).toBeVisible();
  await expect(palette.getByRole("status")).toHaveText("");
});

test("the palette asks on a schedule's page whether to pause it", async ({ page, server, admin }) => {
  deploy(server, "frame", MODULE);
  await page.goto("/runs");
  await signIn(page, admin);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("frame-tw");
  await page.getByRole("option", { name: /Pause frame-two/ }).click();
  await expect(page.getByRole("dialog", { name: "Pause schedule" })).toBeVisible();
  // The address opens the dialog only once: after a reload, no dialog opens.
  await expect(page).not.toHaveURL(/do=/);
  await page.reload();
  await expect(page.getByRole("heading", { name: "frame-two" })).toBeVisible();
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("the palette asks about another schedule than that whose page is open", async ({ page, server, admin }) => {
  deploy(server, "frame", MODULE);
  await page.goto("/schedules?q=name:frame-one");
  await signIn(page, admin);
  await page.getByRole("link", { name: "frame-one" }).click();
  await expect(page.getByRole("heading", { name: "frame-one" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("frame-tw");
  await page.getByRole("option", { name: /Pause frame-two/ }).click();
  await expect(page.getByRole("heading", { name: "frame-two" })).toBeVisible();
  await expect(page.getByRole("dialog", { name: "Pause schedule" })).toBeVisible();
});

test("the palette creates what one's role may create", async ({ page, browser, server, admin }) => {
  await page.goto("/ns/default/runs");
  await signIn(page, admin);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("calendar");
  await expect(page.getByRole("option", { name: "Create New calendar" })).toBeVisible();
  await page.getByRole("combobox", { name: "A page, a schedule" }).fill("new back");
  await page.getByRole("option", { name: "Create New backfill" }).click();
  await expect(page.getByRole("heading", { name: "New backfill" })).toBeVisible();

  const context = await browser.newContext({ baseURL: server.url });
  const other = await context.newPage();
  await other.goto("/ns/default/runs");
  await signIn(other, server.addPerson("palette-viewer", "viewer"));
  await other.keyboard.press("Control+k");
  await other.keyboard.type("calendar");
  await expect(other.getByRole("option", { name: "Go to Calendars" })).toBeVisible();
  await expect(other.getByRole("option", { name: /^Create/ })).toHaveCount(0);
  await context.close();
});

test("the person's menu leads to the profile, the documentation and GraphQL", async ({
  page,
  admin,
}) => {
  await page.goto("/runs");
  await signIn(page, admin);
  await page.getByRole("button", { name: /^You:/ }).click();
  await expect(page.getByRole("link", { name: "GraphQL" })).toHaveAttribute("href", "/graphiql");
  await expect(page.getByRole("link", { name: "Documentation" })).toHaveAttribute("href", "/docs/");
  await page.locator(".menu-list").getByRole("link", { name: "Profile" }).click();
  await expect(page.getByRole("heading", { name: "Profile" })).toBeVisible();
});

test("the order and the favourites are in the address", async ({ page, server, admin }) => {
  deploy(server, "frame", MODULE);
  await page.goto("/schedules?q=tag:frame");
  await signIn(page, admin);
  const rows = page.getByTestId("schedule-row");
  await expect(rows).toHaveCount(3);
  const sort = page.getByRole("columnheader", { name: "Name" }).getByRole("button");
  await sort.click();
  await sort.click();
  await expect(page).toHaveURL(/sort=-name/);
  await expect(rows.first()).toContainText("frame-two");

  await page.getByRole("button", { name: "Add frame-three to the favourites" }).click();
  await page.getByRole("button", { name: "Favourites", exact: true }).click();
  await expect(rows).toHaveCount(1);
  await page.reload();
  await expect(rows).toHaveCount(1);
  await expect(rows.first()).toContainText("frame-three");
});

test("a pause says beforehand which fires it keeps from running", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "frame", MODULE);
  await page.goto("/schedules?q=name:frame-one");
  await signIn(page, admin);
  await page.getByRole("button", { name: "Pause frame-one" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  await expect(dialog).toContainText("0 fires would fall into it");
});

test("the clock that was chosen before is not chosen again by a visit to its field", async ({ page, admin }) => {
  await page.goto("/ns/default/schedules");
  await signIn(page, admin);
  const clock = page.getByRole("button", { name: /^Time zone of all times/ });
  const field = page.getByRole("combobox", { name: "Another zone" });
  await clock.click();
  await field.fill("Asia/Tokyo");
  await expect(clock).toContainText("Tokyo");
  await page.reload();
  await clock.click();
  await page.getByRole("radio", { name: "UTC", exact: true }).check();
  await expect(clock).toContainText("UTC");
  await field.click();
  await expect(page.getByRole("listbox", { name: "Suggestions" })).toBeVisible();
  await expect(clock).toContainText("UTC");
});
