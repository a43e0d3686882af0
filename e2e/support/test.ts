import { copyFileSync } from "node:fs";

import { test as base, expect, type Page } from "@playwright/test";

import { Server, type Person } from "./server.ts";

interface World {
  /**
   * The server of a worker, which all of its tests share. Each test finds the data of the earlier
   * ones.
   */
  server: Server;
  /** A person who may do everything. */
  admin: Person;
}

export const test = base.extend<{ serverLog: void; noErrors: void }, World>({
  server: [
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.stop();
    },
    { scope: "worker" },
  ],

  admin: [async ({ server }, use) => use(server.addPerson("ada", "admin")), { scope: "worker" }],

  baseURL: async ({ server }, use) => use(server.url),

  serverLog: [
    async ({ server }, use, info) => {
      await use();
      if (info.status !== info.expectedStatus) {
        copyFileSync(server.log, info.outputPath("server.log"));
      }
    },
    { auto: true },
  ],

  /**
   * Fails a test in which a panic, an exception or a violation of the content security policy
   * occurs.
   */
  noErrors: [
    async ({ context }, use) => {
      const errors: string[] = [];
      context.on("weberror", (event) => errors.push(String(event.error())));
      context.on("console", (message) => {
        // The browser itself logs a refused request or connection, and many tests cause one on
        // purpose.
        const isRefusal = /^(Failed to load resource|WebSocket connection to)/.test(message.text());
        if (message.type() === "error" && !isRefusal) errors.push(message.text());
      });
      await use();
      expect(errors, "errors in the browser's console").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/**
 * Presses keys of a shortcut until the address matches. Keys only count if they follow each other
 * quickly.
 */
export async function follow(page: Page, keys: string, address: RegExp): Promise<void> {
  await expect(async () => {
    for (const key of keys) await page.keyboard.press(key);
    await expect(page).toHaveURL(address, { timeout: 2_000 });
  }).toPass();
}

/** Fills in the sign-in page, which is shown in place of the requested page. */
export async function enter(page: Page, person: Person): Promise<void> {
  await page.getByLabel("Name").fill(person.name);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Signs in, until the requested page is shown. */
export async function signIn(page: Page, person: Person): Promise<void> {
  await enter(page, person);
  await expect(page.getByRole("button", { name: /^You:/ })).toBeVisible();
}

/** Signs in with a one-time password and chooses another one, until the requested page is shown. */
export async function signInFirst(page: Page, person: Person, own: string): Promise<void> {
  await enter(page, person);
  await page.getByLabel("New password", { exact: true }).fill(own);
  await page.getByLabel("New password, again").fill(own);
  await page.getByRole("button", { name: "Set password" }).click();
  await expect(page.getByRole("button", { name: /^You:/ })).toBeVisible();
}

/** Opens the header's choice of a range of time. */
export async function openRanges(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Range of time/ }).click();
  await expect(page.getByLabel("Until", { exact: true })).toBeVisible();
}

/** Selects a range of time in the header by its label. */
export async function chooseRange(page: Page, words: string): Promise<void> {
  await openRanges(page);
  await page.getByRole("banner").getByRole("link", { name: words, exact: true }).click();
  await expect(page.getByRole("button", { name: `Range of time: ${words}` })).toBeVisible();
}

/** Opens a tab of the schedule's page. */
export async function openTab(page: Page, name: string): Promise<void> {
  const tabs = page.getByRole("navigation", { name: "Parts of the schedule" });
  await tabs.getByRole("link", { name }).click();
}
