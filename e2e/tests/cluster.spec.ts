import { expect, signIn, test } from "../support/test.ts";

test("the cluster's page shows each node with what it does, and comes by one key", async ({
  page,
  admin,
}) => {
  await page.goto("/");
  await signIn(page, admin);
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await expect(page).toHaveURL(/\/cluster$/);
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
