import { hasNoViolations } from "../support/axe.ts";
import { enter, expect, signIn, signInFirst, test } from "../support/test.ts";

const OWN = "staple battery horse";

test("a one-time password is replaced before anything else, and then the requested page is shown", async ({
  page,
  browser,
  server,
}) => {
  const newcomer = server.addNewcomer("nina", "viewer");
  await page.goto("/runs");
  await enter(page, newcomer);
  await expect(page.getByRole("heading", { name: "Choose your password" })).toBeVisible();
  const password = page.getByLabel("New password", { exact: true });
  const again = page.getByLabel("New password, again");
  const set = page.getByRole("button", { name: "Set password" });
  await expect(password).toBeFocused();
  await expect(page.getByRole("link", { name: "Schedules" })).toHaveCount(0);
  const refused = await page.request.post("/graphql", {
    data: { query: "{ schedules { nodes { name } } }" },
  });
  expect(JSON.stringify(await refused.json())).toContain("PASSWORD_CHANGE_REQUIRED");

  const choose = async (one: string, other: string) => {
    await password.fill(one);
    await again.fill(other);
    await set.click();
  };
  await choose(OWN, "another password");
  await expect(page.locator("#again-error")).toHaveText("It differs from the new password.");
  await expect(again).toBeFocused();
  await choose("short", "short");
  await expect(page.locator("#new-password-error")).toContainText("the minimum is 12");
  await expect(password).toBeFocused();
  await choose(newcomer.password, newcomer.password);
  await expect(page.locator("#new-password-error")).toContainText("It is the password that you have now.");

  // After a reload, the console no longer knows the one-time password.
  await page.reload();
  const old = page.getByLabel("One-time password");
  await expect(old).toBeFocused();
  await old.fill("not the password");
  await choose(OWN, OWN);
  await expect(page.locator("#old-password-error")).toContainText("It is not your password.");
  await expect(old).toBeFocused();
  await old.fill(newcomer.password);
  await set.click();
  await expect(page.getByRole("heading", { name: "Runs", level: 1 })).toBeVisible();
  await expect(page).toHaveURL(/\/runs$/);

  const theirs = await browser.newContext({ baseURL: server.url });
  const elsewhere = await theirs.newPage();
  await elsewhere.goto("/");
  await signIn(elsewhere, { name: newcomer.name, password: OWN });
  await theirs.close();
});

test("people says who has not chosen a password yet", async ({ page, browser, server, admin }) => {
  const newcomer = server.addNewcomer("nils", "viewer");
  await page.goto("/settings/people");
  await signIn(page, admin);
  const row = page.getByTestId("user-row").filter({ hasText: "nils" });
  const note = "has not chosen a password yet";
  await expect(row).toContainText(note);
  const theirs = await browser.newContext({ baseURL: server.url });
  const other = await theirs.newPage();
  await other.goto("/");
  await signInFirst(other, newcomer, OWN);
  await page.reload();
  await expect(row).toContainText("May sign in");
  await expect(row).not.toContainText(note);

  // A reset makes the password one for a single sign-in again, and ends the session.
  await row.getByRole("button", { name: "Password" }).click();
  const dialog = page.getByRole("dialog", { name: "New password" });
  await dialog.getByRole("button", { name: "Generate a new password" }).click();
  await expect(row).toContainText(note);
  const password = (await page.getByTestId("shown-once").textContent()) ?? "";
  await other.reload();
  await signInFirst(other, { name: newcomer.name, password }, "battery staple horse");
  await theirs.close();
});

test("a user who does not choose a password yet signs out", async ({ page, server }) => {
  const newcomer = server.addNewcomer("nele", "viewer");
  await page.goto("/");
  await enter(page, newcomer);
  await expect(page.getByRole("heading", { name: "Choose your password" })).toBeVisible();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("the form for a password fits and breaks no rule of axe", async ({ page, server }) => {
  const newcomer = server.addNewcomer(`n${"o".repeat(63)}`, "viewer");
  await page.goto("/");
  await enter(page, newcomer);
  await page.getByRole("button", { name: "Set password" }).click();
  await expect(page.locator("#new-password-error")).not.toBeEmpty();
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1440, 390, 320]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await hasNoViolations(page, `choose a password, ${colorScheme}, ${width} wide`);
      const surplus = await page.evaluate(() => {
        const root = document.documentElement;
        return root.scrollWidth - root.clientWidth;
      });
      expect.soft(surplus, `choose a password at ${width} is wider by`).toBeLessThanOrEqual(0);
    }
  }
});
