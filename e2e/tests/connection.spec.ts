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
