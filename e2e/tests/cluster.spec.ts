import { Server } from "../support/server.ts";
import { expect, follow, signIn, test } from "../support/test.ts";

test("the cluster's page shows each node with what it does, and comes by one key", async ({
  page,
  admin,
}) => {
  await page.goto("/");
  await signIn(page, admin);
  await follow(page, "gc", /\/cluster$/);
  await expect(page).toHaveTitle(/Cluster/);
  const node = page.getByTestId("node-row");
  await expect(node).toHaveCount(1);
  await expect(node).toContainText("Alive");
  await expect(node).toContainText("api, scheduler, worker");
  await expect(node).toContainText("100 % of schedules");
  await expect(node).toContainText("recovery");
  await expect(page.getByTestId("health")).toContainText("Healthy");
  await expect(page.getByText("SQLite is for one node.")).toBeVisible();
});

test("the cluster's page hears of a node's next life, also of one that began while it was cut off", async ({
  page,
}) => {
  // The other tests' server stays up.
  const server = await Server.start();
  try {
    await page.goto(`${server.url}/cluster`);
    await signIn(page, server.addPerson("zoe", "viewer"));
    const name = page.getByTestId("node-row").locator("th span").first();
    await expect(name).toHaveAttribute("title", /^life 1 of this name/);
    await server.halt();
    await server.launch();
    await expect(name).toHaveAttribute("title", /^life 2 of this name/);
  } finally {
    await server.stop();
  }
});
