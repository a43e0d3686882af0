import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, openTab, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

test("a run of several tasks shows where each stands, and goes on from where it failed", async ({
  page,
  server,
  admin,
}) => {
  const gate = join(server.folder, "ready");
  const module = `
module: assembly
workflows:
  assembly:
    tasks:
      - { name: fetch, target: { command: { script: "echo fetched" } } }
      - { name: build, needs: [fetch], target: { command: { script: "test -e ${gate}" } } }
      - { name: ship, needs: [build], target: { command: { script: "echo shipped" } } }
      - { name: mourn, needs: [build], when: failure, target: { noop: {} } }
schedules:
  assembly-line: { when: "0 0 1 1 *", workflow: assembly }
`;
  deploy(server, "assembly", module);
  await page.goto("/schedules?q=assembly-line");
  await signIn(page, admin);
  await page.getByRole("link", { name: "assembly-line" }).click();
  await page.getByRole("button", { name: "Run now" }).click();
  await openTab(page, "Runs");
  await page.getByTestId("run-row").first().getByRole("link").first().click();

  const state = page.getByTestId("run-state");
  const task = (name: string) => page.getByTestId("task-row").filter({ hasText: name }).first();
  await expect(state).toHaveAttribute("data-state", "failed");
  await expect(task("fetch")).toContainText("Succeeded");
  await expect(task("build")).toContainText("Failed");
  await expect(task("ship")).toContainText("Skipped");
  await expect(task("mourn")).toContainText("Succeeded");
  await expect(task("mourn")).toContainText("if one of them failed");

  const failed = page.url();
  writeFileSync(gate, "");
  await page.getByRole("button", { name: "Rerun from the failure" }).click();
  await page.getByTestId("new-run").getByRole("link").click();
  await expect(page).not.toHaveURL(failed);
  await expect(state).toHaveAttribute("data-state", "succeeded");
  await expect(task("fetch")).toContainText("kept from the earlier run");
  await expect(task("ship")).toContainText("Succeeded");
  await expect(task("mourn")).toContainText("Skipped");
  await expect(page.getByTestId("log-line").filter({ hasText: "shipped" })).toBeVisible();
  await expect(page.getByTestId("log-line").filter({ hasText: "fetched" })).toHaveCount(0);
});

test("a workflow leads to all schedules that run it, and follows a deployment", async ({ page, server, admin }) => {
  const module = (task: string) => {
    const lines = Array.from({ length: 101 }, (_, at) => `  choir-${at}: { when: "0 0 1 1 *", workflow: choir }\n`);
    const tasks = `[{ name: ${task}, target: { noop: {} } }]`;
    return `module: choir\nnamespace: choir\nworkflows:\n  choir: { tasks: ${tasks} }\nschedules:\n${lines.join("")}`;
  };
  server.cli(["namespace", "create", "choir"]);
  deploy(server, "choir", module("hum"));
  await page.goto("/ns/choir/workflows");
  await signIn(page, admin);
  await page.getByRole("link", { name: "choir", exact: true }).click();
  await expect(page.getByRole("rowheader", { name: "hum" })).toBeVisible();
  const users = page.getByRole("region", { name: "Used by" });
  await expect(users.getByRole("listitem")).toHaveCount(101);
  await expect(users.getByRole("link", { name: "and 1 more" })).toHaveAttribute("href", /schedules\?q=workflow%3A%22choir%22$/);

  deploy(server, "choir", module("sing"));
  await expect(page.getByRole("rowheader", { name: "sing" })).toBeVisible({ timeout: 30_000 });
});

test("a workflow is found by a part of its name", async ({ page, server, admin }) => {
  for (const name of ["finder-alpha", "finder-beta"]) {
    const tasks = `[{ name: "only", target: { noop: {} } }]`;
    await server.ask(`mutation { createWorkflow(input: { name: "${name}", tasks: ${tasks} }) { workflow { id } } }`, {});
  }
  await page.goto("/ns/default/workflows");
  await signIn(page, admin);
  const rows = page.getByTestId("workflow-row");
  await expect(rows.filter({ hasText: "finder-" })).toHaveCount(2);
  const field = page.getByLabel("Name contains");
  await field.fill("ER-BE");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("finder-beta");
  // The view can be sent to a colleague.
  await page.reload();
  await expect(field).toHaveValue("ER-BE");
  await expect(rows).toHaveCount(1);
  await field.fill("no-such-name");
  await expect(page.getByText("No name contains this text.")).toBeVisible();
  await field.fill("");
  await expect(rows.filter({ hasText: "finder-" })).toHaveCount(2);
});
