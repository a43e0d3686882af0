import { hasNoViolations } from "../support/axe.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

const COMPARED = `
module: compared
namespace: compared
schedules:
  breaks: { when: "*/2 * * * * *", task: { target: { command: { script: "exit 3" } } } }
`;

test("namespaces are compared, and each leads to its own charts in the same range", async ({
  page,
  server,
  admin,
}) => {
  for (const name of ["compared", "unused"]) server.cli(["namespace", "create", name]);
  deploy(server, "compared", COMPARED);
  await page.goto("/all/metrics?range=6h");
  await signIn(page, admin);
  await page.getByRole("navigation", { name: "Metrics" }).getByRole("link", { name: "By namespace" }).click();
  await expect(page).toHaveURL(/\/all\/metrics\?range=6h&tab=namespaces/);
  const table = page.getByRole("table", { name: "Namespaces by runs" });
  const row = page.getByTestId("namespace-figures").filter({ hasText: "compared" });
  await expect(row.getByRole("img", { name: /^Runs that ended in compared: .*failed/ })).toBeVisible({
    timeout: 60_000,
  });
  await expect(row.getByRole("img", { name: /^p95 duration in compared: .*(ms|s)/ })).toBeVisible();
  // A namespace in which nothing happens is listed, too.
  const unused = page.getByTestId("namespace-figures").filter({ hasText: "unused" });
  await expect(unused.getByRole("img", { name: "Runs that ended in unused: 0" })).toBeVisible();
  await hasNoViolations(page, "metrics by namespace");

  await expect(row.locator("a.bad").first()).toHaveAttribute(
    "href",
    /^\/ns\/compared\/runs\?state=failed&q=finished/,
  );
  await table.getByRole("link", { name: "compared", exact: true }).click();
  await expect(page).toHaveURL(/\/ns\/compared\/metrics\?range=6h$/);
  await expect(page.getByRole("img", { name: /^Runs that ended: .*failed/ })).toBeVisible();
  await rest(server, "compared", "compared");
});

const STUCK = `
module: stuck
namespace: queued
workflows:
  nowhere: { runs_on: [no-such-node], tasks: [{ target: { noop: {} } }] }
schedules:
  stuck: { when: "*/2 * * * * *", workflow: nowhere }
`;

test("the depth of the queue is shown over the range, for a whole namespace", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "queued"]);
  deploy(server, "stuck", STUCK);
  await page.goto("/ns/queued/metrics?range=1h");
  await signIn(page, admin);
  // A run that no node may take waits until it is cancelled.
  const waiting = page.getByRole("img", { name: /^Waiting on average: at most 1, first at / });
  await expect(waiting).toBeVisible({ timeout: 90_000 });
  const queue = page.getByRole("region", { name: "Queue" });
  await expect(queue.getByRole("link", { name: "Alert me" })).toHaveAttribute("href", /on=late%2Cstalled/);
  await hasNoViolations(page, "metrics with a queue");
  await expect(queue).toContainText("drag to see the runs due then");
  await expect(queue).toContainText("Waiting for a node or a group");
  const plot = queue.locator(".chart-plot");
  await plot.scrollIntoViewIfNeeded();
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x + 2, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/\/runs\?from=[^&]+&until=/);
  await expect(page.getByTestId("run-row").first()).toContainText("stuck");

  await page.goto("/ns/queued/metrics?range=1h&schedule=stuck");
  await expect(queue.getByText("Queues are counted for namespaces as a whole")).toBeVisible();
  await rest(server, "stuck", "queued");
  const cancel = `mutation ($which: ManyInput!) { cancelRuns(which: $which, reason: "its test is over") { matched } }`;
  await server.ask(cancel, { which: { namespace: "queued", search: "state:queued" } });
});

test("a person of one namespace has nothing to compare", async ({ page, server }) => {
  server.cli(["namespace", "create", "alone"]);
  const only = await server.addMember("olga", "viewer", "alone");
  await page.goto("/ns/alone/metrics");
  await signIn(page, only);
  await expect(page.getByRole("img", { name: /^Runs that ended/ })).toBeVisible();
  // Its link, sent by a colleague, shows the namespace of this person and no other.
  await page.goto("/ns/alone/metrics?tab=namespaces");
  await expect(page.getByTestId("namespace-figures")).toHaveCount(1);
  await expect(page.getByRole("link", { name: "By namespace" })).toHaveCount(0);
});

test("a week is counted by the hours of a clock that is half an hour off", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "halfway"]);
  const ticks = `ticks: { when: "*/2 * * * * *", tags: [half], task: { target: { noop: {} } } }`;
  deploy(server, "halfway", `module: halfway\nnamespace: halfway\nschedules:\n  ${ticks}\n`);
  await page.addInitScript(() => localStorage.setItem("carillon.zone", "Asia/Kolkata"));
  await page.goto("/ns/halfway/metrics");
  await signIn(page, admin);
  // Roll-ups of more than two days ago are hours of UTC, so the page says that its hours are not those of the clock.
  const note = page.getByText("Each hour begins at :30");
  await expect(note).toBeVisible();

  const asked = page.waitForRequest((request) => {
    const sent = request.url().endsWith("/graphql") ? request.postDataJSON() : null;
    return sent?.variables?.tag === "half" && sent.variables.step === 900;
  });
  await page.goto("/ns/halfway/metrics?tag=half");
  await asked;
  const week = page.getByRole("img", { name: /^Runs by weekday and hour: [1-9]/ });
  await expect(week).toBeVisible({ timeout: 30_000 });
  await expect(note).toHaveCount(0);
  await rest(server, "halfway", "halfway");
});
