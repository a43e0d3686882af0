import { expect, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const module = (when: string) =>
  `module: versions\nschedules:\n  twice-told: { when: "${when}", task: { target: { noop: {} } } }\n`;

test("an earlier version says what it would change if it applied again", async ({ page, server, admin }) => {
  deploy(server, "versions", module("0 2 * * *"));
  deploy(server, "versions", module("0 3 * * *"));
  await page.goto("/schedules?q=name:twice-told");
  await signIn(page, admin);
  await page.getByRole("link", { name: "twice-told" }).click();
  await openTab(page, "Versions");
  const changed = (version: number) =>
    page.getByRole("row", { name: new RegExp(`^${version} `) }).getByRole("button", { name: "What changed" });
  const dialog = page.getByRole("dialog", { name: "What changed" });
  await changed(1).click();
  const again = dialog.getByRole("region", { name: "If this version applied again" });
  await expect(again).toContainText(/In the next 30 days \d+ fires are new and \d+ are gone/);
  await expect(again.getByRole("list", { name: "New" })).toContainText("02:00");
  await page.keyboard.press("Escape");

  // The current version changes nothing.
  await changed(2).click();
  await expect(dialog).toContainText("0 3 * * *");
  await expect(again).toHaveCount(0);
});
