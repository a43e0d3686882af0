import type { Page, Response } from "@playwright/test";

import { expect, signIn, test } from "../support/test.ts";

const root = (page: Page) => page.locator("html");

const isSaved = (response: Response) =>
  response.url().endsWith("/graphql") &&
  String(response.request().postDataJSON()?.query).includes("updateMySettings(");

/** Makes a choice, and waits until the server has answered. */
async function choose(page: Page, label: string): Promise<void> {
  const saved = page.waitForResponse(isSaved);
  await (label === "Roomy rows" ? page.getByLabel(label) : page.getByTitle(label)).click();
  expect(JSON.stringify(await (await saved).json())).not.toContain("errors");
}

const openMenu = (page: Page) => page.getByRole("button", { name: /^You:/ }).click();

test("theme and density follow a person into another browser, and are there before the server answers", async ({
  page,
  browser,
  server,
}) => {
  const person = server.addPerson("looks-dark", "viewer");
  await page.goto("/ns/default/runs");
  await signIn(page, person);
  await expect(root(page)).not.toHaveAttribute("data-density");
  await openMenu(page);
  await choose(page, "Dark theme");
  await choose(page, "Roomy rows");
  await expect(root(page)).toHaveAttribute("data-theme", "dark");
  await expect(root(page)).toHaveAttribute("data-density", "roomy");

  const context = await browser.newContext({ baseURL: server.url });
  const other = await context.newPage();
  await other.goto("/ns/default/runs");
  await signIn(other, person);
  await expect(root(other)).toHaveAttribute("data-theme", "dark");
  await expect(root(other)).toHaveAttribute("data-density", "roomy");
  await openMenu(other);
  await expect(other.getByRole("radio", { name: "Dark" })).toBeChecked();
  await expect(other.getByLabel("Roomy rows")).toBeChecked();

  // The browser's copy is used while the server has not answered yet.
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await other.route("**/graphql", async (route) => {
    await released;
    await route.fallback();
  });
  await other.reload();
  await expect(root(other)).toHaveAttribute("data-theme", "dark");
  await expect(root(other)).toHaveAttribute("data-density", "roomy");
  await expect(other.getByRole("button", { name: /^You:/ })).toHaveCount(0);

  // The server's answer replaces it.
  await choose(page, "Light theme");
  release();
  await expect(root(other)).toHaveAttribute("data-theme", "light");
  await expect(root(other)).toHaveAttribute("data-density", "roomy");
  await context.close();
});

test("the next person in a browser has a look of their own", async ({ page, server }) => {
  const first = server.addPerson("looks-first", "viewer");
  const second = server.addPerson("looks-second", "viewer");
  await page.goto("/ns/default/runs");
  await signIn(page, first);
  await openMenu(page);
  await choose(page, "Dark theme");
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await expect(root(page)).toHaveAttribute("data-theme", "dark");
  await signIn(page, second);
  await expect(root(page)).not.toHaveAttribute("data-theme");
});

test("a person who has never chosen keeps the look of the browser, unless another person chose it", async ({ page, server }) => {
  const first = server.addPerson("looks-kept", "viewer");
  const second = server.addPerson("looks-other", "viewer");
  await page.goto("/ns/default/runs");
  // As an earlier version of the console left it, which kept the choice in the browser alone.
  await page.evaluate(() => localStorage.setItem("carillon.theme", "dark"));
  await page.reload();
  await signIn(page, first);
  const owner = () => page.evaluate(() => localStorage.getItem("carillon.theme-of"));
  await expect.poll(owner).toBe("looks-kept");
  await expect(root(page)).toHaveAttribute("data-theme", "dark");
  await openMenu(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await signIn(page, second);
  await expect.poll(owner).toBe("looks-other");
  await expect(root(page)).not.toHaveAttribute("data-theme");
});

test("a theme that is chosen on the sign-in page is kept for the person who signs in", async ({ page, browser, server }) => {
  const person = server.addPerson("looks-early", "viewer");
  await page.goto("/ns/default/runs");
  await page.getByTitle("Dark theme").click();
  const saved = page.waitForResponse(isSaved);
  await signIn(page, person);
  await saved;
  await expect(root(page)).toHaveAttribute("data-theme", "dark");

  const context = await browser.newContext({ baseURL: server.url });
  const other = await context.newPage();
  await other.goto("/ns/default/runs");
  await signIn(other, person);
  await expect(root(other)).toHaveAttribute("data-theme", "dark");
  await context.close();
});

test("a theme chosen on the sign-in page does not give the next person the rows of the last one", async ({ page, server }) => {
  const first = server.addPerson("looks-roomy", "viewer");
  const second = server.addPerson("looks-plain", "viewer");
  await page.goto("/ns/default/runs");
  await signIn(page, first);
  await openMenu(page);
  await choose(page, "Roomy rows");
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await expect(root(page)).toHaveAttribute("data-density", "roomy");
  await page.getByTitle("Dark theme").click();
  await signIn(page, second);
  await expect(root(page)).not.toHaveAttribute("data-density", "roomy");
  await expect(root(page)).toHaveAttribute("data-theme", "dark");
});

test("a theme that the server cannot keep applies in this browser, without a notice", async ({ page, server }) => {
  await page.goto("/ns/default/runs");
  await signIn(page, server.addPerson("looks-alone", "viewer"));
  const sends = (query: unknown) => String(query).includes("updateMySettings(");
  await page.route("**/graphql", async (route) => {
    await (sends(route.request().postDataJSON()?.query) ? route.abort() : route.fallback());
  });
  const failed = page.waitForEvent("requestfailed", (request) => sends(request.postDataJSON()?.query));
  await openMenu(page);
  await page.getByTitle("Dark theme").click();
  await failed;
  await page.unrouteAll();
  // The next choice is sent after the one that failed, and without a word about it.
  await choose(page, "Roomy rows");
  await expect(root(page)).toHaveAttribute("data-theme", "dark");
  await expect(root(page)).toHaveAttribute("data-density", "roomy");
  await expect(page.locator(".notice")).toHaveCount(0);
});
