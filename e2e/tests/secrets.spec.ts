import { rmSync } from "node:fs";
import { join } from "node:path";

import { hasNoViolations } from "../support/axe.ts";
import { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";

test("a server without a key for secrets says what to set, and offers nothing that it refuses", async ({ page }) => {
  const server = await Server.start();
  try {
    const hook = `{ name: "sealed-hook", kind: WEBHOOK, url: "https://hooks.invalid/" }`;
    await server.ask(`mutation { createAlertChannel(input: ${hook}) { channel { id } } }`, {});
    const ada = server.addPerson("ada", "admin");
    await page.goto(`${server.url}/ns/default/settings/secrets`);
    await signIn(page, ada);
    const words = page.getByTestId("no-secrets-key");
    await expect(page.getByRole("button", { name: "New secret" })).toBeVisible();
    await expect(words).toHaveCount(0);

    // The key is lost. The server does not make another one, because that would not open the channel.
    await server.halt();
    rmSync(join(server.folder, "carillon.db.key"));
    await server.launch();
    await page.reload();
    await expect(words).toContainText("secrets.key_file");
    await expect(page.getByRole("button", { name: "New secret" })).toHaveCount(0);
    await hasNoViolations(page, "secrets on a server without a key");
    // Nor does a link open the dialog, which could only be refused.
    await page.goto(`${server.url}/ns/default/settings/secrets?do=new`);
    await expect(words).toBeVisible();
    await expect(page.getByRole("dialog")).toHaveCount(0);

    await page.goto(`${server.url}/ns/default/settings/alerts?tab=channels`);
    const row = page.getByTestId("channel-row").filter({ hasText: "sealed-hook" });
    await row.getByRole("button", { name: "Change" }).click();
    const change = page.getByRole("dialog", { name: "Change channel" });
    await expect(change).toContainText("this channel cannot be changed");
    await expect(change).toContainText("secrets.key_file");
    await expect(change.getByRole("button", { name: "Save changes" })).toHaveCount(0);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "New channel" }).click();
    const create = page.getByRole("dialog", { name: "New channel" });
    await expect(create).toContainText("can only be a mail");
    await expect(create.getByLabel("Kind").locator("option")).toHaveText(["Mail"]);
    await expect(create.getByLabel("To, one address per line")).toBeVisible();
    await hasNoViolations(page, "a new channel on a server without a key", "dialog[open]");
  } finally {
    await server.stop();
  }
});
