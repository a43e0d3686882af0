import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: explorer
schedules:
  "explored": { when: "0 4 1 1 *", task: { target: { noop: {} } } }
`;

// The page runs without any other network, under the console's policy. A violation of the policy
// fails every test.
test("GraphQL is tried out in a page that needs nothing from elsewhere", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "explorer", MODULE);
  await page.route("**/*", (route) => {
    const isOurs = route.request().url().startsWith(server.url);
    return isOurs ? route.continue() : route.abort();
  });
  const [query, answer] = [page.getByLabel("Query"), page.locator("#answer")];
  const state = page.getByRole("status");
  const here = page.getByRole("list", { name: "At the cursor" });
  await page.goto("/graphiql");
  await expect(query).not.toHaveValue("");

  await page.goto("/");
  await signIn(page, admin);
  await page.goto("/graphiql");
  await expect(state).toContainText("types.");

  // Checks the candidates at the cursor: fields, arguments, values of an enum, types of variables.
  for (const [text, first] of [
    ["query { sched", "schedule"],
    ["query { schedules(first: 1, fil", "filter"],
    ["{ schedules { nodes { nextF", "nextFireAt"],
    ["mutation { createSchedule(input: { timing: { expressions: [] }, over", "overlap"],
    ["mutation { createSchedule(input: { overlap: BUFFER_O", "BUFFER_ONE"],
    ["mutation { createSchedule(input: { name: \"a\" }) { sch", "schedule"],
    ["query ($id: UU", "UUID"],
    ["{ me { ... on Vie", "Viewer"],
    ["subscr", "subscription"],
  ] as const) {
    await query.fill(text);
    await expect(here.getByRole("button").first(), text).toContainText(first);
  }

  // The operation that contains the cursor is executed.
  await query.fill("query One { me { name } } query Two { schedules { nodes { nextF } } }");
  for (let step = 0; step < " } } }".length; step += 1) await query.press("ArrowLeft");
  await query.press("Control+Space");
  await expect(query).toHaveValue(/nodes { nextFireAt } } }$/);
  await query.press("Control+Enter");
  await expect(answer).toContainText('"nextFireAt": "20');
  await expect(answer).not.toContainText('"me"');
  await query.press("Control+Home");
  await query.press("Control+Enter");
  await expect(answer).toContainText(admin.name);

  await query.fill('query ($n: String!) { schedules(search: $n) { totalCount } <img src=x onerror="carillonWasHit=1"> }');
  await query.press("Control+Enter");
  await expect(answer).toContainText("errors");
  await expect(page.locator("img")).toHaveCount(0);
  await query.fill("query ($n: String!) { schedules(search: $n) { totalCount } }");
  await page.getByLabel("Variables").fill('{ "n": "explored" }');
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(answer).toContainText('"totalCount": 1');

  // A subscription continues until it is stopped. It reports only later events, and no message says
  // when the server has received it. So the test causes events until one is reported.
  await page.getByLabel("Variables").fill("");
  await query.fill("subscription { scheduleEvents { cursor schedule { name } } }");
  await query.press("Control+Enter");
  await expect(state).toContainText("Following");
  const news = `mutation {
    pauseSchedules(which: { search: "explored" }, reason: "a look") { done }
    resumeSchedules(which: { search: "explored" }) { done }
  }`;
  await expect(async () => {
    await server.ask(news, {});
    await expect(answer).toContainText("explored", { timeout: 2_000 });
  }).toPass({ timeout: 30_000 });
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(state).toContainText("ended");

  await page.getByLabel("Find a type or field").fill("nextFireAt");
  await expect(page.locator("#types").getByText("Schedule", { exact: true }).first()).toBeVisible();
});
