import type { Page } from "@playwright/test";

import { expect, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

const MODULE = `
module: press
schedules:
  ticks:
    when: "* * * * * *"
    task: { target: { noop: {} } }
`;

test.afterAll(({ server }) => rest(server, "press"));

/** The scheduled instant of the newest run on the page. */
const newest = (page: Page) => page.getByTestId("run-row").first().locator("time").first();

test("what is pressed stays under the pointer until it is released", async ({
  page,
  server,
  admin,
}) => {
  deploy(server, "press", MODULE);
  await page.goto("/runs");
  await signIn(page, admin);
  const link = page.getByTestId("run-row").first().getByRole("link").first();
  await expect(link).toBeVisible();
  // The first requests have been answered, and from now on events update the page.
  await expect(page.getByTestId("connection")).toHaveAttribute("data-state", "live");
  for (const turn of ["first", "second"]) {
    const before = (await newest(page).getAttribute("datetime")) ?? "";
    await expect(newest(page), turn).not.toHaveAttribute("datetime", before);
  }
  const box = await link.boundingBox();
  if (box === null) throw new Error("the row has no place on the page");
  const point = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await page.mouse.move(point.x, point.y);
  await page.mouse.down();
  const pressed = await page.evaluate(
    ({ x, y }) => document.elementFromPoint(x, y)?.closest("a")?.pathname,
    point,
  );
  const shown = (await newest(page).getAttribute("datetime")) ?? "";

  // Another page shows that new runs start meanwhile.
  const other = await page.context().newPage();
  await other.goto("/runs");
  const later = async () => ((await newest(other).getAttribute("datetime")) ?? "") > shown;
  await expect.poll(later).toBe(true);
  const between = await newest(other).getAttribute("datetime");
  await expect(newest(other)).not.toHaveAttribute("datetime", between ?? "");

  await expect(newest(page)).toHaveAttribute("datetime", shown);
  await page.mouse.up();
  await expect(page).toHaveURL(new RegExp(`${pressed}$`));
});
