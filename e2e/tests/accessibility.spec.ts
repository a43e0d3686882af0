import { hasNoViolations, hasNoViolationsInThemes, LOOKS, violations } from "../support/axe.ts";
import { Server } from "../support/server.ts";
import { expect, openRanges, openTab, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

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

test.afterAll(({ server }) => rest(server, "everything"));

test("what breaks a rule is found, in the part that is named and in the theme that is shown", async ({ page }) => {
  const style = `p { color: #000; background: #fff }
    @media (prefers-color-scheme: dark) { p { color: #333; background: #222 } }`;
  const body = "<main><h1>Rules</h1><p>Hard to read in the dark</p></main><footer><button></button></footer>";
  await page.setContent(
    `<!doctype html><html lang="en"><head><title>Rules</title><style>${style}</style></head><body>${body}</body></html>`,
  );
  await page.emulateMedia({ colorScheme: "light" });
  expect(await violations(page, "main")).toBe("");
  expect(await violations(page, "html")).toContain("button-name");
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await violations(page, "main")).toContain("color-contrast");
});

for (const look of LOOKS) {
  test.describe(`${look.width} wide`, () => {
    test.use({ viewport: { width: look.width, height: 900 } });

    test("no page has a violation", async ({ page, server, admin }) => {
      const isFine = (what: string) => hasNoViolationsInThemes(page, what, look, "html");
      test.slow();
      await page.goto("/");
      await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
      await isFine("sign-in");

      await signIn(page, admin);
      deploy(server, "everything", MODULE);
      await page.goto("/schedules");
      const collides = page.getByTestId("schedule-row").filter({ hasText: "collides" });
      await expect(collides).toBeVisible();
      await isFine("schedules");
      await page.getByLabel("Choose collides").check();
      await page.getByRole("region", { name: "Actions for the selected schedules" }).getByRole("button", { name: "Pause" }).click();
      await expect(page.getByRole("dialog")).toContainText("1 schedule");
      await isFine("order for many");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("option").first()).toBeVisible();
      await isFine("palette");
      await page.keyboard.press("Escape");

      await collides.getByRole("link", { name: "collides" }).click();
      await expect(page.getByTestId("ledger-row").nth(1)).toBeVisible();
      await isFine("schedule");
      await page.getByRole("button", { name: "Explain" }).first().click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await isFine("a fire explained");
      await page.keyboard.press("Escape");
      for (const tab of ["Runs", "Next", "Definition", "Versions", "Audit"]) {
        await openTab(page, tab);
        await expect(page.locator(".loading, .page-loading")).toHaveCount(0);
        await isFine(`schedule, ${tab}`);
      }
      await page.getByRole("button", { name: "Pause" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await isFine("pause dialog");
      await page.keyboard.press("Escape");

      await page.goto("/schedules/new");
      await page.getByLabel("Name", { exact: true }).fill(`own-${look.width}`);
      await page.getByLabel("Script").fill("true");
      await page.getByRole("button", { name: "Create schedule" }).click();
      await page.getByRole("link", { name: "Edit" }).click();
      await expect(page.getByRole("heading", { name: "Edit own" })).toBeVisible();
      await expect(page.getByTestId("preview").locator("tbody tr").first()).toBeVisible();
      await isFine("edit form");

      await page.goto("/schedules/new");
      await page.getByLabel("Expression 1").fill("0 25 * * *");
      await expect(page.locator("#expression-1-error")).not.toBeEmpty();
      await isFine("form with an error");

      await page.goto("/maintenance");
      await expect(page.getByRole("heading", { name: "Maintenance", level: 1 })).toBeVisible();
      await expect(page.locator(".loading, .page-loading")).toHaveCount(0);
      await isFine("maintenance");
      await page.getByRole("link", { name: "Plan maintenance" }).click();
      await expect(page.getByTestId("would-pause")).toBeVisible();
      await isFine("planning maintenance");

      await page.goto("/runs?state=failed");
      await expect(page.getByTestId("run-row").first()).toBeVisible();
      await isFine("runs");
      await openRanges(page);
      await isFine("choice of a range");
      await page.keyboard.press("Escape");
      // The list changes while the pointer moves to a row, so the row's address is opened
      // instead.
      const run = page.getByTestId("run-row").first().getByRole("link").first();
      await page.goto((await run.getAttribute("href")) ?? "");
      await expect(page.getByTestId("log-line").first()).toBeVisible();
      await isFine("run");

      await page.goto("/");
      await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
      await expect(page.getByRole("link", { name: /breaks/ }).first()).toBeVisible();
      await isFine("overview");

      await page.goto("/timeline");
      await expect(page.getByTestId("lane-bar").first()).toBeVisible();
      await isFine("timeline");

      await page.goto("/cluster");
      await expect(page.getByTestId("node-row")).toBeVisible();
      await isFine("cluster");

      for (const path of ["ledger", "metrics", "health", "audit?q=kind:user", "modules/deploy"]) {
        await page.goto(`/ns/default/${path}`);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await expect(page.locator(".loading, .page-loading")).toHaveCount(0);
        await isFine(path);
      }

      await page.goto("/no-such-page");
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await isFine("not found");
    });
  });
}

test("empty pages have no violation", async ({ page }) => {
  test.slow();
  // The server of the other tests already has too much data.
  const server = await Server.start();
  try {
    await page.goto(server.url);
    await signIn(page, server.addPerson("eve", "admin"));
    const plan = ["/schedules", "/timeline", "/upcoming", "/backfills", "/calendars", "/maintenance"];
    const build = ["/workflows", "/groups", "/modules"];
    const settings = ["/settings/alerts", "/settings/secrets", "/settings/tokens", "/settings/feeds"];
    for (const path of ["/", "/runs", "/alerts", ...plan, ...build, ...settings]) {
      await page.goto(server.url + path);
      await expect(page.locator(".empty").first()).toBeVisible();
      await hasNoViolations(page, `${path}, empty`, "html");
    }
  } finally {
    await server.stop();
  }
});
