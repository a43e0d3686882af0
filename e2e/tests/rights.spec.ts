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

test("a role that was taken away is noticed at the first refusal", async ({ page, server }) => {
  deploy(server, "rights", MODULE);
  await page.goto("/schedules");
  await signIn(page, server.addPerson("otto", "operator"));
  await page.getByRole("link", { name: "quiet" }).click();
  const run = page.getByRole("button", { name: "Run now" });
  await expect(run).toBeVisible();
  server.cli(["user", "role", "otto", "viewer"]);
  // The server may know the old role for a moment.
  await expect(async () => {
    // The button may disappear before the click.
    if ((await run.count()) > 0) await run.click({ timeout: 2_000 });
    await expect(run).toHaveCount(0, { timeout: 2_000 });
  }).toPass();
  await expect(page.getByRole("heading", { name: "quiet" })).toBeVisible();
});

test("a viewer who opens a form by its address reads which role it needs", async ({ page, server }) => {
  deploy(server, "rights", MODULE);
  await page.goto("/schedules");
  await signIn(page, server.addPerson("vito", "viewer"));
  await page.getByRole("link", { name: "quiet" }).click();
  await expect(page.getByRole("heading", { name: "quiet" })).toBeVisible();
  const schedule = new URL(page.url()).pathname;
  const forms: [string, string][] = [
    ["/schedules/new", "Editor"],
    [`${schedule}/edit`, "Editor"],
    ["/workflows/new", "Editor"],
    ["/calendars/new", "Editor"],
    ["/settings/alerts/new", "Editor"],
    ["/modules/deploy", "Editor"],
    ["/backfills/new", "Operator"],
    ["/maintenance/new", "Operator"],
  ];
  for (const [path, role] of forms) {
    await page.goto(path);
    const heading = page.getByRole("heading", { name: `This page needs the role ${role}` });
    await expect(heading, path).toBeVisible();
    await expect(page.getByTestId("not-allowed")).toContainText("Your role in default is Viewer.");
    await expect(page.getByRole("main").getByRole("textbox"), path).toHaveCount(0);
  }
});

test("a viewer of an empty namespace is offered nothing to create", async ({ page, server }) => {
  server.cli(["namespace", "create", "bare"]);
  await page.goto("/ns/bare");
  await signIn(page, await server.addMember("bea", "viewer", "bare"));
  await expect(page.getByText("Nothing is scheduled yet")).toBeVisible();
  const create = page.getByRole("main").getByRole("link", { name: /New schedule|Create the first one/ });
  await expect(create).toHaveCount(0);
  await page.goto("/ns/bare/schedules");
  await expect(page.getByText("No schedules yet")).toBeVisible();
  await expect(create).toHaveCount(0);
});

test("across all namespaces a row offers what the role in its own namespace allows", async ({ page, server }) => {
  for (const place of ["east", "west"]) {
    server.cli(["namespace", "create", place]);
    const one = `  ${place}-wind: { tags: [compass], when: "0 4 1 1 *", task: { target: { noop: {} } } }\n`;
    deploy(server, place, `module: ${place}\nnamespace: ${place}\nschedules:\n${one}`);
    server.cli(["trigger", `${place}-wind`, "--namespace", place]);
  }
  const tess = await server.addMember("tess", "operator", "east");
  server.cli(["member", "add", "tess", "--namespace", "west", "--role", "viewer"]);
  await page.goto("/all/schedules?q=tag:compass");
  await signIn(page, tess);
  await expect(page.getByTestId("schedule-row")).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Run east-wind now" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Run west-wind now" })).toHaveCount(0);
  await page.goto("/all/runs?q=tag:compass");
  await expect(page.getByTestId("run-row")).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Run east-wind again" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Run west-wind again" })).toHaveCount(0);
});

test("a viewer who may not see payloads reads why a run has no log", async ({ page, server }) => {
  server.cli(["namespace", "create", "sealed"]);
  const once = `sealed-once: { when: "0 4 1 1 *", task: { target: { noop: {} } } }`;
  deploy(server, "sealed", `module: sealed\nnamespace: sealed\nschedules:\n  ${once}\n`);
  server.cli(["trigger", "sealed-once", "--namespace", "sealed"]);
  await page.goto("/ns/sealed/runs");
  await signIn(page, await server.addMember("sela", "viewer", "sealed"));
  await page.getByTestId("run-row").getByRole("link").first().click();
  await expect(page.getByRole("region", { name: "Log" })).toContainText("needs the right to see payloads");
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
