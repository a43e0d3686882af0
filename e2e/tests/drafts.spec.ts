import type { Locator, Page, Request } from "@playwright/test";

import { hasNoViolations } from "../support/axe.ts";
import { expect, signIn, test } from "../support/test.ts";

/** The note above a form whose earlier input is back; in a dialog, that of the dialog. */
function note(within: Page | Locator): Locator {
  return within.getByRole("status").filter({ hasText: "What you had typed is back." });
}

/** Everything that the browser keeps. */
function kept(page: Page): Promise<string> {
  return page.evaluate(() => JSON.stringify(localStorage));
}

/** Lets the server make a change, and holds its answer back until it is released. */
async function holdAnswer(page: Page, mutation: string) {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const sends = (request: Request) =>
    request.url().endsWith("/graphql") && String(request.postDataJSON()?.query).includes(`${mutation}(`);
  await page.route("**/graphql", async (route) => {
    if (!sends(route.request())) return route.fallback();
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
  });
  return { sent: page.waitForRequest(sends), release: () => release() };
}

test("an alert rule that is half typed survives a reload, and starts afresh once one asks", async ({ page, admin }) => {
  await page.goto("/ns/default/settings/alerts/new");
  await signIn(page, admin);
  const name = page.getByLabel("Name", { exact: true });
  const stalled = page.getByRole("checkbox", { name: /^Stalled:/ });
  await name.fill("half-typed");
  await stalled.check();
  await page.getByRole("checkbox", { name: "Quiet hours" }).check();
  await page.getByRole("button", { name: "Add hours" }).click();
  const windows = page.getByRole("group", { name: "Quiet hours" });
  await expect(windows).toHaveCount(2);
  await windows.last().getByLabel("Until").fill("07:30");
  await page.reload();
  await expect(note(page)).toBeVisible();
  await expect(name).toHaveValue("half-typed");
  await expect(stalled).toBeChecked();
  await expect(windows).toHaveCount(2);
  await expect(windows.last().getByLabel("Until")).toHaveValue("07:30");
  await hasNoViolations(page, "a restored alert rule");

  await page.getByRole("button", { name: "Start afresh" }).click();
  await expect(note(page)).toHaveCount(0);
  await expect(name).toHaveValue("");
  await expect(stalled).not.toBeChecked();
  await page.reload();
  await expect(name).toHaveValue("");
  await expect(note(page)).toHaveCount(0);
});

test("a rule that a link fills in does not bring back what was typed for another one", async ({ page, admin }) => {
  await page.goto("/ns/default/settings/alerts/new?on=late&search=tag:drafted");
  await signIn(page, admin);
  await page.getByLabel("Name", { exact: true }).fill("of the link");
  await page.goto("/ns/default/settings/alerts/new");
  await expect(page.getByTestId("look-back")).toBeVisible();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("");
  await page.goto("/ns/default/settings/alerts/new?on=late&search=tag:drafted");
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("of the link");
});

test("a calendar survives the end of the session, and is forgotten once it is saved", async ({ page, context, admin }) => {
  await page.goto("/ns/default/calendars/new");
  await signIn(page, admin);
  const name = page.getByLabel("Name", { exact: true });
  const saturday = page.getByRole("checkbox", { name: "Sat", exact: true });
  await name.fill("drafted-calendar");
  await saturday.check();
  await page.getByLabel("Ranges, one per line").fill("2027-07-01 to 2027-07-31");
  await context.clearCookies();
  await page.getByRole("button", { name: "Create calendar" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await signIn(page, admin);
  await expect(note(page)).toBeVisible();
  await expect(name).toHaveValue("drafted-calendar");
  await expect(saturday).toBeChecked();
  await expect(page.getByLabel("Ranges, one per line")).toHaveValue("2027-07-01 to 2027-07-31");
  await page.getByRole("button", { name: "Create calendar" }).click();
  await expect(page.getByTestId("calendar-row").filter({ hasText: "drafted-calendar" })).toBeVisible();
  await page.goto("/ns/default/calendars/new");
  await expect(name).toHaveValue("");
  await expect(note(page)).toHaveCount(0);
});

test("a copy of a schedule does not bring back what was typed for a new one", async ({ page, server, admin }) => {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ name: "copied", timing: { expressions: ["0 4 1 1 *"] }, task })]);
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("half-typed");
  await expect.poll(() => kept(page)).toContain("half-typed");
  await page.goto("/ns/default/schedules?q=schedule:copied");
  await page.getByRole("link", { name: "copied", exact: true }).click();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("link", { name: "Duplicate" }).click();
  await expect(name).toHaveValue("copied-copy");
  await expect(note(page)).toHaveCount(0);
  await page.goto("/ns/default/schedules/new");
  await expect(note(page)).toBeVisible();
  await expect(name).toHaveValue("half-typed");
});

test("what one user has typed is not shown to the next one at the same browser", async ({ page, context, server, admin }) => {
  const next = server.addPerson("next-at-the-browser", "editor");
  await page.goto("/ns/default/calendars/new");
  await signIn(page, admin);
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("of-the-first");
  await expect.poll(() => kept(page)).toContain("of-the-first");
  for (const [person, typed] of [[next, ""], [admin, "of-the-first"]] as const) {
    await context.clearCookies();
    await page.reload();
    await signIn(page, person);
    await expect(name).toHaveValue(typed);
    await expect(note(page)).toHaveCount(typed ? 1 : 0);
  }
  await page.getByRole("button", { name: "Start afresh" }).click();
  await expect.poll(() => kept(page)).not.toContain("carillon.draft");
});

test("a refusal that arrives after the form was left is shown as a notice", async ({ page, admin }) => {
  await page.goto("/ns/default/calendars/new");
  await signIn(page, admin);
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const creates = (request: Request) =>
    request.url().endsWith("/graphql") && String(request.postDataJSON()?.query).includes("createCalendar(");
  await page.route("**/graphql", async (route) => {
    if (creates(route.request())) await released;
    await route.fallback();
  });
  await page.getByLabel("Name", { exact: true }).fill("not a name!");
  const asked = page.waitForRequest(creates);
  await page.getByRole("button", { name: "Create calendar" }).click();
  await asked;
  await page.getByRole("link", { name: "Cancel" }).click();
  await expect(page).toHaveURL(/calendars$/);
  release();
  await expect(page.locator(".notice[data-state=failed]")).toContainText("a character that is not allowed in names");
});

test("a draft is forgotten once it is saved, also if its form was left before the answer came", async ({ page, admin }) => {
  await page.goto("/ns/default/calendars/new");
  await signIn(page, admin);
  const answer = await holdAnswer(page, "createCalendar");
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("left-in-flight");
  await expect.poll(() => kept(page)).toContain("left-in-flight");
  await page.getByRole("button", { name: "Create calendar" }).click();
  await answer.sent;
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Ledger", exact: true }).first().click();
  await expect(page).toHaveURL(/\/ledger$/);
  answer.release();
  await expect(page.locator(".notice").filter({ hasText: "left-in-flight is saved." })).toBeVisible();
  expect(await kept(page)).not.toContain("left-in-flight");
  // The answer does not take the user away from the page that is shown by now.
  await expect(page).toHaveURL(/\/ledger$/);
  await page.goto("/ns/default/calendars/new");
  await expect(name).toHaveValue("");
  await expect(note(page)).toHaveCount(0);
});

test("the answer to a dialog that was left does not lead away from another page", async ({ page, server, admin }) => {
  const create = `mutation ($input: CreateWorkflowInput!) { createWorkflow(input: $input) { workflow { id } } }`;
  const input = { name: "deleted-in-flight", tasks: [{ name: "main", target: { noop: {} } }] };
  const made = await server.ask<{ createWorkflow: { workflow: { id: string } } }>(create, { input });
  await page.goto(`/ns/default/workflows/${made.createWorkflow.workflow.id}`);
  await signIn(page, admin);
  const answer = await holdAnswer(page, "deleteWorkflow");
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete workflow" });
  await dialog.getByRole("button", { name: "Delete" }).click();
  await answer.sent;
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Ledger", exact: true }).first().click();
  await expect(page).toHaveURL(/\/ledger$/);
  answer.release();
  await expect(page.locator(".notice").filter({ hasText: "deleted-in-flight is deleted." })).toBeVisible();
  await expect(page).toHaveURL(/\/ledger$/);
});

test("a draft of a closed dialog is forgotten once it is saved", async ({ page, admin }) => {
  await page.goto("/ns/default/settings/feeds");
  await signIn(page, admin);
  const answer = await holdAnswer(page, "createCalendarFeed");
  const dialog = page.getByRole("dialog", { name: "New feed" });
  const name = dialog.getByLabel("Name", { exact: true });
  await page.getByRole("button", { name: "New feed" }).click();
  await name.fill("closed-in-flight");
  await expect.poll(() => kept(page)).toContain("closed-in-flight");
  await dialog.getByRole("button", { name: "Create feed" }).click();
  await answer.sent;
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  answer.release();
  const row = page.getByTestId("feed-row").filter({ hasText: "closed-in-flight" });
  await expect(row.getByRole("link", { name: "all of default" })).toHaveAttribute("href", "/ns/default/schedules");
  expect(await kept(page)).not.toContain("closed-in-flight");
  await page.getByRole("button", { name: "New feed" }).click();
  await expect(name).toHaveValue("");
  await expect(note(dialog)).toHaveCount(0);
});

test("what is typed into a form after the other one was sent stays", async ({ page, admin }) => {
  await page.goto("/ns/default/calendars/new");
  await signIn(page, admin);
  const answer = await holdAnswer(page, "createCalendar");
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("sent-first");
  await page.getByRole("button", { name: "Create calendar" }).click();
  await answer.sent;
  await page.getByRole("link", { name: "Cancel" }).click();
  await expect(page).toHaveURL(/calendars$/);
  await page.goBack();
  await expect(note(page)).toBeVisible();
  await name.fill("typed-later");
  await expect.poll(() => kept(page)).toContain("typed-later");
  answer.release();
  await expect(page.locator(".notice").filter({ hasText: "sent-first is saved." })).toBeVisible();
  expect(await kept(page)).toContain("typed-later");
  await expect(name).toHaveValue("typed-later");
  await page.getByRole("button", { name: "Start afresh" }).click();
});

test("a planned backfill survives leaving the page", async ({ page, admin }) => {
  await page.goto("/ns/default/backfills/new");
  await signIn(page, admin);
  await page.getByLabel("Reason").fill("half a reason");
  await page.getByLabel("Among these").selectOption("failed");
  await page.getByRole("link", { name: "Cancel" }).click();
  await expect(page).toHaveURL(/backfills$/);
  await page.goBack();
  await expect(note(page)).toBeVisible();
  await expect(page.getByLabel("Reason")).toHaveValue("half a reason");
  await expect(page.getByLabel("Among these")).toHaveValue("failed");
  await page.getByRole("button", { name: "Start afresh" }).click();
  await expect(note(page)).toHaveCount(0);
  await expect(page.getByLabel("Reason")).toHaveValue("");
  await expect(page.getByLabel("Among these")).toHaveValue("missing");
});

test("a module file survives a reload unless it may contain a credential", async ({ page, admin }) => {
  await page.goto("/ns/default/modules/deploy");
  await signIn(page, admin);
  const file = page.getByLabel("YAML or JSON");
  await file.fill("module: half-typed\n");
  await page.reload();
  await expect(note(page)).toBeVisible();
  await expect(file).toHaveValue("module: half-typed\n");
  await file.fill("module: half-typed\nsigning_secret: hush\n");
  await expect.poll(() => kept(page)).not.toContain("module: half-typed");
  expect(await kept(page)).not.toContain("hush");
  await page.reload();
  await expect(note(page)).toContainText("The file was not kept: enter it again.");
  await expect(file).toHaveValue("");
});

test("a channel in a dialog survives a reload without its address", async ({ page, admin }) => {
  await page.goto("/ns/default/settings/alerts?tab=channels");
  await signIn(page, admin);
  const dialog = page.getByRole("dialog", { name: "New channel" });
  const open = page.getByRole("button", { name: "New channel" });
  await open.click();
  await dialog.getByLabel("Name", { exact: true }).fill("half-typed-channel");
  await dialog.getByLabel("Kind").selectOption("Slack");
  await dialog.getByLabel("Address").fill("https://hooks.example.org/hush");
  await expect.poll(() => kept(page)).toContain("half-typed-channel");
  expect(await kept(page)).not.toContain("hush");
  await page.reload();
  await open.click();
  await expect(note(dialog)).toContainText("The address was not kept: enter it again.");
  await expect(dialog.getByLabel("Name", { exact: true })).toHaveValue("half-typed-channel");
  await expect(dialog.getByLabel("Kind")).toHaveValue("Slack");
  await expect(dialog.getByLabel("Address")).toHaveValue("");
  await dialog.getByLabel("Address").fill("{{ secrets.slack }}");
  await expect(note(dialog)).not.toContainText("not kept");
  await dialog.getByLabel("Kind").selectOption("Teams");
  await dialog.getByRole("button", { name: "Start afresh" }).click();
  await expect(dialog.getByLabel("Kind")).toHaveValue("Webhook");
  await expect(dialog.getByLabel("Name", { exact: true })).toHaveValue("");
  await expect(dialog.getByLabel("Address")).toHaveValue("");
  await expect(note(dialog)).toHaveCount(0);
});

test("tokens and feeds keep what is typed until they are made", async ({ page, admin }) => {
  await page.goto("/ns/default/settings/tokens");
  await signIn(page, admin);
  for (const [path, what, row] of [
    ["tokens", "token", "token-row"],
    ["feeds", "feed", "feed-row"],
  ] as const) {
    await page.goto(`/ns/default/settings/${path}`);
    const dialog = page.getByRole("dialog", { name: `New ${what}` });
    const open = page.getByRole("button", { name: `New ${what}` });
    const name = dialog.getByLabel("Name", { exact: true });
    await open.click();
    await name.fill(`drafted-${what}`);
    // Esc closes the dialog, and a slip of the hand costs nothing.
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
    await page.reload();
    await open.click();
    await expect(note(dialog)).toBeVisible();
    await expect(name).toHaveValue(`drafted-${what}`);
    await dialog.getByRole("button", { name: `Create ${what}` }).click();
    await expect(page.getByTestId(row).filter({ hasText: `drafted-${what}` })).toBeVisible();
    await open.click();
    await expect(name).toHaveValue("");
    await expect(note(dialog)).toHaveCount(0);
    await page.keyboard.press("Escape");
  }
});

test("what was typed for a version that was replaced is offered with what differs", async ({ page, server, admin }) => {
  const create = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }`;
  const input = { name: "replaced", timing: { expressions: ["@yearly"] }, task: { target: { noop: {} } } };
  const made = await server.ask<{ createSchedule: { schedule: { id: string } } }>(create, { input });
  const id = made.createSchedule.schedule.id;
  await page.goto(`/ns/default/schedules/${id}/edit`);
  await signIn(page, admin);
  const noted = page.getByLabel("Note", { exact: true });
  const expression = (number: number) => page.getByLabel(`Expression ${number}`, { exact: true });
  await expression(1).fill("0 4 1 1 *");
  await page.getByRole("button", { name: "Add expression" }).click();
  await expression(2).fill("0 5 1 1 *");
  await noted.fill("typed for the first version");
  await expect.poll(() => kept(page)).toContain("typed for the first version");
  const change = `mutation ($id: UUID!) {
    updateSchedule(input: { id: $id, expectedVersion: 1, priority: 7 }) { schedule { version } } }`;
  await server.ask(change, { id });
  await page.reload();
  const offer = page.getByTestId("earlier-draft");
  await expect(offer).toContainText("You had typed changes to version 1, and version 2 has replaced it since.");
  await expect(offer).toContainText("these fields of it: expressions, note, priority");
  await expect(noted).toHaveValue("");
  await hasNoViolations(page, "the offer of an earlier draft");
  await offer.getByRole("button", { name: "Use what was typed" }).click();
  await expect(offer).toHaveCount(0);
  await expect(noted).toHaveValue("typed for the first version");
  // The fields show what is sent, and a further expression has a field of its own.
  await expect(expression(1)).toHaveValue("0 4 1 1 *");
  await expect(expression(2)).toHaveValue("0 5 1 1 *");
  await page.getByRole("button", { name: "Add expression" }).click();
  await expect(expression(3)).toHaveValue("");
  await page.getByRole("button", { name: "Remove expression 3" }).click();
  await expect(expression(2)).toBeFocused();
  await page.reload();
  await expect(note(page)).toBeVisible();
  await expect(noted).toHaveValue("typed for the first version");
  await expect(offer).toHaveCount(0);
  await page.getByRole("button", { name: "Start afresh" }).click();
  await expect(noted).toHaveValue("");
  await expect(offer).toHaveCount(0);
});
