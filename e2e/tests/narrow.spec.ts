import { expect, openRanges, openTab, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

const MODULE = `
module: narrow
schedules:
  a-schedule-with-a-long-name-that-must-not-widen-the-page:
    note: a note that goes on for a while, as notes do when somebody has something to say
    tags: [billing, reports, nightly]
    when: ["* * * * * *", "15 9-17 * * MON-FRI"]
    zone: America/Argentina/Buenos_Aires
    task: { target: { command: { script: "echo no; exit 3" } } }
`;

test.afterAll(({ server }) => rest(server, "narrow"));

for (const width of [390, 320]) {
  test.describe(`${width} wide`, () => {
    test.use({ viewport: { width, height: 800 } });

    test("no page is wider than the screen", async ({ page, server, admin }) => {
      const fits = async (what: string) => {
        const surplus = await page.evaluate(() => {
          const root = document.documentElement;
          return root.scrollWidth - root.clientWidth;
        });
        expect.soft(surplus, `${what} is wider by`).toBeLessThanOrEqual(0);
      };
      await page.goto("/");
      await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
      await fits("sign-in");
      await signIn(page, admin);
      deploy(server, "narrow", MODULE);

      await page.goto("/schedules?q=long-name");
      const link = page.getByRole("link", { name: /long-name/ }).first();
      await expect(link).toBeVisible();
      await fits("schedules");
      await link.click();
      await expect(page.getByTestId("ledger-row").nth(2)).toBeVisible();
      await fits("schedule");
      for (const tab of ["Next", "Definition", "Versions", "Audit", "Runs"]) {
        await openTab(page, tab);
        await fits(`schedule, ${tab}`);
      }
      await expect(page.getByTestId("run-row").first()).toBeVisible();
      // The rows move every second. Reading the address takes one step, but a click takes two.
      const run = page.getByTestId("run-row").first().getByRole("link").first();
      await page.goto((await run.getAttribute("href")) ?? "");
      await expect(page.getByTestId("log-line").first()).toBeVisible();
      await fits("run");
      await page.goto("/runs");
      await expect(page.getByTestId("run-row").first()).toBeVisible();
      await fits("runs");
      await page.goto("/timeline");
      await expect(page.getByTestId("lane").first()).toBeVisible();
      await fits("timeline");
      await page.goto("/schedules/new");
      await expect(page.getByTestId("preview").locator("tbody tr").first()).toBeVisible();
      await fits("form");
      await page.goto("/cluster");
      await expect(page.getByTestId("node-row")).toBeVisible();
      await fits("cluster");
      await page.goto("/");
      await expect(page.getByTestId("problem").first()).toBeVisible();
      await fits("overview");
      for (const path of ["ledger", "health", "metrics", "audit"]) {
        await page.goto(`/ns/default/${path}`);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await fits(path);
      }
      await openRanges(page);
      const menu = (await page.locator(".header-range .menu-body").boundingBox())!;
      expect.soft(menu.x, "the choice of a range begins").toBeGreaterThanOrEqual(0);
      expect.soft(menu.x + menu.width, "the choice of a range ends").toBeLessThanOrEqual(width);
      await fits("choice of a range");
      await page.getByRole("banner").getByRole("link", { name: "Last 7 days" }).click();
      await expect(page).toHaveURL(/range=7d/);
    });
  });
}

for (const height of [600, 900]) {
  test(`the way to save a schedule stays in sight, ${height} high`, async ({ page, admin }) => {
    await page.setViewportSize({ width: 1200, height });
    await page.goto("/schedules/new");
    await signIn(page, admin);
    const save = page.getByRole("button", { name: "Create schedule" });
    for (const width of [1440, 900, 390]) {
      await page.setViewportSize({ width, height });
      await page.evaluate(() => window.scrollTo(0, 0));
      await expect(page.getByTestId("preview").locator("tbody tr").first()).toBeAttached();
      await expect(save).toBeInViewport({ ratio: 1 });
      // A field that gets the focus is not under the buttons.
      await page.getByLabel("Name", { exact: true }).focus();
      const context = page.getByLabel("Context (JSON)");
      await context.focus();
      await expect(context).toBeInViewport();
      await expect(save).toBeInViewport({ ratio: 1 });
    }
  });
}
