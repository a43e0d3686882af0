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

test("the picker of the namespace follows what is created, renamed and deleted", async ({ page, admin }) => {
  await page.goto("/ns/default/settings/namespaces");
  await signIn(page, admin);
  const picker = page.getByRole("banner").getByRole("button", { name: "Namespace" });
  const choice = (name: string) => page.getByRole("banner").getByRole("link", { name, exact: true });
  const row = (name: string) =>
    page.getByTestId("namespace-row").filter({ has: page.getByRole("link", { name, exact: true }) });
  await page.getByRole("button", { name: "New namespace" }).click();
  const create = page.getByRole("dialog", { name: "New namespace" });
  await create.getByLabel("Name").fill("tern");
  await create.getByRole("button", { name: "Create namespace" }).click();
  await expect(row("tern")).toBeVisible();
  await picker.click();
  await choice("tern").click();
  await expect(page).toHaveURL(/\/ns\/tern\/settings\/namespaces$/);

  // The page stays in the namespace, under its new name, even if the dialog is closed before the answer.
  let answer = () => {};
  const closed = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/graphql", async (route) => {
    if (String(route.request().postDataJSON()?.query).includes("renameNamespace(")) await closed;
    await route.fallback();
  });
  await row("tern").getByRole("button", { name: "Rename" }).click();
  const rename = page.getByRole("dialog", { name: "Rename namespace" });
  await rename.getByLabel("New name").fill("gull");
  await rename.getByRole("button", { name: "Rename" }).click();
  await page.keyboard.press("Escape");
  await expect(rename).toBeHidden();
  answer();
  await expect(page).toHaveURL(/\/ns\/gull\/settings\/namespaces$/);
  await page.unrouteAll({ behavior: "wait" });
  await picker.click();
  await expect(choice("gull")).toBeVisible();
  await expect(choice("tern")).toHaveCount(0);
  await page.keyboard.press("Escape");

  await row("gull").getByRole("button", { name: "Delete", exact: true }).click();
  const remove = page.getByRole("dialog", { name: "Delete namespace" });
  await expect(remove.getByTestId("namespace-impact")).toBeVisible();
  await remove.getByLabel("Its name, to confirm").fill("gull");
  await remove.getByLabel("Reason").fill("flown");
  await remove.getByRole("button", { name: "Delete namespace" }).click();
  await expect(page).toHaveURL(/\/ns\/default\/settings\/namespaces$/);
  await picker.click();
  await expect(choice("default")).toBeVisible();
  await expect(choice("gull")).toHaveCount(0);
});
