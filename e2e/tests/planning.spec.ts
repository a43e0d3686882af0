import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Request } from "@playwright/test";

import { hasNoViolations, hasNoViolationsInThemes, LOOKS } from "../support/axe.ts";
import { Clicks } from "../support/clicks.ts";
import { Server } from "../support/server.ts";
import { expect, openTab, signIn, signInFirst, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

/** A module with an example for every page of Plan, Build and Settings. */
const MODULE = `
module: planning
calendars:
  holidays: { mode: exclude, yearly: [12-25], weekdays: [sun] }
groups: { reports: 2 }
workflows:
  shared:
    tasks:
      - { name: first, target: { noop: {} } }
      - { name: second, needs: [first], target: { command: { script: "echo second" } } }
schedules:
  nightly: { when: "30 2 * * *", zone: Europe/Berlin, calendars: [holidays], workflow: shared }
  hourly: { when: "0 * * * *", group: reports, workflow: shared }
  also-hourly: { when: "0 * * * *", workflow: shared }
`;

interface Receiver {
  url: string;
  bodies: string[];
  close: () => void;
}

async function receiver(): Promise<Receiver> {
  const bodies: string[] = [];
  const server: HttpServer = createServer((request, answer) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      bodies.push(body);
      answer.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, bodies, close: () => server.close() };
}

test("a colleague who may only look is added in 5 clicks and comes in with the password shown once", async ({
  page,
  browser,
  server,
  admin,
}) => {
  await page.goto("/");
  await signIn(page, admin);
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "People and roles" }));
  await clicks.on(page.getByRole("button", { name: "Invite" }));
  await page.getByLabel("Name", { exact: true }).fill("colleague");
  await clicks.on(page.getByRole("dialog").getByRole("button", { name: "Invite" }));
  const password = (await page.getByTestId("shown-once").textContent()) ?? "";
  expect(clicks.count).toBeLessThanOrEqual(5);
  await expect(page.getByTestId("user-row").filter({ hasText: "colleague" })).toContainText("Viewer");

  const theirs = await browser.newContext({ baseURL: server.url });
  const other = await theirs.newPage();
  await other.goto("/");
  await signInFirst(other, { name: "colleague", password }, "staple battery horse");
  await other.goto("/backfills");
  await expect(other.getByRole("heading", { name: "Backfills" })).toBeVisible();
  await expect(other.getByRole("link", { name: "New backfill" })).toHaveCount(0);
  await theirs.close();
});

test("the password of a user is shown even if the form was closed before the answer", async ({ page, admin }) => {
  await page.goto("/settings/people");
  await signIn(page, admin);
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const isInvitation = (request: Request) =>
    request.url().endsWith("/graphql") && String(request.postDataJSON()?.query).includes("createUser(");
  await page.route("**/graphql", async (route) => {
    if (isInvitation(route.request())) await released;
    await route.fallback();
  });
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog", { name: "Invite a user" });
  await dialog.getByLabel("Name", { exact: true }).fill("closed-early");
  const asked = page.waitForRequest(isInvitation);
  await dialog.getByRole("button", { name: "Invite" }).click();
  await asked;
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  release();
  await expect(page.getByTestId("shown-once")).toBeVisible();
  await expect(page.getByTestId("user-row").filter({ hasText: "closed-early" })).toBeVisible();
});

test("a user is found by a part of the name", async ({ page, server, admin }) => {
  for (const name of ["seeker-anna", "seeker-bert"]) server.addPerson(name, "viewer");
  await page.goto("/settings/people");
  await signIn(page, admin);
  const rows = page.getByTestId("user-row");
  const field = page.getByLabel("Name contains");
  await expect(rows.filter({ hasText: "seeker-" })).toHaveCount(2);
  await field.fill("ER-BE");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("seeker-bert");
  // The view can be sent to a colleague.
  await page.reload();
  await expect(field).toHaveValue("ER-BE");
  await expect(rows).toHaveCount(1);
  await field.fill("no-such-name");
  await expect(page.getByText("No name contains this text.")).toBeVisible();
  await field.fill("");
  await expect(rows.filter({ hasText: "seeker-" })).toHaveCount(2);
});

test("inviting says who needs no invitation because of an identity provider", async ({ page, admin }) => {
  await page.goto("/settings/people");
  await signIn(page, admin);
  const hint = page.getByTestId("by-provider");
  await page.getByRole("button", { name: "Invite" }).click();
  await expect(page.getByText("A first password is generated")).toBeVisible();
  await expect(hint).toHaveCount(0);
  await page.keyboard.press("Escape");
  await page.route("**/auth/methods", (route) => route.fulfill({ json: { oidc: { name: "Acme ID" } } }));
  await page.getByRole("button", { name: "Invite" }).click();
  await expect(hint).toContainText("they sign in with Acme ID");
});

test("an alert is made and its channel tested in 5 clicks", async ({ page }) => {
  const hook = await receiver();
  const server = await Server.start({ CARILLON_EGRESS__PRIVATE_ADDRESSES: "true" });
  await page.goto(server.url);
  await signIn(page, server.addPerson("ada", "admin"));
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Alert rules" }));
  await clicks.on(page.getByRole("button", { name: "New channel" }));
  await page.getByLabel("Name", { exact: true }).fill("ops");
  await page.getByLabel("Address").fill(hook.url);
  await clicks.on(page.getByRole("button", { name: "Create and test" }));
  await expect(page.getByTestId("channel-row").filter({ hasText: "ops" })).toContainText("Sent");
  expect(hook.bodies.length).toBeGreaterThan(0);
  await clicks.on(page.getByRole("link", { name: "New rule" }));
  await page.getByLabel("Name", { exact: true }).fill("what-fails");
  await expect(page.getByTestId("look-back")).toBeVisible();
  await clicks.on(page.getByRole("button", { name: "Create rule" }));
  await expect(page.getByTestId("rule-row").filter({ hasText: "what-fails" })).toContainText("Listens");
  expect(clicks.count).toBeLessThanOrEqual(5);
  hook.close();
  await server.stop();
});

test("last week is backfilled in 5 clicks, and the exact list is seen before", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "planning", MODULE);
  await page.goto("/");
  await signIn(page, admin);
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Backfills" }));
  await clicks.on(page.getByRole("link", { name: "New backfill" }));
  await page.getByLabel("Schedule", { exact: true }).fill("hourly");
  await clicks.on(page.getByRole("button", { name: "Last week" }));
  await expect(page.getByTestId("would-run")).toContainText("168 of 168");
  await expect(page.getByTestId("past-fire").first()).toContainText("Nothing ran");
  await page.getByLabel("Reason").fill("the receiver was down");
  await clicks.on(page.getByRole("button", { name: "Start backfill" }));
  await expect(page.getByRole("heading", { name: "Backfill of hourly" })).toBeVisible();
  await expect(page.getByTestId("backfill-fire").first()).toBeVisible();
  expect(clicks.count).toBeLessThanOrEqual(5);
});

test("a schedule's definition and menu lead to what they name", async ({ page, admin, server }) => {
  deploy(server, "planning", MODULE);
  await page.goto("/schedules?q=schedule:nightly");
  await signIn(page, admin);
  await page.getByRole("link", { name: "nightly", exact: true }).click();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("link", { name: "Backfill …" }).click();
  await expect(page).toHaveURL(/backfills\/new\?schedule=nightly/);
  await expect(page.getByLabel("Schedule", { exact: true })).toHaveValue("nightly");
  await page.goBack();
  for (const [link, address] of [["shared", /\/workflows\//], ["holidays", /\/calendars\//]] as const) {
    await openTab(page, "Definition");
    await page.getByRole("main").getByRole("link", { name: link, exact: true }).click();
    await expect(page).toHaveURL(address);
    await page.goBack();
  }
});

test("what an edit changes in the next 30 days is seen before it is saved", async ({ page, admin, server }) => {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ name: "to-be-moved", timing: { expressions: ["0 4 * * *"] }, task })]);
  await page.goto("/schedules?q=schedule:to-be-moved");
  await signIn(page, admin);
  await page.getByRole("link", { name: "to-be-moved" }).click();
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  const effect = page.getByTestId("preview-effect");
  await expect(effect).toContainText("stay as they are");
  await page.getByLabel("Expression 1").fill("0 5 * * *");
  await expect(effect).toContainText("30 fires are new and 30 are gone");
});

test("a day that is clicked in a calendar's year shows what it takes away before it is saved", async ({
  page,
  admin,
  server,
}) => {
  await server.ask("mutation { createCalendar(input: { name: \"by-hand\", mode: EXCLUDE }) { calendar { id } } }", {});
  await server.ask(
    `mutation { createSchedule(input: { name: "suppressed", timing: { expressions: ["0 * * * *"] },
      calendars: ["by-hand"], task: { target: { noop: {} } } }) { schedule { id } } }`,
    {},
  );
  await page.goto("/calendars");
  await signIn(page, admin);
  await page.getByRole("link", { name: "by-hand" }).click();
  await expect(page.getByRole("link", { name: "suppressed" })).toBeVisible();
  const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  await page.locator(`#day-${tomorrow}`).click();
  await expect(page.locator(`#day-${tomorrow}`)).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByTestId("effect")).toContainText("24 fires fewer");
  await page.getByRole("button", { name: "Save changes" }).click();
  const rows = page.getByTestId("calendar-row");
  await expect(rows.filter({ hasText: "by-hand" })).toContainText("1 day");
  await page.getByLabel("Name contains").fill("Y-HAN");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("by-hand");
  await page.getByLabel("Name contains").fill("no-such-name");
  await expect(page.getByText("No name contains this text.")).toBeVisible();
});

test("a file is planned before it is deployed, and a second plan changes nothing", async ({ page, admin }) => {
  const file = "module: from-console\nschedules:\n  declared: { when: '0 5 * * *', task: { target: { noop: {} } } }\n";
  await page.goto("/modules/deploy");
  await signIn(page, admin);
  await page.getByLabel("YAML or JSON").fill(file);
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  await expect(page.getByTestId("plan")).toContainText("from-console");
  await expect(page.getByTestId("plan-row").filter({ hasText: "declared" })).toContainText("Make");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await expect(page.getByRole("heading", { name: "from-console" })).toBeVisible();
  await expect(page.getByText("All is as it was declared")).toBeVisible();
});

test("what operators changed of a module is reverted or adopted after a dialog has shown it", async ({ page, server, admin }) => {
  const one = (name: string) => `  ${name}: { when: "0 4 1 1 *", task: { target: { noop: {} } } }\n`;
  const head = "module: tide\nnamespace: tides\nschedules:";
  server.cli(["namespace", "create", "tides"]);
  deploy(server, "tide", `${head}\n${one("tide-nightly")}${one("tide-weekly")}`);
  const pause = (name = "tide-nightly") =>
    server.cli(["pause", name, "--namespace", "tides", "--reason", "stock-taking"]);
  pause();
  await page.goto("/ns/tides/modules/named/tide");
  await signIn(page, admin);
  const main = page.getByRole("main");
  await expect(page.getByTestId("drift-row")).toContainText("stock-taking");
  await hasNoViolations(page, "a module that drifted");
  await main.getByRole("button", { name: "Revert", exact: true }).click();
  const revert = page.getByRole("dialog", { name: "Revert the drift" });
  await expect(revert.getByTestId("settled")).toContainText("paused true → nothing");
  await revert.getByRole("button", { name: "Revert", exact: true }).click();
  await expect(revert).toContainText(/give a reason/i);
  await expect(revert).not.toContainText("Close and open this dialog");
  await revert.getByLabel("Reason").fill("as agreed");

  // What the dialog does not show is not reverted.
  pause("tide-weekly");
  await revert.getByRole("button", { name: "Revert", exact: true }).click();
  await expect(revert).toContainText("Close and open this dialog to see what is left.");
  await expect(page.getByTestId("drift-row")).toHaveCount(2);
  await revert.getByRole("button", { name: "Close", exact: true }).click();
  await main.getByRole("button", { name: "Revert", exact: true }).click();
  await expect(revert.getByTestId("settled")).toContainText("tide-weekly");
  await revert.getByLabel("Reason").fill("as agreed");
  await revert.getByRole("button", { name: "Revert", exact: true }).click();
  await expect(revert).toBeHidden();
  await expect(page.getByText("All is as it was declared")).toBeVisible();
  // The button that had the focus is gone.
  await expect(page.getByRole("heading", { name: "Drift" })).toBeFocused();

  // The page shows a new difference by itself.
  pause();
  await expect(page.getByTestId("drift-row")).toContainText("stock-taking");
  await main.getByRole("button", { name: "Adopt", exact: true }).click();
  const adopt = page.getByRole("dialog", { name: "Adopt the drift" });
  await expect(adopt.getByTestId("settled")).toContainText("paused nothing → true");
  await adopt.getByLabel("Reason").fill("it stays");
  await adopt.getByRole("button", { name: "Adopt", exact: true }).click();
  // The file has to be replaced as well: the export is offered at once.
  await expect(page.getByRole("dialog", { name: "Export" })).toContainText("paused: true");
  await page.getByRole("dialog", { name: "Export" }).getByRole("button", { name: "Close", exact: true }).click();
  await expect(page.getByText("All is as it was declared")).toBeVisible();
  await expect(page.getByRole("heading", { name: "Drift" })).toBeFocused();

  for (const action of ["module.revert_drift", "module.adopt_drift"]) {
    await page.goto("/ns/tides/audit");
    const changes = page.getByTestId("audit-row").filter({ hasText: action });
    await changes.first().getByRole("link", { name: "tide", exact: true }).click();
    await expect(page.getByRole("heading", { name: "tide", level: 1 })).toBeVisible();
  }
});

test("adopting the loss of all that a module declares leads to the list of modules", async ({ page, server, admin }) => {
  const namespace = "ebbs";
  server.cli(["namespace", "create", namespace]);
  const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const window = `  Low water: { start: "${at(20)}", end: "${at(21)}", search: "", missed: skip }\n`;
  deploy(server, "ebb", `module: ebb\nnamespace: ${namespace}\nmaintenance_windows:\n${window}`);
  const list = `query ($namespace: String) { maintenanceWindows(namespace: $namespace) { nodes { id } } }`;
  interface Windows {
    maintenanceWindows: { nodes: { id: string }[] };
  }
  const { maintenanceWindows } = await server.ask<Windows>(list, { namespace });
  const { id } = maintenanceWindows.nodes[0]!;
  server.cli(["maintenance", "cancel", id, "--reason", "no tide"]);

  await page.goto(`/ns/${namespace}/modules/named/ebb`);
  await signIn(page, admin);
  await page.getByRole("main").getByRole("button", { name: "Adopt", exact: true }).click();
  const adopt = page.getByRole("dialog", { name: "Adopt the drift" });
  await adopt.getByLabel("Reason").fill("it is off");
  await adopt.getByRole("button", { name: "Adopt", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Modules", exact: true })).toBeVisible();
  await expect(page.getByText("No module yet")).toBeVisible();
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("the busiest hour and its collisions are found without what starts each minute", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "load"]);
  const one = (name: string, when: string) => `  ${name}: { when: "${when}", task: { target: { noop: {} } } }\n`;
  const schedules = one("often", "* * * * *") + one("pair-a", "30 4 * * *") + one("pair-b", "30 4 * * *");
  deploy(server, "load", `module: load\nnamespace: load\nschedules:\n${schedules}`);
  await page.goto("/ns/load/upcoming");
  await signIn(page, admin);
  const frequent = page.getByTestId("frequent");
  await expect(frequent).toContainText("Without 1 schedule that starts each minute or more often: 60 starts an hour.");
  await expect(page.getByText("The busiest hour has 2 starts.")).toBeVisible();
  const collisions = page.getByTestId("collision-row");
  await expect(collisions).toHaveCount(1);
  await expect(collisions).toContainText("pair-a");
  await expect(collisions).not.toContainText("often");
  // A schedule that a module declares has no form in which it could be moved.
  await expect(collisions).toContainText("declared by load");
  await expect(collisions.getByRole("link", { name: /^Spread/ })).toHaveCount(0);

  const without = frequent.getByRole("button", { name: "Without frequent ones" });
  await expect(without).toHaveAttribute("aria-pressed", "true");
  await without.click();
  await expect(frequent).toContainText("With 1 schedule");
  await expect(page.getByText("The busiest hour has 62 starts.")).toBeVisible();
  await expect(collisions).toContainText("often");
  await page.reload();
  await expect(without).toHaveAttribute("aria-pressed", "false");
});

test("what is to come is seen by day, week and month, with what suppresses it", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "spans"]);
  const task = "task: { target: { noop: {} } }";
  deploy(
    server,
    "spans",
    `module: spans
namespace: spans
calendars:
  closed: { mode: exclude, weekdays: [sun] }
  at-night: { mode: exclude, windows: [{ from: "22:00", to: "06:00" }] }
schedules:
  weekdays: { when: "15 4 * * *", calendars: [closed], ${task} }
  daily: { when: "15 4 * * *", ${task} }
  by-day: { when: "0 3,7 * * *", calendars: [at-night], ${task} }
  rests: { when: "0 5 * * *", ${task} }
`,
  );
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const until = `${inDays(10)}T12:00:00Z`;
  server.cli(["pause", "rests", "--namespace", "spans", "--reason", "rest", "--until", until]);
  await page.goto("/ns/spans/upcoming");
  await signIn(page, admin);
  const spans = page.getByRole("navigation", { name: "Span of time" });
  await expect(spans.getByRole("link", { name: "Week" })).toHaveAttribute("aria-current", "true");
  const bands = page.getByTestId("band");
  await expect(bands).toHaveCount(3);
  await expect(bands.filter({ hasText: "closed" })).toContainText("suppresses its entries, for 1 schedule");
  await expect(bands.filter({ hasText: "at-night" }).locator(".band")).toHaveCount(8);
  await expect(bands.filter({ hasText: "at-night" }).locator("[data-cover=part]")).toHaveCount(8);

  await spans.getByRole("link", { name: "Month" }).click();
  await expect(page).toHaveURL(/view=month/);
  const days = page.getByTestId("month-day");
  await expect(days).toHaveCount(35);
  await expect(page.getByText("The busiest has 3 starts.", { exact: false })).toBeVisible();
  const rests = bands.filter({ hasText: "rests" });
  await expect(rests).toContainText("paused until");
  await expect(rests.locator("[data-cover=all]")).toHaveCount(10);
  await expect(rests.locator("[data-cover=part]")).toHaveCount(1);
  await expect(bands.filter({ hasText: "closed" }).locator("[data-cover=all]")).toHaveCount(5);

  const sunday = [1, 2, 3, 4, 5, 6, 7].map(inDays).find((day) => new Date(day).getUTCDay() === 0)!;
  const cell = page.locator(`[data-testid="month-day"][href*="day=${sunday}"]`);
  await expect(cell).toHaveAccessibleName(/2 starts$/);
  await cell.click();
  await expect(page).toHaveURL(new RegExp(`view=day&day=${sunday}`));
  await expect(page.getByTestId("day")).toContainText("Sun");
  const hour = (name: string) => page.getByTestId("day-hour").filter({ hasText: name });
  await expect(page.getByTestId("day-hour")).toHaveCount(24);
  await expect(hour("04:00").getByRole("button")).toHaveAttribute("aria-pressed", "true");
  await expect(hour("03:00").getByRole("cell").first()).toHaveText("0");
  await expect(bands.filter({ hasText: "closed" }).locator("[data-cover=all]")).toHaveCount(1);

  await page.getByRole("link", { name: "The day after" }).click();
  await expect(page.getByTestId("day")).toContainText("Mon");
  await expect(hour("04:00").getByRole("cell").first()).toHaveText("2");
  await expect(page.getByTestId("collision-row")).toContainText("daily");
  await hour("07:00").getByRole("button").click();
  await expect(hour("07:00").getByRole("button")).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByText("No two schedules start in the same minute.")).toBeVisible();
  await expect(bands.filter({ hasText: "closed" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByTestId("day")).toContainText("Mon");
});

test("the schedules without a tag are a group that leads to its list", async ({ page, server, admin }) => {
  const one = (name: string, tags: string) =>
    `  ${name}: { when: "@yearly", tags: [${tags}], task: { target: { noop: {} } } }\n`;
  deploy(server, "grouped", `module: grouped\nschedules:\n${one("grouped-bare", "")}${one("grouped-red", "red")}`);
  await page.goto("/schedules?q=name:grouped-&group=tag");
  await signIn(page, admin);
  const rows = page.getByTestId("schedule-row");
  await expect(rows).toHaveCount(2);
  const groups = page.getByTestId("schedule-groups");
  await groups.getByRole("link", { name: /^without a tag\s*1$/ }).click();
  await expect(page).toHaveURL(/no%3Atag|no:tag/);
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("grouped-bare");
  await groups.getByRole("link", { name: /^without a tag/ }).click();
  await expect(rows).toHaveCount(2);
});

test("another browser is signed out once one is asked", async ({ page, browser, admin, server }) => {
  const other = await browser.newContext();
  const away = await other.newPage();
  await away.goto(server.url);
  await signIn(away, admin);
  await page.goto("/settings/tokens?tab=sessions");
  await signIn(page, admin);
  const rows = page.getByTestId("session-row");
  await expect(rows.filter({ hasText: "This one" })).toHaveCount(1);
  const before = await rows.count();
  await rows.getByRole("button", { name: "Sign out" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Sign out a browser" });
  await expect(dialog).toContainText("its open connections end within seconds");
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await expect(rows).toHaveCount(before - 1);
  await other.close();
});

test("an administrator sees where a colleague is signed in, and signs them out everywhere", async ({
  page,
  browser,
  admin,
  server,
}) => {
  const colleague = server.addPerson("signed-in-twice", "viewer");
  const contexts = [await browser.newContext(), await browser.newContext()];
  const theirs = await Promise.all(contexts.map((context) => context.newPage()));
  for (const other of theirs) {
    await other.goto(server.url);
    await signIn(other, colleague);
  }
  await page.goto("/settings/people");
  await signIn(page, admin);
  const row = page.getByTestId("user-row").filter({ hasText: colleague.name });
  await row.getByRole("button", { name: "Sessions" }).click();
  const dialog = page.getByRole("dialog", { name: "Sessions", exact: true });
  const sessions = dialog.getByTestId("user-session");
  await expect(sessions).toHaveCount(2);
  await expect(sessions.first()).toContainText(/Chrome \d+ on Linux at 127\.0\.0\.1/);
  await expect(sessions.first()).toContainText(/Signed in .* Last used/);
  await hasNoViolations(page, "sessions of a colleague");

  await sessions.first().getByRole("button", { name: "Sign out" }).click();
  const one = page.getByRole("dialog", { name: "Sign out a browser" });
  await hasNoViolations(page, "sign out a browser");
  await one.getByRole("button", { name: "Sign out" }).click();
  await expect(one).toBeHidden();
  await expect(sessions).toHaveCount(1);

  await dialog.getByRole("button", { name: "Sign out everywhere" }).click();
  const all = page.getByRole("dialog", { name: "Sign out everywhere", exact: true });
  await expect(all).toContainText("Tokens and calendar feeds keep working");
  await all.getByRole("button", { name: "Sign out everywhere" }).click();
  await expect(dialog).toContainText("No browser has an open session.");
  for (const other of theirs) {
    await other.reload();
    await expect(other.getByRole("heading", { name: "Sign in" })).toBeVisible();
  }
  for (const context of contexts) await context.close();
  // The administrator is still signed in, and the audit log has both changes.
  await page.goto(`/all/audit?kind=session&subject=${colleague.name}`);
  const entries = page.getByTestId("audit-row");
  await expect(entries).toHaveCount(2);
  await expect(entries.filter({ hasText: "session.revokeAll" })).toHaveCount(1);
});

test("all other browsers are signed out at once", async ({ page, browser, server }) => {
  const person = server.addPerson("many-browsers", "viewer");
  const context = await browser.newContext();
  const other = await context.newPage();
  await other.goto(server.url);
  await signIn(other, person);
  await page.goto("/settings/tokens?tab=sessions");
  await signIn(page, person);
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(2);
  await page.getByRole("button", { name: "Sign out everywhere else" }).click();
  const dialog = page.getByRole("dialog", { name: "Sign out everywhere else" });
  await expect(dialog).toContainText("You stay signed in here.");
  await dialog.getByRole("button", { name: "Sign out everywhere" }).click();
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("This one");
  await other.reload();
  await expect(other.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await context.close();
});

test("a token is shown once, works, and is revoked", async ({ page, admin, server }) => {
  await page.goto("/settings/tokens");
  await signIn(page, admin);
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByLabel("Name", { exact: true }).fill("dashboard");
  await page.getByRole("button", { name: "Create token" }).click();
  const token = (await page.getByTestId("shown-once").textContent()) ?? "";
  const ask = () =>
    fetch(`${server.url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: "{ me { name } }" }),
    });
  expect(await (await ask()).text()).toContain("dashboard");
  const row = page.getByTestId("token-row").filter({ hasText: "dashboard" });
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(row).toContainText("Revoked");
  expect(await (await ask()).text()).toContain("UNAUTHENTICATED");
});

test("a namespace leads to its pages, and its numbers to what they count", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "lagoon"]);
  const tide = `tide: { when: "0 4 1 1 *", task: { target: { noop: {} } } }`;
  deploy(server, "lagoon", `module: lagoon\nnamespace: lagoon\nschedules:\n  ${tide}\n`);
  await page.goto("/ns/default/settings/namespaces");
  await signIn(page, admin);
  const row = page.getByTestId("namespace-row").filter({ hasText: "lagoon" });
  await expect(row.getByRole("link", { name: "lagoon" })).toHaveAttribute("href", /^\/ns\/lagoon\/?$/);
  await row.getByRole("link", { name: "1", exact: true }).click();
  await expect(page).toHaveURL(/\/ns\/lagoon\/schedules$/);
  await expect(page.getByTestId("schedule-row").filter({ hasText: "tide" })).toBeVisible();
});

/** The frame around these pages is looked at in accessibility.spec.ts. */
const PAGES: [string, string][] = [
  ["/alerts", "Alerts"],
  ["/settings/alerts", "Alert rules and channels"],
  ["/settings/alerts?tab=deliveries", "Alert rules and channels"],
  ["/settings/alerts/new", "New alert rule"],
  ["/calendars", "Calendars"],
  ["/calendars/new", "New calendar"],
  ["/maintenance", "Maintenance"],
  ["/maintenance?tab=earlier", "Maintenance"],
  ["/maintenance/new", "Plan maintenance"],
  ["/backfills", "Backfills"],
  ["/backfills/new", "New backfill"],
  ["/timeline", "Timeline"],
  ["/timeline?range=1h&sort=busiest", "Timeline"],
  ["/upcoming", "Upcoming"],
  ["/upcoming?measure=work", "Upcoming"],
  ["/upcoming?view=day", "Upcoming"],
  ["/upcoming?view=month", "Upcoming"],
  ["/upcoming?tab=clocks", "Upcoming"],
  ["/what-if", "What if"],
  ["/groups", "Groups"],
  ["/workflows", "Workflows"],
  ["/workflows/new", "New workflow"],
  ["/workflows/new?tab=text", "New workflow"],
  ["/modules", "Modules"],
  ["/modules/named/planning", "planning"],
  ["/settings/profile", "Profile"],
  ["/settings/people", "People and roles"],
  ["/settings/people?tab=members", "People and roles"],
  ["/settings/people?tab=roles", "People and roles"],
  ["/settings/tokens", "Tokens and sessions"],
  ["/settings/tokens?tab=sessions", "Tokens and sessions"],
  ["/settings/tokens?tab=password", "Tokens and sessions"],
  ["/settings/secrets", "Secrets"],
  ["/settings/namespaces", "Namespaces and retention"],
  ["/settings/feeds", "Calendar feeds"],
];

for (const look of LOOKS) {
  const { width } = look;
  test.describe(`${width} wide`, () => {
    test.use({ viewport: { width, height: 900 } });

    test("no page of Plan, Build and Settings has a violation or is wider than the window", async ({
      page,
      server,
      admin,
    }) => {
      test.slow();
      deploy(server, "planning", MODULE);
      await page.goto("/");
      await signIn(page, admin);
      for (const [path, name] of PAGES) {
        await page.goto(`/ns/default${path}`);
        await expect(page.getByRole("heading", { name, exact: true, level: 1 })).toBeVisible();
        await expect(page.getByText("Loading", { exact: false })).toHaveCount(0);
        await hasNoViolationsInThemes(page, path, look);
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect.soft(overflow, `${path} is too wide at ${width}`).toBeLessThanOrEqual(0);
      }
      interface Found {
        workflow: { id: string };
        calendars: { nodes: { id: string }[] };
      }
      const query = `query { workflow(name: "shared") { id } calendars(first: 1) { nodes { id } } }`;
      const { workflow, calendars } = await server.ask<Found>(query, {});
      const single = [`workflows/${workflow.id}`, `workflows/${workflow.id}?tab=versions`, `calendars/${calendars.nodes[0]!.id}`];
      for (const path of single) {
        await page.goto(`/ns/default/${path}`);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await expect(page.locator(".loading, .page-loading")).toHaveCount(0);
        await hasNoViolationsInThemes(page, path, look);
      }
    });
  });
}
