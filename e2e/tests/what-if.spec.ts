import { hasNoViolations } from "../support/axe.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const task = "task: { target: { noop: {} } }";
const module = (namespace: string) => `module: outage
namespace: ${namespace}
schedules:
  a-report: { when: "0 * * * *", zone: UTC, misfire: { catch_up: all }, ${task} }
  b-snapshot: { when: "*/30 * * * *", zone: UTC, misfire: { catch_up: latest }, tags: [billing], ${task} }
  c-paused: { when: "0 * * * *", paused: true, ${task} }
`;

/** The first full hour that lies at least this many hours ahead, and the address of an outage of three hours from there. */
function outage(hours: number): string {
  const hour = 3_600_000;
  const from = Math.ceil(Date.now() / hour + hours) * hour - 600_000;
  const at = (millis: number) => encodeURIComponent(new Date(millis).toISOString());
  return `from=${at(from)}&to=${at(from + 3 * hour)}`;
}

test("the policies of schedules are compared for an outage, and the instants of one are listed", async ({
  page,
  server,
  admin,
}) => {
  server.cli(["namespace", "create", "outage"]);
  deploy(server, "outage", module("outage"));
  // From ten minutes to the hour: three full hours and three half ones.
  await page.goto(`/ns/outage/what-if?${outage(24)}`);
  await signIn(page, admin);
  const row = (name: string) => page.getByTestId("outage-row").filter({ hasText: name });
  const cells = (name: string) => row(name).locator("td");
  await expect(cells("a-report").nth(0)).toHaveText("3");
  await expect(cells("a-report").nth(1)).toHaveText("3 missed");
  await expect(cells("a-report").nth(2)).toHaveText("1 late, 2 collapsed");
  await expect(cells("a-report").nth(3)).toContainText("3 late");
  await expect(cells("a-report").nth(3)).toContainText("its policy");
  await expect(cells("b-snapshot").nth(2)).toContainText("1 late, 5 collapsed");
  await expect(row("c-paused")).toContainText("paused for all of it");
  await expect(page.getByTestId("outage-totals")).toContainText("9 instants of 3 schedules");

  await row("a-report").getByRole("button", { name: "Instants of a-report" }).click();
  const instants = page.getByTestId("outage-instants");
  await expect(instants.getByRole("heading", { name: "Instants of a-report" })).toBeVisible();
  await expect(instants.getByTestId("outage-instant")).toHaveCount(9);
  await expect(instants.getByRole("group", { name: "Instants under All" }).getByText("Runs late")).toHaveCount(3);
  await expect(instants.getByRole("group", { name: "Instants under Skip" }).getByText("Missed")).toHaveCount(3);

  await hasNoViolations(page, "What if", "html");

  // A search narrows the list, and is kept in the address.
  const search = page.getByTestId("outage-form").getByLabel("Search");
  await search.fill("tag:billing");
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page.getByTestId("outage-row")).toHaveCount(1);
  await expect(page).toHaveURL(/q=tag%3Abilling/);
  await search.fill("tag:");
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(search).toHaveAttribute("aria-invalid", "true");
  await search.fill("name:nothing");
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page.getByText("No schedule matches")).toBeVisible();
});

test("an outage of one schedule is tried from its page, and a bad range is refused at its field", async ({
  page,
  server,
  admin,
}) => {
  server.cli(["namespace", "create", "outage-of-one"]);
  deploy(server, "outage-of-one", module("outage-of-one"));
  await page.goto("/ns/outage-of-one/schedules");
  await signIn(page, admin);
  await page.getByRole("link", { name: "b-snapshot" }).click();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("link", { name: "What if …" }).click();
  await expect(page.getByRole("heading", { name: "What if", level: 1 })).toBeVisible();
  await expect(page.getByTestId("outage-row")).toHaveCount(1);
  await expect(page.getByTestId("outage-instants")).toContainText("Instants of b-snapshot");
  await page.getByRole("button", { name: "Next hour" }).click();
  await expect(page).toHaveURL(/from=.*&to=/);

  const to = page.getByLabel("Until, exclusive (your time)");
  await to.fill("2020-01-01T00:00");
  await page.getByRole("button", { name: "Compare" }).click();
  await expect(to).toHaveAttribute("aria-invalid", "true");
  await page.getByRole("button", { name: "Last night" }).click();
  await expect(page.getByRole("columnheader", { name: "The ledger" })).toBeVisible();
  await page.getByRole("link", { name: "Show all schedules" }).click();
  await expect(page.getByTestId("outage-row")).toHaveCount(3);
});
