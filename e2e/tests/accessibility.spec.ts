import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { Server } from "../support/server.ts";
import { expect, openRanges, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

/** A module with an example of everything that a page can show. */
const MODULE = `
module: everything
schedules:
  succeeds:
    note: prints a line and is content
    tags: [demo, billing]
    when: ["*/2 * * * * *", "0 9 * * MON-FRI"]
    zone: Europe/Berlin
    task: { target: { command: { script: "echo hello; echo again >&2" } } }
  breaks:
    when: "*/3 * * * * *"
    task: { target: { command: { script: "echo no; exit 3" } } }
  collides:
    when: "* * * * * *"
    task: { target: { command: { script: "sleep 5" } } }
  never-again:
    when: "@at 2001-01-01T00:00:00Z"
    task: { target: { noop: {} } }
`;

const themes = ["light", "dark"] as const;
const widths = [1440, 390];

async function hasNoViolations(page: Page, what: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(
    (violation) =>
      `${violation.id}: ${violation.help}\n` +
      violation.nodes.map((node) => `    ${node.target.join(" ")}`).join("\n"),
  );
  expect.soft(found.join("\n"), `axe-core on ${what}`).toBe("");
}

for (const theme of themes) {
  for (const width of widths) {
    const look = `${theme}, ${width} wide`;
    test.describe(look, () => {
      test.use({ colorScheme: theme, viewport: { width, height: 900 } });

      test("no page has a violation", async ({ page, server, admin }) => {
        test.slow();
        await page.goto("/");
        await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
        await hasNoViolations(page, `sign-in, ${look}`);

        await signIn(page, admin);
        deploy(server, "everything", MODULE);
        await page.goto("/schedules");
        const collides = page.getByTestId("schedule-row").filter({ hasText: "collides" });
        await expect(collides).toBeVisible();
        await hasNoViolations(page, `schedules, ${look}`);
        await page.getByLabel("Choose collides").check();
        await page.getByRole("region", { name: "Actions for the selected schedules" }).getByRole("button", { name: "Pause" }).click();
        await expect(page.getByRole("dialog")).toContainText("1 schedule");
        await hasNoViolations(page, `order for many, ${look}`);
        await page.keyboard.press("Escape");
        await page.keyboard.press("Control+k");
        await expect(page.getByRole("option").first()).toBeVisible();
        await hasNoViolations(page, `palette, ${look}`);
        await page.keyboard.press("Escape");

        await collides.getByRole("link", { name: "collides" }).click();
        await expect(page.getByTestId("ledger-row").nth(1)).toBeVisible();
        await hasNoViolations(page, `schedule, ${look}`);
        await page.getByRole("button", { name: "Explain" }).first().click();
        await expect(page.getByRole("dialog")).toBeVisible();
        await hasNoViolations(page, `a fire explained, ${look}`);
        await page.keyboard.press("Escape");
        for (const tab of ["Runs", "Next", "Definition", "Versions", "Audit"]) {
          await openTab(page, tab);
          await expect(page.locator(".loading, .page-loading")).toHaveCount(0);
          await hasNoViolations(page, `schedule, ${tab}, ${look}`);
        }
        await page.getByRole("button", { name: "Pause" }).click();
        await expect(page.getByRole("dialog")).toBeVisible();
        await hasNoViolations(page, `pause dialog, ${look}`);
        await page.keyboard.press("Escape");

        await page.goto("/schedules/new");
        await page.getByLabel("Name", { exact: true }).fill(`own-${theme}-${width}`);
        await page.getByLabel("Script").fill("true");
        await page.getByRole("button", { name: "Create schedule" }).click();
        await page.getByRole("link", { name: "Edit" }).click();
        await expect(page.getByRole("heading", { name: "Edit own" })).toBeVisible();
        await expect(page.getByTestId("preview").locator("tbody tr").first()).toBeVisible();
        await hasNoViolations(page, `edit form, ${look}`);

        await page.goto("/schedules/new");
        await page.getByLabel("Expression 1").fill("0 25 * * *");
        await expect(page.locator("#expression-1-error")).not.toBeEmpty();
        await hasNoViolations(page, `form with an error, ${look}`);

        await page.goto("/maintenance");
        await expect(page.getByRole("heading", { name: "Maintenance", level: 1 })).toBeVisible();
        await expect(page.locator(".loading, .page-loading")).toHaveCount(0);
        await hasNoViolations(page, `maintenance, ${look}`);
        await page.getByRole("link", { name: "Plan maintenance" }).click();
        await expect(page.getByTestId("would-pause")).toBeVisible();
        await hasNoViolations(page, `planning maintenance, ${look}`);

        await page.goto("/runs?state=failed");
        await expect(page.getByTestId("run-row").first()).toBeVisible();
        await hasNoViolations(page, `runs, ${look}`);
        await openRanges(page);
        await hasNoViolations(page, `choice of a range, ${look}`);
        await page.keyboard.press("Escape");
        // The list changes while the pointer moves to a row, so the row's address is opened
        // instead.
        const run = page.getByTestId("run-row").first().getByRole("link").first();
        await page.goto((await run.getAttribute("href")) ?? "");
        await expect(page.getByTestId("log-line").first()).toBeVisible();
        await hasNoViolations(page, `run, ${look}`);

        await page.goto("/");
        await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
        await expect(page.getByRole("link", { name: /breaks/ }).first()).toBeVisible();
        await hasNoViolations(page, `overview, ${look}`);

        await page.goto("/timeline");
        await expect(page.getByTestId("lane-bar").first()).toBeVisible();
        await hasNoViolations(page, `timeline, ${look}`);

        await page.goto("/cluster");
        await expect(page.getByTestId("node-row")).toBeVisible();
        await hasNoViolations(page, `cluster, ${look}`);

        for (const path of ["ledger", "metrics", "health", "audit?q=kind:user", "modules/deploy"]) {
          await page.goto(`/ns/default/${path}`);
          await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
          await expect(page.locator(".loading, .page-loading")).toHaveCount(0);
          await hasNoViolations(page, `${path}, ${look}`);
        }

        await page.goto("/no-such-page");
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await hasNoViolations(page, `not found, ${look}`);
      });
    });
  }
}

test("empty pages have no violation", async ({ page }) => {
  // The server of the other tests already has too much data.
  const server = await Server.start();
  try {
    await page.goto(server.url);
    await signIn(page, server.addPerson("eve", "admin"));
    for (const path of ["/", "/schedules", "/runs", "/timeline", "/maintenance"]) {
      await page.goto(server.url + path);
      await expect(page.locator(".empty").first()).toBeVisible();
      await hasNoViolations(page, `${path}, empty`);
    }
  } finally {
    await server.stop();
  }
});
