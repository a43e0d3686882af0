import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const lane = (page: Page, name: string) => page.getByTestId("lane").filter({ hasText: name });

test("each job with a run or a fire to come has a lane, and its bars lead to the runs", async ({ page, server, admin }) => {
  const gate = join(server.folder, "lanes-gate");
  server.cli(["namespace", "create", "lanes"]);
  const never = `when: "0 4 1 1 *"`;
  deploy(
    server,
    "lanes",
    `module: lanes\nnamespace: lanes\nschedules:
  quick: { ${never}, task: { target: { noop: {} } } }
  gated: { ${never}, task: { target: { command: { script: "until [ -e ${gate} ]; do sleep 0.1; done" } } } }
  idle: { ${never}, task: { target: { noop: {} } } }
  regular: { when: "*/20 * * * *", task: { target: { noop: {} } } }\n`,
  );
  server.cli(["trigger", "quick", "--namespace", "lanes", "--wait"]);
  server.cli(["trigger", "gated", "--namespace", "lanes"]);
  await page.goto("/ns/lanes/timeline");
  await signIn(page, admin);
  await expect(page.getByRole("heading", { name: "Timeline" })).toBeVisible();
  await expect(lane(page, "quick").getByTestId("lane-note")).toHaveText("1 run");
  await expect(lane(page, "idle")).toHaveCount(0);
  const live = lane(page, "gated").getByTestId("lane-bar");
  await expect(live).toHaveAttribute("data-state", "running");
  await expect(live).toHaveAccessibleName(/^Running from /);
  // What comes next is seen without asking for it.
  const due = lane(page, "regular").locator("[data-kind=plan]");
  await expect(due.first()).toHaveAccessibleName(/^Due /);
  await expect(page.getByRole("img", { name: /^Runs at once: at most 1, first at / })).toBeVisible();

  // The page follows the run.
  writeFileSync(gate, "");
  await expect(live).toHaveAttribute("data-state", "succeeded", { timeout: 20_000 });

  await lane(page, "quick").getByTestId("lane-bar").click();
  await expect(page).toHaveURL(/\/runs\/[^/]+$/);
});

test("lanes are reached by keys, searched and ordered", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "tracks"]);
  const noop = (name: string) => `  ${name}: { when: "0 4 1 1 *", task: { target: { noop: {} } } }\n`;
  deploy(server, "tracks", `module: tracks\nnamespace: tracks\nschedules:\n${noop("alpha")}${noop("beta")}`);
  for (const name of ["alpha", "beta", "beta"]) server.cli(["trigger", name, "--namespace", "tracks", "--wait"]);
  await page.goto("/ns/tracks/timeline");
  await signIn(page, admin);
  const names = page.getByTestId("lane").getByRole("rowheader").getByRole("link");
  await expect(names).toHaveText(["alpha", "beta"]);
  await page.keyboard.press("j");
  await expect(names.first()).toBeFocused();
  await page.keyboard.press("j");
  await expect(names.last()).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(lane(page, "beta").getByTestId("lane-bar").first()).toBeFocused();

  await page.getByLabel("Order").selectOption("busiest");
  await expect(page).toHaveURL(/sort=busiest/);
  await expect(names).toHaveText(["beta", "alpha"]);
  await page.goto("/ns/tracks/timeline?q=name:alpha");
  await expect(names).toHaveText(["alpha"]);
  // A step leads to the lanes whose runs it counts.
  await page.locator(".twin summary").click();
  const step = page.locator(".twin a").first();
  await expect(step).toHaveAttribute("href", /\/timeline\?q=name%3Aalpha&from=.+&until=/);
  await page.goto("/ns/tracks/timeline?from=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z");
  await expect(page.getByText("Nothing in this range")).toBeVisible();
});

test("the timeline is reached from where its parts are shown, and zoomed by dragging", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "zoom"]);
  const often = `often: { when: "*/30 * * * *", task: { target: { noop: {} } } }`;
  deploy(server, "zoom", `module: zoom\nnamespace: zoom\nschedules:\n  ${often}\n`);
  await page.goto("/ns/zoom/upcoming");
  await signIn(page, admin);
  const main = page.getByRole("main");
  await main.getByRole("link", { name: "Timeline" }).click();
  await expect(page).toHaveURL(/\/timeline\?from=.+&until=/);
  // Two an hour for a day.
  await expect(lane(page, "often").locator("[data-kind=plan]")).toHaveCount(48);

  await page.goto("/ns/zoom?range=1h");
  await main.getByRole("link", { name: "Timeline" }).click();
  await expect(page).toHaveURL(/\/timeline\?range=1h$/);
  const plot = page.locator(".chart-plot");
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 5 });
  await page.mouse.up();
  await expect(page).toHaveURL(/\/timeline\?from=.+&until=/);
});
