import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

test.use({ colorScheme: "dark" });

test("nothing moves for those who prefer it so", async ({ page, server, admin }) => {
  const gate = join(server.folder, "moving-gate");
  server.cli(["namespace", "create", "moving"]);
  deploy(
    server,
    "moving",
    `
module: moving
namespace: moving
schedules:
  moving:
    when: "0 0 1 1 *"
    task: { target: { command: { script: "while ! test -e ${gate}; do sleep 0.1; done" } } }
`,
  );
  server.cli(["trigger", "moving", "--namespace", "moving"]);
  await page.goto("/ns/moving/runs");
  await signIn(page, admin);
  await expect(page.getByTestId("run-row")).toHaveAttribute("data-state", "running");
  const moving = () => page.evaluate(() => document.getAnimations().length);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await expect.poll(moving).toBeGreaterThan(0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  await expect.poll(moving).toBe(0);
  writeFileSync(gate, "");
  await expect(page.getByTestId("run-row")).toHaveAttribute("data-state", "succeeded");
});

test("a run is printed without the frame, in light colours and with its whole log", async ({
  page,
  server,
  admin,
}) => {
  deploy(
    server,
    "printed",
    `
module: printed
workflows:
  printed:
    tasks:
      - { name: count, target: { command: { script: "for i in $(seq 1 400); do echo number $i; done" } } }
      - { name: fail, needs: [count], target: { command: { script: "echo no >&2; exit 3" } } }
schedules:
  printed: { when: "0 0 1 1 *", workflow: printed }
`,
  );
  const find = `{ schedule(name: "printed") { id } }`;
  const { schedule } = await server.ask<{ schedule: { id: string } }>(find, {});
  const trigger = `mutation ($id: UUID!) { triggerSchedule(id: $id) { run { id } } }`;
  const answer = await server.ask<{ triggerSchedule: { run: { id: string } } }>(trigger, schedule);
  await page.goto(`/runs/${answer.triggerSchedule.run.id}`);
  await signIn(page, admin);
  const state = page.getByTestId("run-state");
  await expect(state).toHaveAttribute("data-state", "failed");
  const lines = page.getByTestId("log-line");
  await expect(lines.filter({ hasText: "number 400" })).toBeAttached();
  expect(await lines.count()).toBeLessThan(150);

  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await expect(lines).toHaveCount(401);
  await expect(page.getByRole("navigation", { name: "Main" })).toBeHidden();
  await expect(page.getByRole("button", { name: "Run again" })).toBeHidden();
  await expect(page.getByTestId("task-row").first()).toContainText("count");
  await expect(page.getByTestId("task-row").first().getByText("count")).toBeVisible();
  await expect(page.getByLabel("Search the log")).toBeHidden();
  await expect(state).toBeVisible();
  await expect(page.getByRole("heading", { name: "Facts" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Attempts" })).toContainText("exit 3");
  await expect(page.locator("body")).toHaveCSS("background-color", "rgb(255, 255, 255)");
  // All lines are laid out below each other: none is hidden in a scrolling frame.
  const log = await page.getByRole("log").boundingBox();
  expect(log?.height).toBeGreaterThan(400 * 16);

  await page.emulateMedia({ media: null });
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  await expect(page.getByRole("button", { name: "Run again" })).toBeVisible();
  await expect.poll(() => lines.count()).toBeLessThan(150);
});
