import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: rights
schedules:
  quiet:
    when: "0 4 * * *"
    task: { target: { noop: {} } }
`;

test("without a session every page is the sign-in page, and the API answers nothing", async ({
  page,
  server,
}) => {
  deploy(server, "rights", MODULE);
  for (const path of ["/", "/schedules", "/schedules/new", "/runs"]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
    await expect(page.getByText("quiet")).toHaveCount(0);
  }
  const answer = await page.request.post("/graphql", {
    data: { query: "{ schedules { nodes { name } } }" },
  });
  expect(JSON.stringify(await answer.json())).toContain("UNAUTHENTICATED");
});

test("a wrong password is refused and says no more than that", async ({ page, admin }) => {
  await page.goto("/");
  await page.getByLabel("Name").fill(admin.name);
  await page.getByLabel("Password").fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).not.toBeEmpty();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("a viewer sees schedules and finds no button that would be refused", async ({
  page,
  server,
}) => {
  deploy(server, "rights", MODULE);
  await page.goto("/schedules");
  await signIn(page, server.addPerson("vera", "viewer"));
  await page.getByRole("link", { name: "quiet" }).click();
  await expect(page.getByRole("heading", { name: "quiet" })).toBeVisible();
  for (const name of ["Run now", "Pause", "Delete"]) {
    await expect(page.getByRole("button", { name })).toHaveCount(0);
  }
});

test("signing out ends the session", async ({ page, admin }) => {
  await page.goto("/runs");
  await signIn(page, admin);
  await page.getByRole("button", { name: /^You:/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});
