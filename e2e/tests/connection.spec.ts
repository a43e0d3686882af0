import type { Page } from "@playwright/test";

import { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: connection
schedules:
  ticks:
    when: "* * * * * *"
    task: { target: { noop: {} } }
`;

/** The scheduled instant of the newest run. */
const newest = (page: Page) =>
  page
    .getByTestId("run-row")
    .first()
    .evaluate((row) => row.querySelector("time")?.getAttribute("datetime") ?? "");

test("a console whose server is gone for a while comes back by itself and goes on", async ({
  page,
}) => {
  // The test uses its own server, because it stops the server and the others need theirs.
  const server = await Server.start();
  try {
    deploy(server, "connection", MODULE);
    await page.goto(`${server.url}/runs`);
    await signIn(page, server.addPerson("otto", "operator"));
    const connection = page.getByTestId("connection");
    await expect(connection).toHaveAttribute("data-state", "live");
    await expect(page.getByTestId("run-row").first()).toBeVisible();

    await server.halt();
    await expect(connection).toHaveAttribute("data-state", "waiting");
    const last = await newest(page);
    await server.launch();
    await expect(connection).toHaveAttribute("data-state", "live");
    await expect.poll(async () => (await newest(page)) > last).toBe(true);
  } finally {
    await server.stop();
  }
});

test("a server that is frozen is noticed within seconds, and its health is then unknown", async ({
  page,
}) => {
  const server = await Server.start();
  try {
    await page.goto(server.url);
    await signIn(page, server.addPerson("otto", "operator"));
    const connection = page.getByTestId("connection");
    await expect(connection).toHaveAttribute("data-state", "live");
    const health = page.getByTestId("health");
    await expect(health).toHaveAttribute("data-state", "healthy");
    server.freeze();
    await expect(connection).toHaveAttribute("data-state", "waiting", { timeout: 15_000 });
    await expect(health).toContainText("does not answer");
    server.thaw();
    await expect(connection).toHaveAttribute("data-state", "live", { timeout: 20_000 });
    await expect(health).toHaveAttribute("data-state", "healthy");
  } finally {
    server.thaw();
    await server.stop();
  }
});

test("a page whose code does not arrive says so, and is there after a second try", async ({ browser, server, admin }) => {
  // A context of its own, because the loader writes what it could not load to the browser's console.
  const context = await browser.newContext({ baseURL: server.url });
  const page = await context.newPage();
  await page.goto("/ns/default/schedules");
  await signIn(page, admin);
  await expect(page.getByRole("heading", { name: "Schedules", level: 1 })).toBeVisible();
  let refused = 0;
  await page.route("**/split_runs.wasm", (route) => {
    refused += 1;
    return route.abort();
  });
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  await expect(page.getByText("This page could not be loaded.")).toBeVisible();
  expect(refused).toBe(1);
  await page.unroute("**/split_runs.wasm");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();
  await context.close();
});

test("a dialog whose code does not arrive says so, and has its form after a second try", async ({ browser, server, admin }) => {
  const task = { target: { noop: {} } };
  server.cli(["create", JSON.stringify({ name: "late-dialog", timing: { expressions: ["@daily"] }, task })]);
  // A context of its own, because the loader writes what it could not load to the browser's console.
  const context = await browser.newContext({ baseURL: server.url });
  const page = await context.newPage();
  await page.goto("/ns/default/schedules?q=schedule:late-dialog");
  await signIn(page, admin);
  const dialogs = "**/split_on_demand_schedule_actions.wasm";
  let refused = 0;
  await page.route(dialogs, (route) => {
    refused += 1;
    return route.abort();
  });
  await page.getByRole("button", { name: "Pause late-dialog" }).click();
  const dialog = page.getByRole("dialog", { name: "Pause schedule" });
  await expect(dialog.getByText("This dialog could not be loaded.")).toBeVisible();
  expect(refused).toBe(1);
  await page.unroute(dialogs);
  await dialog.getByRole("button", { name: "Try again" }).click();
  await expect(dialog.getByLabel("Reason")).toBeFocused();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();

  // The code is there now, so the next dialog opens without a request for it.
  await page.route(dialogs, (route) => route.abort());
  await page.getByRole("button", { name: "Pause late-dialog" }).click();
  await expect(dialog.getByLabel("Reason")).toBeFocused();
  await context.close();
});
