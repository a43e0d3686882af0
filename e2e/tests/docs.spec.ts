import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { Server } from "../support/server.ts";
import { expect, test } from "../support/test.ts";

const root = resolve(import.meta.dirname, "../..");

/** The documentation, as `make docs` builds it, in the place where the server looks for it beside the console. */
function site(): string {
  const folder = mkdtempSync(join(tmpdir(), "carillon-docs-"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>the console</title>");
  execFileSync(join(root, "scripts/docs"), [join(folder, "docs")], { stdio: "pipe" });
  return folder;
}

test("the documentation is searched without a sign-in, and a result leads to its page", async ({ page }) => {
  const folder = site();
  const server = await Server.start({ CARILLON_CONSOLE__DIST: folder });
  try {
    await page.goto(`${server.url}/docs/`);
    const field = page.locator("#mdbook-searchbar");
    await expect(field).toBeHidden();
    await page.locator("#mdbook-search-toggle").click();
    await expect(field).toBeFocused();
    await field.pressSequentially("events brokers");
    const results = page.locator("#mdbook-searchresults").getByRole("link");
    await expect(page.locator("#mdbook-searchresults-header")).toContainText("results for 'events brokers'");
    await results.and(page.locator("[href*='publish.html']")).first().click();
    await expect(page).toHaveURL(/\/docs\/publish\.html\?highlight=/);
    await expect(page.getByRole("heading", { level: 1, name: "Events to brokers" })).toBeVisible();
    await expect(page.locator("main mark").first()).toHaveText(/events?|brokers?/i);

    // From a page in a folder, the results lead to the same pages.
    await page.goto(`${server.url}/docs/runbooks/CarillonDown.html`);
    await page.keyboard.press("/");
    await expect(field).toBeFocused();
    await field.pressSequentially("events brokers");
    await results.and(page.locator("[href*='publish.html']")).first().click();
    await expect(page).toHaveURL(/\/docs\/publish\.html\?highlight=/);

    await page.keyboard.press("/");
    await field.fill("");
    await field.pressSequentially("nosuchwordanywhere");
    await expect(page.locator("#mdbook-searchresults-header")).toContainText("No search results");
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
