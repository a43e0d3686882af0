import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

test("the report of clock changes says what each schedule does, however many there are", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "clocks"]);
  // More than a page of schedules precedes the affected ones by name.
  const others = Array.from({ length: 101 }, (_, at) => `  y-${at}: { when: "@yearly", task: { target: { noop: {} } } }\n`);
  const berlin = (name: string, more: string) =>
    `  ${name}: { when: "30 2 * * *", zone: Europe/Berlin, ${more}task: { target: { noop: {} } } }\n`;
  const schedules = others.join("") + berlin("z-shifts", "") + berlin("z-skips", "dst: { gap: skip, overlap: both }, ");
  deploy(server, "clocks", `module: clocks\nnamespace: clocks\nschedules:\n${schedules}`);
  await server.ask(
    `mutation { createSchedule(input: { namespace: "clocks", name: "z-by-hand",
      timing: { expressions: ["30 2 * * *"], zone: "Europe/Berlin" }, task: { target: { noop: {} } } }) { schedule { id } } }`,
    {},
  );
  await page.goto("/ns/clocks/upcoming?tab=clocks");
  await signIn(page, admin);
  // A year may contain the same change twice.
  const changes = page.getByTestId("clock-change");
  const forward = changes.filter({ hasText: "Europe/Berlin: the clock goes forward" }).first();
  await expect(forward).toContainText("02:00 becomes 03:00 (+01:00 becomes +02:00). It affects 3 schedules.");
  const row = (name: string) => forward.getByTestId("clock-row").filter({ hasText: name });
  await expect(row("z-shifts")).toContainText("it fires at 03:00 instead");
  await expect(row("z-skips")).toContainText("it does not fire then");
  const back = changes.filter({ hasText: "the clock goes back" }).first();
  await expect(back.getByTestId("clock-row").filter({ hasText: "z-skips" })).toContainText("it fires both times");
  // A module's schedule is changed in its file.
  await expect(row("z-shifts").getByRole("link", { name: "Edit" })).toHaveCount(0);
  await row("z-by-hand").getByRole("link", { name: "Edit z-by-hand" }).click();
  await expect(page).toHaveURL(/\/schedules\/[^/]+\/edit$/);
});

test("a week is seen by the work of its hours, too", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "labour"]);
  const one = (name: string, when: string, script: string) =>
    `  ${name}: { when: "${when}", task: { target: { command: { script: "${script}" } } } }\n`;
  const schedules = one("has-run", "30 4 * * *", "sleep 1") + one("has-not-run", "0 6 * * *", "true");
  deploy(server, "labour", `module: labour\nnamespace: labour\nschedules:\n${schedules}`);
  server.cli(["trigger", "has-run", "--namespace", "labour", "--wait"]);
  await page.goto("/ns/labour/upcoming");
  await signIn(page, admin);
  await page.getByRole("navigation", { name: "What is counted" }).getByRole("link", { name: "Worker-minutes" }).click();
  await expect(page).toHaveURL(/measure=work/);
  await expect(page.getByRole("heading", { name: "Worker-minutes in the next 7 days" })).toBeVisible();
  const cells = page.getByRole("group", { name: "Worker-minutes by day and hour" }).getByRole("button");
  await expect(cells.filter({ hasText: "<1" }).first()).toHaveAccessibleName(/<1 worker-minute by 1 start of 1 schedule$/);
  await expect(page.getByText("The busiest hour has <1 worker-minute,")).toBeVisible();
  await expect(page.getByRole("button", { name: /: 0 worker-minutes by 1 start of 1 schedule$/ }).first()).toHaveText("");
  await page.reload();
  await expect(cells.filter({ hasText: "<1" }).first()).toBeVisible();
  await page.getByRole("link", { name: "Starts", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Starts in the next 7 days" })).toBeVisible();
});

test("a fire is shown in its hour of a clock that is half an hour off", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "halves"]);
  const daily = `daily: { when: "15 9 * * *", zone: Asia/Kolkata, task: { target: { noop: {} } } }`;
  deploy(server, "halves", `module: halves\nnamespace: halves\nschedules:\n  ${daily}\n`);
  await page.addInitScript(() => localStorage.setItem("carillon.zone", "Asia/Kolkata"));
  await page.goto("/ns/halves/upcoming");
  await signIn(page, admin);
  const hour = (hour: string) => page.getByRole("button", { name: `${hour}: 1 start of 1 schedule` });
  await expect(hour("09:00").first()).toBeVisible();
  await expect(hour("08:00")).toHaveCount(0);
  await expect(page.getByRole("img", { name: "1 start in 1 minute, 1 in the busiest" })).toBeVisible();

  // "Week" lets go of the chosen hour, and the way back brings it back.
  const chosen = page.getByRole("button", { name: /starts? of \d+ schedules?/ }).and(page.locator("[aria-pressed=true]"));
  await hour("09:00").nth(1).click();
  await expect(page).toHaveURL(/hour=/);
  await expect(chosen).toHaveCount(1);
  await page.getByRole("link", { name: "Week", exact: true }).click();
  await expect(page).not.toHaveURL(/hour=/);
  await expect(chosen).toHaveCount(0);
  await page.goBack();
  await expect(chosen).toHaveCount(1);

  await page.getByRole("link", { name: "Day", exact: true }).click();
  await page.getByRole("link", { name: "The day after" }).click();
  const row = (hour: string) => page.getByTestId("day-hour").filter({ hasText: hour });
  await expect(row("09:00").locator("td.number").first()).toHaveText("1");
  await expect(row("08:00").locator("td.number").first()).toHaveText("0");
  await expect(page.getByTestId("day-hour")).toHaveCount(24);
});
