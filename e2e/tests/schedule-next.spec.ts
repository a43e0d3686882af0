import { expect, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: ahead
calendars:
  closed: { mode: exclude, weekdays: [sun] }
schedules:
  every-minute: { when: "* * * * *", calendars: [closed], task: { target: { noop: {} } } }
`;

/** The date of a weekday (0 is Sunday) within the next week, but not today. */
function next(weekday: number): string {
  const days = [1, 2, 3, 4, 5, 6, 7].map((ahead) => new Date(Date.now() + ahead * 86_400_000));
  return days.find((day) => day.getUTCDay() === weekday)!.toISOString().slice(0, 10);
}

test("the next 90 days of a schedule are a calendar, and a day lists its fires", async ({ page, server, admin }) => {
  deploy(server, "ahead", MODULE);
  await page.goto("/schedules?q=name:every-minute");
  await signIn(page, admin);
  await page.getByRole("link", { name: "every-minute" }).click();
  await openTab(page, "Next");

  const days = page.getByTestId("fire-day");
  await expect(days).toHaveCount(90);
  const day = (date: string) => page.locator(`#fire-day-${date}`);
  const [sunday, monday] = [next(0), next(1)];
  await expect(day(sunday)).toHaveAccessibleName(/: no fire, 1.440 suppressed by closed$/);
  await expect(day(sunday)).toHaveAttribute("data-level", "0");
  await expect(day(monday)).toHaveAccessibleName(/: 1.440 fires$/);
  await expect(day(monday)).toHaveAttribute("data-level", "5");
  await expect(page.getByTestId("fire-days-words")).toHaveText(/^\d+.\d+ fires, and \d+.\d+ that calendars suppress\.$/);

  // A chosen day lists its fires, and the address keeps it.
  await day(monday).click();
  const words = page.getByTestId("fire-day-words");
  await expect(words).toHaveText(/1.440 fires$/);
  const rows = page.getByRole("table", { name: "Fires of a day" }).locator("tbody tr");
  await expect(rows).toHaveCount(50);
  await expect(rows.first()).toContainText("00:00:00");
  await expect(page.getByText(/^and 1.390 more$/)).toBeVisible();
  await page.reload();
  await expect(day(monday)).toHaveAttribute("aria-pressed", "true");
  await expect(rows).toHaveCount(50);

  // The arrow keys move from day to day; only one of the days is a tab stop.
  await expect(days.and(page.locator("[tabindex='0']"))).toHaveCount(1);
  await day(monday).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await expect(words).toHaveText(/no fire, 1.440 suppressed by closed$/);
  await expect(rows.first().locator("s")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(words).toHaveText("Choose a day to see its fires.");
  await expect(rows).toHaveCount(0);

  // A phone shows all seven days of a week.
  await page.setViewportSize({ width: 390, height: 800 });
  await expect(day(monday)).toBeVisible();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(390);
});
