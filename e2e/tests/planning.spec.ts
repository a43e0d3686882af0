import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { Clicks } from "../support/clicks.ts";
import { Server } from "../support/server.ts";
import { expect, openTab, signIn, test } from "../support/test.ts";
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
  await signIn(other, { name: "colleague", password });
  await other.goto("/backfills");
  await expect(other.getByRole("heading", { name: "Backfills" })).toBeVisible();
  await expect(other.getByRole("link", { name: "New backfill" })).toHaveCount(0);
  await theirs.close();
});

test("an alert is made and its channel tested in 6 clicks", async ({ page }) => {
  const hook = await receiver();
  const server = await Server.start({ CARILLON_EGRESS__PRIVATE_ADDRESSES: "true" });
  await page.goto(server.url);
  await signIn(page, server.addPerson("ada", "admin"));
  const clicks = new Clicks();
  await clicks.on(page.getByRole("link", { name: "Alert rules" }));
  await clicks.on(page.getByRole("link", { name: "Channels" }));
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
  expect(clicks.count).toBeLessThanOrEqual(6);
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
  await expect(page.getByTestId("calendar-row").filter({ hasText: "by-hand" })).toContainText("1 day");
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

  const without = frequent.getByRole("button", { name: "Without frequent ones" });
  await expect(without).toHaveAttribute("aria-pressed", "true");
  await without.click();
  await expect(frequent).toContainText("With 1 schedule");
  await expect(page.getByText("The busiest hour has 62 starts.")).toBeVisible();
  await expect(collisions).toContainText("often");
  await page.reload();
  await expect(without).toHaveAttribute("aria-pressed", "false");
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

/** Checks the page itself; accessibility.spec.ts checks the frame around it. */
async function hasNoViolations(page: Page, what: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).include("main").analyze();
  const found = violations.map(
    (violation) =>
      `${violation.id}: ${violation.help}\n` +
      violation.nodes.map((node) => `    ${node.target.join(" ")}`).join("\n"),
  );
  expect.soft(found.join("\n"), `axe-core on ${what}`).toBe("");
}

const PAGES: [string, string][] = [
  ["/alerts", "Alerts"],
  ["/settings/alerts", "Alert rules and channels"],
  ["/settings/alerts?tab=deliveries", "Alert rules and channels"],
  ["/settings/alerts/new", "New alert rule"],
  ["/calendars", "Calendars"],
  ["/calendars/new", "New calendar"],
  ["/backfills", "Backfills"],
  ["/backfills/new", "New backfill"],
  ["/upcoming", "Upcoming"],
  ["/upcoming?tab=clocks", "Upcoming"],
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

for (const colorScheme of ["light", "dark"] as const) {
  for (const width of [1440, 390]) {
    test.describe(`${colorScheme}, ${width} wide`, () => {
      test.use({ colorScheme, viewport: { width, height: 900 } });

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
          await hasNoViolations(page, `${path}, ${colorScheme}, ${width} wide`);
          const overflow = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          expect.soft(overflow, `${path} is too wide at ${width}`).toBeLessThanOrEqual(0);
        }
      });
    });
  }
}
