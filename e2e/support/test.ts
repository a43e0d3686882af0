import { copyFileSync } from "node:fs";

import { test as base, expect, type Page } from "@playwright/test";

import { Server, type Person } from "./server.ts";

interface World {
  /** A server for each worker; what one test leaves behind, the next one finds. */
  server: Server;
  /** Somebody who may do everything. */
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

  /** A panic, an exception or a breach of the content security policy fails the test it happens in. */
  noErrors: [
    async ({ context }, use) => {
      const errors: string[] = [];
      context.on("weberror", (event) => errors.push(String(event.error())));
      context.on("console", (message) => {
        // A refused request or connection is logged by the browser itself, and is often what is tested.
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

/** Presses keys that lead to an address. They count only if they follow each other quickly. */
export async function follow(page: Page, keys: string, address: RegExp): Promise<void> {
  await expect(async () => {
    for (const key of keys) await page.keyboard.press(key);
    await expect(page).toHaveURL(address, { timeout: 2_000 });
  }).toPass();
}

/** Fills in the sign-in page, which stands in front of whatever page was asked for. */
export async function signIn(page: Page, person: Person): Promise<void> {
  await page.getByLabel("Name").fill(person.name);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("button", { name: /^You:/ })).toBeVisible();
}

/** Opens the header's choice of a range of time. */
export async function openRanges(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Range of time/ }).click();
  await expect(page.getByLabel("Until", { exact: true })).toBeVisible();
}

/** Chooses a range of time by its words in the header. */
export async function chooseRange(page: Page, words: string): Promise<void> {
  await openRanges(page);
  await page.getByRole("banner").getByRole("link", { name: words, exact: true }).click();
  await expect(page.getByRole("button", { name: `Range of time: ${words}` })).toBeVisible();
}

/** Goes to a tab of the schedule's page. */
export async function openTab(page: Page, name: string): Promise<void> {
  const tabs = page.getByRole("navigation", { name: "Parts of the schedule" });
  await tabs.getByRole("link", { name }).click();
}
