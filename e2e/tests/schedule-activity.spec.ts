import { expect, openTab, signIn, test } from "../support/test.ts";
import { openDialogHasNoViolations } from "../support/axe.ts";
import { deploy, rest } from "../support/world.ts";

const MODULE = `
module: activity
schedules:
  each-second: { when: "* * * * * *", task: { target: { noop: {} } } }
  with-rules:
    when: "* * * * * *"
    zone: Europe/Berlin
    overlap: buffer_one
    start_deadline: 90s
    misfire: { catch_up: skip }
    task: { target: { noop: {} } }
  waits:
    when: "* * * * * *"
    max_fires: 6
    overlap: buffer_all
    task: { target: { command: { script: "sleep 90" } } }
`;

test.afterAll(({ server }) => rest(server, "activity"));

test("the last days are strips, and a day narrows the ledger to it", async ({ page, server, admin }) => {
  deploy(server, "activity", MODULE);
  await page.goto("/schedules?q=name:each-second");
  await signIn(page, admin);
  await page.getByRole("link", { name: "each-second" }).click();
  const rows = page.getByTestId("ledger-row");
  await expect(rows.filter({ hasText: /succeeded/i }).first()).toBeVisible();

  // The days are counted once a minute, so the page is opened again.
  const strips = page.getByTestId("strip");
  await expect(async () => {
    await page.reload();
    await expect(strips).toHaveCount(7, { timeout: 2_000 });
  }).toPass();
  const [today, yesterday] = [strips.nth(0), strips.nth(1)];
  await expect(today).toContainText(/\d succeeded/);
  await expect(today.getByRole("img")).toHaveAccessibleName(/: .*\d succeeded/);
  await expect(yesterday).toContainText("nothing");

  // Nothing has happened yesterday.
  await yesterday.getByRole("button").click();
  await expect(yesterday.getByRole("button")).toHaveAttribute("aria-pressed", "true");
  await expect(page).toHaveURL(/from=.+until=/);
  await expect(page.getByText("No such fire")).toBeVisible();
  const range = page.getByTestId("ledger-range");
  await expect(range).toContainText(/Only fires from .+ until /);
  await page.reload();
  await expect(page.getByText("No such fire")).toBeVisible();

  // All of it has happened today, and today has no end yet.
  await today.getByRole("button").click();
  await expect(rows.first()).toBeVisible();
  await expect(page).not.toHaveURL(/until=/);
  await range.getByRole("button", { name: "All days" }).click();
  await expect(range).toHaveCount(0);
  await expect(page).not.toHaveURL(/from=/);
  await expect(rows.first()).toBeVisible();
});

test("a fire is explained with the rules that decided about it", async ({ page, server, admin }) => {
  deploy(server, "activity", MODULE);
  await page.goto("/schedules?q=name:with-rules");
  await signIn(page, admin);
  await page.getByRole("link", { name: "with-rules" }).click();
  await page.getByRole("button", { name: "Explain" }).first().click();
  const rules = page.getByRole("dialog").getByTestId("rules");
  await expect(rules).toContainText("Version 1, which still applies.");
  await expect(rules).toContainText("* * * * * * in Europe/Berlin");
  await expect(rules).toContainText("one fire waits for its end");
  await expect(rules).toContainText("has not started 1 min 30 s after it was due is skipped");
  await expect(rules).toContainText("could not start within 5 min are skipped");
  await page.keyboard.press("Escape");

  // The definition names the next clock changes.
  await openTab(page, "Definition");
  await expect(page.getByText(/^When the clocks of Berlin go forward, next on \w{3} \d+ Mar/)).toBeVisible();
  await expect(page.getByText(/^When they go back, next on \w{3} \d+ Oct/)).toBeVisible();
});

test("fires wait in a buffer, whose order an operator changes, and which is emptied", async ({ page, server, admin }) => {
  deploy(server, "activity", MODULE);
  await page.goto("/schedules?q=name:waits");
  await signIn(page, admin);
  await page.getByRole("link", { name: "waits" }).click();
  const waiting = page.getByTestId("buffered-fire");
  await expect(waiting).toHaveCount(5);
  const times = () => waiting.getByRole("rowheader").allInnerTexts();
  const before = await times();
  await waiting.nth(2).getByRole("button", { name: "Start next" }).click();
  const after = [before[2], before[0], before[1], before[3], before[4]];
  await expect.poll(times).toEqual(after);

  await waiting.first().getByRole("button", { name: "Remove" }).click();
  await expect(waiting).toHaveCount(4);
  const panel = page.getByRole("region", { name: "Waiting in the buffer" });
  await expect(panel).toContainText("4 fires");
  await panel.getByRole("button", { name: "Empty …" }).click();
  const dialog = page.getByRole("dialog", { name: "Empty the buffer" });
  await expect(dialog).toContainText("4 fires will not run");
  await openDialogHasNoViolations(page, "empty the buffer");
  await dialog.getByRole("button", { name: "Remove all" }).click();
  await expect(panel).toHaveCount(0);
});

test("the note of a schedule is an operator's, even if a module declares the schedule", async ({ page, server, admin }) => {
  deploy(server, "activity", MODULE);
  await page.goto("/schedules?q=name:with-rules");
  await signIn(page, admin);
  await page.getByRole("link", { name: "with-rules" }).click();
  const write = async (text: string) => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("button", { name: "Note …" }).click();
    await page.getByRole("dialog").getByLabel("Note").fill(text);
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("dialog")).toHaveCount(0);
  };
  await write("Ask the billing team before you run it again.");
  await expect(page.locator(".note")).toHaveText("Ask the billing team before you run it again.");
  await write("");
  await expect(page.locator(".note")).toHaveCount(0);
});

test("the runs of a schedule are filtered and sorted, and the address keeps it", async ({ page, server, admin }) => {
  deploy(server, "activity", MODULE);
  await page.goto("/schedules?q=name:each-second");
  await signIn(page, admin);
  await page.getByRole("link", { name: "each-second" }).click();
  await openTab(page, "Runs");
  const rows = page.getByTestId("run-row");
  await expect(rows.first()).toBeVisible();
  const states = page.getByRole("navigation", { name: "Runs by state" });
  await states.getByRole("link", { name: "Failed" }).click();
  await expect(page).toHaveURL(/tab=runs&state=failed/);
  await expect(page.getByText("No run of this schedule is in this state.")).toBeVisible();
  await states.getByRole("link", { name: "Succeeded" }).click();
  await expect(rows.and(page.locator("[data-state=succeeded]")).first()).toBeVisible();
  const took = page.getByRole("columnheader", { name: "Took" });
  await took.getByRole("button").click();
  await expect(took).toHaveAttribute("aria-sort", "ascending");
  await page.reload();
  await expect(took).toHaveAttribute("aria-sort", "ascending");
  await expect(states.getByRole("link", { name: "Succeeded" })).toHaveAttribute("aria-current", "true");
  await expect(rows.first()).toBeVisible();

  // Another tab begins without what belongs to this one.
  await openTab(page, "Activity");
  await expect(page).not.toHaveURL(/state=|sort=/);
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();
});

test("an address with a malformed id is no page", async ({ page, admin }) => {
  await page.goto("/schedules/not-an-id");
  await signIn(page, admin);
  const nothing = page.getByRole("heading", { name: "Nothing rings here" });
  await expect(nothing).toBeVisible();
  for (const path of ["schedules/not-an-id/edit", "backfills/x", "workflows/x", "workflows/x/edit", "calendars/x"]) {
    await page.goto(`/ns/default/${path}`);
    await expect(nothing, path).toBeVisible();
  }
});
