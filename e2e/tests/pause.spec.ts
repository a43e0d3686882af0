import type { Page } from "@playwright/test";

import type { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

const MODULE = `
module: pause
schedules:
  to-be-paused:
    when: "* * * * * *"
    task: { target: { noop: {} } }
  witness:
    when: "* * * * * *"
    task: { target: { noop: {} } }
`;

test.afterAll(async ({ server }) => {
  await rest(server, "pause");
  await rest(server, "pause-fleet");
});

/** The instants in the ledger, newest first. */
const ledger = (page: Page) =>
  page
    .getByTestId("ledger-row")
    .evaluateAll((rows) =>
      rows.map((row) => row.querySelector("time")?.getAttribute("datetime") ?? ""),
    );

test("a schedule that is paused with a reason does not fire again", async ({
  page,
  context,
  server,
  admin,
}) => {
  deploy(server, "pause", MODULE);
  await page.goto("/schedules?q=name:to-be-paused");
  await signIn(page, admin);
  await page.getByRole("link", { name: "to-be-paused" }).click();
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();

  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  // The dialog lists the exact fires that the pause suppresses: a few at first, more on request.
  const suppressed = dialog.getByTestId("suppressed-fire");
  await expect(suppressed).toHaveCount(5);
  await dialog.getByRole("button", { name: /^Show more/ }).click();
  await expect(suppressed).toHaveCount(200);
  await dialog.getByLabel("Reason").fill("the database moves tonight");
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByTestId("schedule-state")).toHaveAttribute("data-state", "paused");
  await expect(page.getByText("the database moves tonight")).toBeVisible();

  // Another schedule that continues shows the passage of time: three more of its fires mean three
  // more instants at which the paused schedule would have fired.
  const other = await context.newPage();
  await other.goto("/schedules?q=name:witness");
  await other.getByRole("link", { name: "witness" }).click();
  const passes = async (instants: number) => {
    const newest = (await ledger(other))[0] ?? "";
    await expect
      .poll(async () => (await ledger(other)).filter((instant) => instant > newest).length)
      .toBeGreaterThanOrEqual(instants);
  };
  await expect(other.getByTestId("ledger-row").first()).toBeVisible();
  await passes(1);
  await page.reload();
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();
  const before = (await ledger(page))[0];
  await passes(3);
  await page.reload();
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();
  expect((await ledger(page))[0]).toBe(before);

  // After it is resumed, the schedule fires again.
  await page.getByRole("button", { name: "Resume" }).click();
  const resume = page.getByRole("dialog", { name: "Resume schedule" });
  // Each choice lists the outcomes of the fires of the pause.
  await expect(resume.getByTestId("resumed-fire").filter({ hasText: "does not run" }).first()).toBeVisible();
  await expect(resume.getByTestId("resumed-fire").filter({ hasText: / runs$/ }).first()).toBeVisible();
  await resume.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByTestId("schedule-state")).toHaveAttribute("data-state", "active");
  await expect.poll(async () => (await ledger(page))[0]).not.toBe(before);
});

/** The number of a schedule's fires that have fallen into its pause. */
const suppressed = async (server: Server, name: string) => {
  const query = `query ($name: String!) { schedule(name: $name) { pausedFires(first: 1) { totalCount } } }`;
  const { schedule } = await server.ask<PausedFires>(query, { name });
  return schedule.pausedFires.totalCount;
};

interface PausedFires {
  schedule: { pausedFires: { totalCount: number } };
}

const FLEET = `
module: pause-fleet
schedules:
  fleet-one:
    when: "* * * * * *"
    tags: [pause-fleet]
    task: { target: { noop: {} } }
    ping: { success: "https://watchdog.invalid/fleet" }
  fleet-two: { when: "* * * * * *", tags: [pause-fleet], task: { target: { noop: {} } } }
`;

test("a bulk pause lists fires, and its end lets choose what becomes of them", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "pause-fleet", FLEET);
  await page.goto("/schedules?q=tag:pause-fleet");
  await signIn(page, admin);
  const rows = page.getByTestId("schedule-row");
  await expect(rows).toHaveCount(2);
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  const dialog = page.getByRole("dialog");
  const effect = dialog.getByTestId("bulk-effect");
  await page.getByLabel("Select all on this page").click();
  await bar.getByRole("button", { name: "Pause" }).click();
  await expect(effect).toContainText(/fires of 2 schedules would fall into it until/);
  await expect(effect.getByRole("listitem").filter({ hasText: "fleet-one" })).toContainText("more");
  await expect(effect).toContainText("The watchdog of fleet-one is not called during the pause, and will raise an alarm");
  await dialog.getByLabel("Reason").fill("maintenance");
  await dialog.getByRole("button", { name: "Pause 2 schedules" }).click();
  const paused = rows.and(page.locator("[data-state=paused]"));
  await expect(paused).toHaveCount(2);
  // The dialog loads the fires of the pauses only once, so wait until there are some.
  for (const name of ["fleet-one", "fleet-two"]) {
    await expect.poll(() => suppressed(server, name)).toBeGreaterThan(0);
  }

  await page.getByLabel("Select all on this page").click();
  await bar.getByRole("button", { name: "Resume" }).click();
  await expect(effect).toContainText("fleet-two");
  await dialog.getByLabel("Start all, as its catch-up limits allow").check();
  await expect(effect.getByTestId("resumed-fire").filter({ hasText: / runs$/ }).first()).toBeVisible();
  await dialog.getByRole("button", { name: "Resume 2 schedules" }).click();
  await expect(paused).toHaveCount(0);
});

const ENDS = `
module: pause-ends
schedules:
  ends-alone: { when: "*/5 * * * * *", task: { target: { noop: {} } } }
`;

test("a pause with an end lists the fires of each choice, and says what runs then", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "pause-ends", ENDS);
  await page.goto("/schedules?q=name:ends-alone");
  await signIn(page, admin);
  await page.getByRole("link", { name: "ends-alone" }).click();
  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  await expect(dialog.getByTestId("suppressed-fire")).toHaveCount(5);
  // A pause without an end leaves the choice to the resume.
  await expect(dialog.getByRole("radio")).toHaveCount(0);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await dialog.getByLabel("Until").fill(`${tomorrow}T23:59`);
  await expect(dialog.getByRole("radio")).toHaveCount(3);
  const runs = dialog.getByTestId("resumed-fire").filter({ hasText: / runs$/ });
  await expect(runs.first()).toBeVisible();
  await dialog.getByLabel("Start the latest once").check();
  await dialog.getByLabel("Reason").fill("moved over night");
  await dialog.getByRole("button", { name: "Pause" }).click();
  await expect(page.locator(".pause-note")).toContainText(", then runs the latest");
  const query = `query ($name: String!) { schedule(name: $name) { pause { missed } } }`;
  const { schedule } = await server.ask<Ended>(query, { name: "ends-alone" });
  expect(schedule.pause.missed).toBe("LATEST");
});

interface Ended {
  schedule: { pause: { missed: string } };
}
