import { Server } from "../support/server.ts";
import { hasNoViolations, openDialogHasNoViolations } from "../support/axe.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

const MODULE = `
module: watch
schedules:
  fails:
    when: "*/2 * * * * *"
    tags: [watched]
    task: { target: { command: { script: "echo no; exit 3" } } }
  works:
    when: "* * * * * *"
    task: { target: { noop: {} } }
  overlaps:
    when: "* * * * * *"
    task: { target: { command: { script: "sleep 3" } } }
  slower: { when: "*/30 * * * * *", task: { target: { noop: {} } } }
`;

const ALERTED = `
module: alerted
namespace: alerted
alert_channels:
  hook: { kind: webhook, url: "https://hooks.invalid/" }
alert_rules:
  breaks: { on: [failed], channels: [hook] }
schedules:
  breaks: { when: "*/2 * * * * *", task: { target: { command: { script: "exit 3" } } } }
`;

test.afterAll(({ server }) => rest(server, "watch"));

test.beforeEach(async ({ page, server, admin }) => {
  deploy(server, "watch", MODULE);
  await page.goto("/");
  await signIn(page, admin);
});

test("the overview names what is wrong, and leads to it in one click", async ({ page }) => {
  await expect(page.getByTestId("work").getByRole("link", { name: /schedules? fails? now/ })).toBeVisible();
  const problem = page.getByTestId("problem").filter({ hasText: "fails" }).filter({ hasText: "failure" });
  await expect(problem).toContainText("exited with code 3");
  const skips = page.getByTestId("problem").filter({ hasText: "overlaps" });
  await expect(skips).toContainText(/skipped \d+ of \d+ fires/, { timeout: 60_000 });
  await expect(skips).toContainText("another run was alive");
  await expect(page.getByTestId("work").getByRole("link", { name: /schedules? skips? fires/ })).toBeVisible();
  const which = skips.getByRole("link", { name: "Which fires of overlaps were skipped" });
  await expect(which).toHaveAttribute("href", /ledger\?reason=overlap&q=verdict%3Askipped%20schedule/);
  await expect(page.getByTestId("node-tile")).toBeVisible();
  await expect(page.getByRole("img", { name: /^Runs that ended: .*failed/ })).toBeVisible();
  // A schedule that fires every second still takes only one line.
  const next = page.getByTestId("next-schedule");
  await expect(next.filter({ hasText: "works" })).toHaveCount(1);
  await expect(next.filter({ hasText: "works" })).toContainText("every 1 s");
  await expect(next.filter({ hasText: "slower" })).toHaveCount(1);
  await hasNoViolations(page, "overview");

  const failed = page.locator(".figure").filter({ hasText: "Failed" }).getByRole("link");
  await expect(failed).toHaveAttribute("href", /runs\?state=failed&q=finished/);
  // The chart is redrawn all the time, so the address of the link is read instead of clicked.
  const minute = page.getByRole("region", { name: "Next hour" }).locator(".twin a").nth(2);
  const href = (await minute.getAttribute("href"))!;
  expect(href).toMatch(/upcoming\?at=[^&]+&frequent=yes/);
  await page.goto(href);
  await expect(page.locator('[data-testid="collision-row"][aria-current]')).toContainText("works");
  await page.goto("/");

  await problem.getByRole("link", { name: "Log of the last run of fails" }).click();
  await expect(page.getByTestId("run-state")).toHaveAttribute("data-state", "failed");
});

test("a part of the overview that could not be loaded does not look like nothing", async ({ page }) => {
  await page.route("**/graphql", async (route) => {
    const asks = String(route.request().postDataJSON()?.query).includes("query LiveRuns");
    await (asks ? route.abort() : route.fallback());
  });
  await page.goto("/");
  const alive = page.getByRole("region", { name: "Live runs" });
  const again = alive.getByRole("button", { name: "Try again" });
  await expect(again).toBeVisible();
  await page.unrouteAll();
  // An event may load the runs before the click.
  await expect(async () => {
    if (await again.isVisible()) await again.click({ timeout: 2_000 });
    await expect(again).toBeHidden({ timeout: 2_000 });
  }).toPass();
  await expect(alive.locator(".live-runs, .empty")).toBeVisible();
});

test("a problem is paused with a reason, and acknowledged with a note for everyone", async ({ page }) => {
  const problem = page.getByTestId("problem").filter({ hasText: "fails" }).filter({ hasText: "failure" });
  await problem.getByRole("button", { name: "Pause fails" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  await dialog.getByLabel("Reason").fill("until it is mended");
  await dialog.getByRole("button", { name: "Pause", exact: true }).click();
  await expect(problem.getByRole("button", { name: "Pause fails" })).toHaveCount(0);
  await problem.getByRole("button", { name: "Acknowledge fails", exact: true }).click();
  const seen = page.getByRole("dialog", { name: "Acknowledge problem" });
  await seen.getByLabel("Note").fill("the disk is on its way");
  await seen.getByRole("button", { name: "Acknowledge", exact: true }).click();
  await expect(problem).toHaveCount(0);
  await page.reload();
  await expect(page.getByText("1 is acknowledged.")).toBeVisible();
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await expect(problem.getByTestId("acknowledged")).toContainText("the disk is on its way");
  await problem.getByRole("button", { name: "Take back that fails is acknowledged" }).click();
  await expect(problem.getByTestId("acknowledged")).toHaveCount(0);
});

test("what happened since one last looked begins anew when it is seen", async ({ page }) => {
  const since = page.getByTestId("since");
  await since.getByRole("button", { name: "Mark all as seen" }).click();
  await expect(since).toContainText("Since you last looked");
  await expect(since.getByRole("link", { name: /failed$/ })).toHaveAttribute("href", /finished/);
});

test("the ledger adds up, narrows by a click, and says why", async ({ page }) => {
  await page.goto("/ledger?range=1h");
  const totals = page.getByTestId("ledger-totals");
  const count = async (name: string) => {
    const text = await totals.locator(".figure").filter({ hasText: name }).locator(".figure-count").innerText();
    return Number(text.replace(/\D/g, ""));
  };
  await expect(page.getByTestId("ledger-row").first()).toBeVisible();
  await expect.poll(() => count("Expected")).toBeGreaterThan(3);
  const [expected, ran, skipped, lost, open] = await totals.evaluate((list) =>
    [...list.querySelectorAll(".figure-count")].map((figure) => Number(figure.textContent?.replace(/\D/g, ""))),
  );
  expect(ran! + skipped! + lost! + open!).toBe(expected);
  await hasNoViolations(page, "ledger");

  await page.getByRole("list", { name: "By reason" }).getByRole("link", { name: /another run was alive/ }).click();
  await expect(page).toHaveURL(/verdict=skipped&reason=overlap/);
  const rows = page.getByTestId("ledger-row");
  await expect(rows.first()).toContainText("overlaps");
  for (const row of await rows.all()) await expect(row).toHaveAttribute("data-state", "skipped");
  await rows.first().getByRole("button", { name: "Explain" }).click();
  const dialog = page.getByRole("dialog", { name: "The outcome of this fire, and why" });
  await expect(dialog).toContainText("The timing said");
  await expect(dialog.getByTestId("rules")).toContainText("Still running");
  await page.keyboard.press("Escape");

  // The message of an alert links to one fire, which is then explained.
  const narrowed = page.url();
  const fire = await page.evaluate(async () => {
    const body = JSON.stringify({ query: "{ ledger(first: 1) { nodes { id } } }" });
    const headers = { "content-type": "application/json" };
    const answer = await (await fetch("/graphql", { method: "POST", headers, body })).json();
    return answer.data.ledger.nodes[0].id as string;
  });
  await page.goto(`/ledger?fire=${fire}`);
  await expect(dialog).toContainText("The timing said");
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/fire=/);
  await page.goto("/ledger?fire=00000000-0000-0000-0000-000000000001");
  await expect(page.getByTestId("fire-gone")).toContainText("no longer kept");
  await page.goto(narrowed);

  const search = page.getByLabel("Search the ledger");
  await expect(search).toHaveValue("verdict:skipped reason:overlap");

  await search.fill("name:nothing-like-it");
  await expect(page.getByText("No expected fire fits the filters.")).toBeVisible();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await expect(search).toHaveValue("");
  await expect(rows.first()).toBeVisible();

  // Chosen columns are no filter.
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Node" }).click();
  await expect(page).toHaveURL(/columns=[^&]*node/);
  await expect(page.getByRole("columnheader", { name: "Node" })).toBeVisible();
  // A column that is moved by a key keeps the focus.
  const up = page.getByRole("button", { name: "Move Node up" });
  await up.press("Enter");
  await expect(page).toHaveURL(/columns=[^&]*node[^&]/);
  await expect(up).toBeFocused();
  await expect(page.getByRole("link", { name: "Clear filters" })).toHaveCount(0);
  await search.fill("name:overlaps");
  await expect(page.getByRole("link", { name: "Clear filters" })).toBeVisible();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await expect(page).toHaveURL(/columns=[^&]*node/);
});

test("a query of the ledger joins verdicts, reasons and schedules, and says which term is wrong", async ({ page }) => {
  await page.goto("/ledger?range=1h&verdict=skipped&q=name:overlaps");
  const search = page.getByLabel("Search the ledger");
  const rows = page.getByTestId("ledger-row");
  await expect(search).toHaveValue("verdict:skipped name:overlaps");
  await expect(rows.first()).toContainText("overlaps");

  await search.fill("-verdict:skipped name:overlaps");
  await expect(page).toHaveURL(/ledger\?q=-verdict/);
  await expect(rows.and(page.locator("[data-state=skipped]"))).toHaveCount(0);
  await expect(rows.first()).toContainText("overlaps");
  // A figure replaces the verdict, and leaves the rest of the query.
  const figures = page.getByTestId("ledger-totals");
  await figures.locator(".figure").filter({ hasText: "on purpose" }).getByRole("link").click();
  await expect(search).toHaveValue("verdict:skipped name:overlaps");
  await expect(rows.and(page.locator("[data-state=skipped]")).first()).toBeVisible();

  await search.fill("name:overlaps verdict:gone");
  await expect(page.getByText("There is no verdict 'gone'.", { exact: false })).toBeVisible();
  await expect(page.locator(".pointed mark")).toHaveText("verdict:gone");
  await hasNoViolations(page, "ledger with a mistake");
  // The server's own mistake is marked at its place in the whole query, too.
  await search.fill("verdict:lost nome:overlaps");
  await expect(page.locator(".pointed mark")).toHaveText("nome");

  await search.fill("");
  await page.keyboard.type("reason:over");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(search).toHaveValue("reason:overlap");
  await expect(rows.first()).toContainText("overlaps");
  await page.getByRole("button", { name: "Overlaps", exact: true }).click();
  await expect(search).toHaveValue("reason:overlap,buffer_full,replaced");
  await page.getByText("Keep this view").click();
  await expect(page.getByLabel("Name of the view")).toBeVisible();
});

test("metrics chart a range, of all or of a tag, and a dragged range leads to its runs", async ({ page }) => {
  await page.goto("/ns/default/metrics?range=1h");
  const throughput = page.getByRole("img", { name: /^Runs that ended/ });
  await expect(throughput).toHaveAttribute("aria-label", /failed/);
  await expect(page.getByRole("img", { name: /^How long runs took: lately/ })).toBeVisible();
  await expect(page.getByRole("img", { name: /^Runs by weekday and hour: \d+ in all/ })).toBeVisible();
  // The busiest schedules, which may be those of other tests.
  await expect(page.getByTestId("schedule-figures").first()).toBeVisible();
  await hasNoViolations(page, "metrics");

  await page.getByLabel("Tag").fill("watched");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/tag=watched/);
  await expect(throughput).not.toHaveAttribute("aria-label", /succeeded/);
  const failed = page.getByTestId("schedule-figures").filter({ hasText: "fails" }).locator("a.bad");
  await expect(failed).toHaveAttribute("href", /^\/ns\/default\/runs\?state=failed&q=schedule.*created/);
  await page.locator(".twin summary").first().click();
  await expect(page.getByRole("table", { name: "Runs that ended" }).getByRole("link").first()).toBeVisible();

  const plot = page.locator(".chart-plot").first();
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/runs\?q=finished/);
  await expect(page.getByTestId("run-row").filter({ hasText: "fails" }).first()).toBeVisible();
});

test("figures of nothing lead back to all schedules", async ({ page }) => {
  await page.goto("/ns/default/metrics?range=1h&tag=no-such-tag");
  await expect(page.getByText("No schedule has this name and this tag.")).toBeVisible();
  await page.getByRole("link", { name: "Show all schedules" }).click();
  await expect(page).toHaveURL(/\/metrics\?range=1h$/);
  await expect(page.getByTestId("schedule-figures").filter({ hasText: "fails" })).toBeVisible();
});

test("the sums and charts of a range lead to what they count", async ({ page }) => {
  const metrics = "/ns/default/metrics?range=1h&tag=watched";
  const sum = (name: string) => page.locator(".figure").filter({ hasText: name }).getByRole("link");
  await page.goto(metrics);
  await sum("Failed").click();
  await expect(page).toHaveURL(/runs\?state=failed&q=finished.*tag/);
  await expect(page.getByTestId("run-row").filter({ hasText: "fails" }).first()).toBeVisible();
  await page.goBack();
  await sum("Lost fires").click();
  await expect(page).toHaveURL(/ledger\?q=verdict%3Amissed%2Cabandoned%20tag.*&range=1h/);
  await page.goBack();
  await sum("Queue").click();
  await expect(page).toHaveURL(/runs\?q=state%3Aqueued%2Cretrying/);
  await page.goBack();
  await sum("Fires to hand over").click();
  await expect(page).toHaveURL(/ledger\?verdict=open/);

  await page.goto("/ns/default/metrics?range=1h");
  const notRun = page.getByRole("region", { name: "Not run" });
  await expect(notRun.getByRole("img", { name: /skipped on purpose/ })).toBeVisible();
  const box = (await notRun.locator(".chart-plot").boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/ledger\?from=[^&]+&until=/);
  await expect(page.getByTestId("ledger-row").filter({ hasText: "overlaps" }).first()).toBeVisible();
});

test("the figures of now are there across all namespaces, too", async ({ page }) => {
  for (const place of ["ns/default", "all"]) {
    await page.goto(`/${place}/metrics`);
    const live = page.locator(".figure").filter({ hasText: "Live runs" });
    await expect(live).toBeVisible();
    const href = (name: string, start: string) =>
      expect(page.locator(".figure").filter({ hasText: name }).getByRole("link")).toHaveAttribute(
        "href",
        new RegExp(`^/${place}/${start}`),
      );
    await href("Queue", "runs\\?q=state%3Aqueued");
    await href("Fires to hand over", "ledger\\?verdict=open");
  }
});

test("an alert leads to its charts, and a chart to a rule that watches it", async ({ page, server }) => {
  server.cli(["namespace", "create", "alerted"]);
  deploy(server, "alerted", ALERTED);
  await page.goto("/all/alerts");
  const row = page.getByTestId("alert-row").filter({ hasText: "breaks" }).filter({ hasText: "alerted" });
  await expect(row).toBeVisible({ timeout: 60_000 });
  await row.getByRole("link", { name: "Charts of breaks around this alert" }).click();
  await expect(page).toHaveURL(/\/ns\/alerted\/metrics\?schedule=breaks&from=[^&]+&until=/);
  await expect(page.getByRole("img", { name: /^Runs that ended/ })).toHaveAttribute("aria-label", /failed/);

  await page.getByRole("region", { name: "Lateness" }).getByRole("link", { name: "Alert me" }).click();
  await expect(page.getByRole("heading", { name: "New alert rule" })).toBeVisible();
  await expect(page.getByLabel(/^Late: /)).toBeChecked();
  await expect(page.getByLabel(/^Failed: /)).not.toBeChecked();
  await expect(page.getByLabel("About the schedules")).toHaveValue('schedule:"breaks"');
  await rest(server, "alerted", "alerted");
});

test("an alert is in the tab of its state: open, acknowledged or muted", async ({ page, server }) => {
  server.cli(["namespace", "create", "standings"]);
  deploy(server, "standings", ALERTED.replaceAll("alerted", "standings"));
  await page.goto("/ns/standings/alerts");
  const row = page.getByTestId("alert-row").filter({ hasText: "breaks" });
  await expect(row).toBeVisible({ timeout: 60_000 });
  const open = async (tab: string) =>
    page.getByRole("navigation", { name: "Alerts by state" }).getByRole("link", { name: tab }).click();

  await row.getByRole("button", { name: "Acknowledge", exact: true }).click();
  const seen = page.getByRole("dialog", { name: "Acknowledge alert" });
  await expect(seen).toBeVisible();
  await openDialogHasNoViolations(page, "acknowledging an alert");
  await seen.getByLabel("Note").fill("the disk is full");
  await seen.getByRole("button", { name: "Acknowledge", exact: true }).click();
  await expect(page.getByText("All is quiet")).toBeVisible();
  await open("Acknowledged");
  await expect(row).toContainText("the disk is full");
  await row.getByRole("button", { name: "Take back" }).click();
  await expect(page.getByText("Nothing is acknowledged")).toBeVisible();

  await open("Open");
  await row.getByRole("button", { name: "Mute", exact: true }).click();
  const mute = page.getByRole("dialog", { name: "Mute rule" });
  await expect(mute).toBeVisible();
  await openDialogHasNoViolations(page, "muting a rule");
  await mute.getByLabel("Reason").fill("a release");
  await mute.getByRole("button", { name: "Mute", exact: true }).click();
  await expect(page.getByText("All is quiet")).toBeVisible();
  await open("Muted");
  await expect(row).toContainText("muted until");

  // The notice takes back the mute.
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Nothing is muted")).toBeVisible();
  await open("Open");
  await expect(row).toBeVisible();
  await rest(server, "standings", "standings");
});

test("the list of schedules says what became of the last fire and why none is next", async ({
  page,
  server,
}) => {
  await page.setViewportSize({ width: 1600, height: 900 });
  await page.goto("/schedules?q=name:works");
  const row = page.getByTestId("schedule-row").filter({ hasText: "works" });
  await expect(row).toContainText(/Started when it was due|late/);
  server.cli(["pause", "works", "--reason", "rest"]);
  await expect(row).toContainText("none while paused");
  server.cli(["resume", "works"]);

  await page.getByRole("button", { name: "p95" }).click();
  await expect(page).toHaveURL(/sort=p95/);
  await expect(row).toBeVisible();
  for (const [view, search] of [
    ["Losing runs", "lost:<1d"],
    ["Skipping fires", "skipped:<1d"],
    ["Late", "late:>1m"],
  ] as const) {
    await page.getByRole("button", { name: view, exact: true }).click();
    await expect(page.getByLabel("Search schedules")).toHaveValue(search);
    await expect(page.getByText("No schedule matches").or(page.getByTestId("schedule-row").first())).toBeVisible();
  }
});

test("health says what to do, and leads to what it counts", async ({ page }) => {
  await page.goto("/health");
  await expect(page.getByTestId("check-row").first()).toBeVisible();
  await expect(page.getByTestId("node-tile")).toBeVisible();
  await hasNoViolations(page, "health");
  await page.getByTestId("check-row").filter({ hasText: "Missed" }).getByRole("link").click();
  // The server's check counts the fires of all namespaces, so the link lists all of them.
  await expect(page).toHaveURL(/\/all\/ledger\?range=24h&q=verdict%3Amissed%2Cabandoned$/);
  await page.goBack();
  await page.getByTestId("check-row").filter({ hasText: "Schemas" }).getByRole("link").click();
  await expect(page).toHaveURL(/\/cluster$/);
});

test("the budget of a tag is set, exceeded, edited and removed on the health page", async ({ page }) => {
  await page.goto("/health");
  const budgets = page.getByRole("region", { name: "Budgets by tag" });
  await budgets.getByRole("button", { name: "New budget" }).click();
  const dialog = page.getByRole("dialog", { name: "Budget of a tag" });
  await dialog.getByLabel("Tag", { exact: true }).fill("watched");
  await dialog.getByRole("button", { name: "Set budget" }).click();
  await expect(dialog).toContainText("Enter at least one limit.");
  await dialog.getByLabel("Missed fires").fill("-1");
  await dialog.getByRole("button", { name: "Set budget" }).click();
  await expect(dialog).toContainText("too small");
  await openDialogHasNoViolations(page, "the budget of a tag");
  await dialog.getByLabel("Missed fires").fill("500");
  await dialog.getByLabel("Failed runs").fill("0");
  await dialog.getByRole("button", { name: "Set budget" }).click();
  await expect(dialog).toBeHidden();
  const row = budgets.getByTestId("budget-row").filter({ hasText: "watched" });
  // The schedule with the tag fails every two seconds.
  await expect(row).toHaveAttribute("data-state", "unhealthy", { timeout: 30_000 });
  await expect(row).toContainText("0 of 500");
  const finding = page.getByTestId("finding").filter({ hasText: "with the tag watched" });
  await expect(finding).toBeVisible({ timeout: 30_000 });
  // It leads to the ledger of the budget's namespace, narrowed to the tag.
  const ledger = finding.getByRole("link", { name: "The lost fires" });
  await expect(ledger).toHaveAttribute("href", /default\/ledger\?range=24h&q=verdict%3Amissed%2Cabandoned%20tag%3Awatched$/);
  await expect(finding.getByRole("link", { name: "Alert me" })).toHaveAttribute("href", /search=tag%3Awatched$/);
  await hasNoViolations(page, "health with a budget");
  await row.getByRole("link", { name: / of 0$/ }).click();
  await expect(page).toHaveURL(/runs\?state=failed&q=tag%3Awatched/);
  await page.goBack();

  await row.getByRole("button", { name: "Edit" }).click();
  await expect(dialog.getByLabel("Missed fires")).toHaveValue("500");
  await dialog.getByLabel("Failed runs").fill("100000");
  await dialog.getByRole("button", { name: "Set budget" }).click();
  await expect(row).toHaveAttribute("data-state", "healthy");
  await row.getByRole("button", { name: "Remove" }).click();
  const remove = page.getByRole("dialog", { name: "Remove budget" });
  await remove.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(row).toHaveCount(0);
});

test("green never stands beside a server that does not answer", async ({ page }) => {
  const server = await Server.start();
  try {
    await page.goto(server.url);
    await signIn(page, server.addPerson("gwen", "admin"));
    await expect(page.getByTestId("health")).toHaveAttribute("data-state", "healthy");
    // An empty server shows the first steps.
    await expect(page.getByTestId("first-steps").getByRole("button", { name: "Copy" })).toHaveCount(3);
    await hasNoViolations(page, "overview, empty");
    await server.halt();
    await expect(page.getByTestId("health")).toContainText("does not answer");
    await server.launch();
    await expect(page.getByTestId("health")).toHaveAttribute("data-state", "healthy");
  } finally {
    await server.stop();
  }
});
