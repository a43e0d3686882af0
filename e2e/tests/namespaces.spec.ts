import { openDialogHasNoViolations } from "../support/axe.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: short-lived
namespace: short-lived
schedules:
  breeze: { when: "0 * * * *", task: { target: { noop: {} } } }
`;

test("a namespace is deleted by its name, with what is in it, and restored with its schedules paused", async ({
  page,
  server,
  admin,
}) => {
  server.cli(["namespace", "create", "short-lived"]);
  deploy(server, "short-lived", MODULE);
  await page.goto("/ns/default/settings/namespaces");
  await signIn(page, admin);
  const row = page.getByTestId("namespace-row").filter({ hasText: "short-lived" });
  await row.getByRole("button", { name: "Delete", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Delete namespace" });
  await expect(dialog.getByTestId("namespace-impact")).toContainText("1 schedule");
  await openDialogHasNoViolations(page, "deleting a namespace");
  await dialog.getByLabel("Its name, to confirm").fill("something else");
  await dialog.getByLabel("Reason").fill("the wind has turned");
  await dialog.getByRole("button", { name: "Delete namespace" }).click();
  await expect(dialog).toContainText("This is not the name of the namespace.");
  await dialog.getByLabel("Its name, to confirm").fill("short-lived");
  await dialog.getByRole("button", { name: "Delete namespace" }).click();
  await expect(row).toHaveCount(0);

  const deleted = page.getByTestId("deleted-namespace-row").filter({ hasText: "short-lived" });
  await expect(deleted).toContainText("ada");
  await deleted.getByRole("button", { name: "Restore" }).click();
  const restore = page.getByRole("dialog", { name: "Restore namespace" });
  await restore.getByLabel("Name").fill("long-lived");
  await restore.getByRole("button", { name: "Restore" }).click();
  await expect(deleted).toHaveCount(0);
  await expect(page.getByTestId("namespace-row").filter({ hasText: "long-lived" })).toBeVisible();
  await expect.poll(() => server.cli(["schedules", "--namespace", "long-lived"])).toContain("breeze");
  await page.goto("/ns/long-lived/schedules");
  await expect(page.getByText("its namespace was deleted and restored").or(page.getByText("Paused")).first()).toBeVisible();
});
