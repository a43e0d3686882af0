import type { Locator, Page } from "@playwright/test";

import { openDialogHasNoViolations } from "../support/axe.ts";
import type { Server } from "../support/server.ts";
import { expect, openTab, signIn, test } from "../support/test.ts";
import { deploy, rest } from "../support/world.ts";

/** A schedule that fails again and again, so that the overview has a problem. */
const MODULE = `
module: dialogs
namespace: dialogs
schedules:
  dialog-breaks: { when: "*/5 * * * * *", task: { target: { command: { script: "exit 3" } } } }
`;

/** A module whose schedule an operator pauses. */
const DRIFTED = `
module: dialog-drift
namespace: dialogs
schedules:
  dialog-drifts: { when: "0 4 1 1 *", task: { target: { noop: {} } } }
`;

interface Ids {
  schedule: string;
  paused: string;
  workflow: string;
  sleeps: string;
}

let ids: Ids;

/** Objects that no module declares: their dialogs change and delete them. */
async function create(server: Server): Promise<Ids> {
  server.cli(["namespace", "create", "dialogs"]);
  server.addPerson("dialog-mate", "viewer");
  server.cli(["member", "add", "dialog-mate", "--namespace", "dialogs", "--role", "operator"]);
  deploy(server, "dialogs", MODULE);
  deploy(server, "dialog-drift", DRIFTED);
  server.cli(["pause", "dialog-drifts", "--namespace", "dialogs", "--reason", "maintenance"]);
  const make = async (text: string) => server.ask<{ made: { made: { id: string } } }>(`mutation { made: ${text} }`, {});
  const schedule = async (name: string, script: string) => {
    const task = `{ target: { command: { script: "${script}" } } }`;
    const input = `{ namespace: "dialogs", name: "${name}", timing: { expressions: ["0 4 1 1 *"] }, task: ${task} }`;
    return (await make(`createSchedule(input: ${input}) { made: schedule { id } }`)).made.made.id;
  };
  const [active, paused, gone, sleeps] = [
    await schedule("dialog-active", "true"),
    await schedule("dialog-paused", "true"),
    await schedule("dialog-gone", "true"),
    await schedule("dialog-sleeps", "sleep 600"),
  ];
  const edit = `{ id: "${active}", expectedVersion: 1, timing: { expressions: ["0 5 1 1 *"] } }`;
  await make(`updateSchedule(input: ${edit}) { made: schedule { id } }`);
  await make(`pauseSchedule(id: "${paused}", reason: "maintenance") { made: schedule { id } }`);
  await server.ask(`mutation { deleteSchedule(id: "${gone}") { id } }`, {});
  const tasks = `[{ name: "only", target: { noop: {} } }]`;
  const workflow = await make(
    `createWorkflow(input: { namespace: "dialogs", name: "dialog-flow", tasks: ${tasks} }) { made: workflow { id } }`,
  );
  await make(`createConcurrencyGroup(input: { namespace: "dialogs", name: "dialog-group", maxRuns: 2 }) { made: group { id } }`);
  await make(`createCalendar(input: { namespace: "dialogs", name: "dialog-calendar", mode: EXCLUDE }) { made: calendar { id } }`);
  const hook = `{ namespace: "dialogs", name: "dialog-hook", kind: WEBHOOK, url: "https://hooks.invalid/" }`;
  const channel = await make(`createAlertChannel(input: ${hook}) { made: channel { id } }`);
  const rule = `{ namespace: "dialogs", name: "dialog-rule", on: [NODE_LOST], channelIds: ["${channel.made.made.id}"] }`;
  await make(`createAlertRule(input: ${rule}) { made: rule { id } }`);
  return { schedule: active, paused, workflow: workflow.made.made.id, sleeps };
}

test.beforeAll(async ({ server }) => {
  ids = await create(server);
});

test.afterAll(({ server }) => rest(server, "dialogs", "dialogs"));

/** Opens a dialog, looks at it in both themes and at two widths, and closes it. */
async function look(page: Page, opens: Locator, name: string): Promise<void> {
  await opens.click();
  const dialog = page.getByRole("dialog", { name, exact: true });
  await expect(dialog).toBeVisible();
  await openDialogHasNoViolations(page, name);
  await dialog.getByRole("button", { name: "Close", exact: true }).first().click();
  await expect(dialog).toBeHidden();
}

/** The button, the dialog that it opens, and the row of a list in which it stands. */
interface Opened {
  button: string;
  dialog: string;
  row?: { list: string; of: string };
}

const MATE = { list: "user-row", of: "dialog-mate" };
const MEMBER = { list: "member-row", of: "dialog-mate" };
const SPACE = { list: "namespace-row", of: "dialogs" };
const CHANNEL = { list: "channel-row", of: "dialog-hook" };
const GROUP = { list: "group-row", of: "dialog-group" };

const PAGES: [string, Opened[]][] = [
  [
    "/settings/people",
    [
      { button: "Invite", dialog: "Invite a user" },
      { button: "New service account", dialog: "New service account" },
      { button: "Role", dialog: "Change role", row: MATE },
      { button: "Password", dialog: "New password", row: MATE },
      { button: "Sessions", dialog: "Sessions", row: MATE },
      { button: "Disable", dialog: "Disable", row: MATE },
      { button: "Delete", dialog: "Delete user", row: MATE },
    ],
  ],
  [
    "/settings/people?tab=members",
    [
      { button: "Add member", dialog: "Add member" },
      { button: "Change", dialog: "Change member", row: MEMBER },
      { button: "Remove", dialog: "Remove member", row: MEMBER },
    ],
  ],
  ["/settings/tokens", [{ button: "New token", dialog: "New token" }]],
  ["/settings/secrets", [{ button: "New secret", dialog: "New secret" }]],
  ["/settings/feeds", [{ button: "New feed", dialog: "New feed" }]],
  [
    "/settings/namespaces",
    [
      { button: "New namespace", dialog: "New namespace" },
      { button: "Retention", dialog: "Retention", row: SPACE },
      { button: "Quotas", dialog: "Quotas", row: SPACE },
      { button: "Rename", dialog: "Rename namespace", row: SPACE },
      { button: "Delete", dialog: "Delete namespace", row: SPACE },
    ],
  ],
  ["/settings/alerts", [{ button: "Delete", dialog: "Delete rule", row: { list: "rule-row", of: "dialog-rule" } }]],
  [
    "/settings/alerts?tab=channels",
    [
      { button: "New channel", dialog: "New channel" },
      { button: "Change", dialog: "Change channel", row: CHANNEL },
      { button: "Delete", dialog: "Delete channel", row: CHANNEL },
    ],
  ],
  [
    "/groups",
    [
      { button: "New group", dialog: "New group" },
      { button: "Who", dialog: "Holding and waiting runs", row: GROUP },
      { button: "Change", dialog: "Change group", row: GROUP },
      { button: "Delete", dialog: "Delete group", row: GROUP },
    ],
  ],
  ["/calendars", [{ button: "Delete", dialog: "Delete calendar", row: { list: "calendar-row", of: "dialog-calendar" } }]],
  ["/modules", [{ button: "Export all", dialog: "Export" }]],
  [
    "/modules/named/dialog-drift",
    [
      { button: "Adopt", dialog: "Adopt the drift" },
      { button: "Revert", dialog: "Revert the drift" },
    ],
  ],
  ["/cluster", [{ button: "Drain", dialog: "Drain the node", row: { list: "node-row", of: "Alive" } }]],
  [
    "/schedules?deleted=yes",
    [{ button: "Restore dialog-gone", dialog: "Restore schedule", row: { list: "deleted-row", of: "dialog-gone" } }],
  ],
  ["/", [{ button: "Acknowledge dialog-breaks", dialog: "Acknowledge problem", row: { list: "problem", of: "dialog-breaks" } }]],
];

for (const [path, dialogs] of PAGES) {
  test(`no dialog of ${path} has a violation`, async ({ page, admin }) => {
    test.slow();
    await page.goto(`/ns/dialogs${path}`);
    await signIn(page, admin);
    for (const { button, dialog, row } of dialogs) {
      const part = row ? page.getByTestId(row.list).filter({ hasText: row.of }) : page.getByRole("main");
      await look(page, part.getByRole("button", { name: button, exact: true }), dialog);
    }
  });
}

test("no dialog about one schedule, run or workflow has a violation", async ({ page, server, admin }) => {
  test.slow();
  const main = page.getByRole("main");
  const button = (name: string) => main.getByRole("button", { name, exact: true });
  await page.goto(`/ns/dialogs/schedules/${ids.schedule}`);
  await signIn(page, admin);
  const choices = [
    ["Run with …", "Run with other values"],
    ["Skip next …", "Skip the next fires"],
    ["Rename …", "Rename schedule"],
  ] as const;
  for (const [choice, dialog] of choices) {
    await main.getByRole("button", { name: "More actions" }).click();
    await look(page, button(choice), dialog);
  }
  await look(page, button("Delete"), "Delete schedule");
  await openTab(page, "Versions");
  await look(page, button("What changed").first(), "What changed");
  await look(page, button("Roll back to this version").first(), "Roll back");
  await openTab(page, "Audit");
  await look(page, button("What changed").first(), "What changed");

  await page.goto(`/ns/dialogs/schedules/${ids.paused}`);
  await look(page, button("Resume"), "Resume schedule");
  // Begun only now, so that its time limit does not pass before its dialog is looked at.
  const trigger = `mutation ($id: UUID!) { triggerSchedule(id: $id) { run { id } } }`;
  const { run } = (await server.ask<{ triggerSchedule: { run: { id: string } } }>(trigger, { id: ids.sleeps })).triggerSchedule;
  await page.goto(`/ns/dialogs/runs/${run.id}`);
  await look(page, button("Cancel run"), "Cancel run");
  await server.ask(`mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }`, { id: run.id });
  await page.goto(`/ns/dialogs/workflows/${ids.workflow}`);
  await look(page, button("Delete"), "Delete workflow");
});

test("no dialog about a secret, a token, a feed or a queue of workers has a violation", async ({ page, server, admin }) => {
  test.slow();
  const main = page.getByRole("main");
  const inRow = (list: string, of: string, name: string) =>
    page.getByTestId(list).filter({ hasText: of }).getByRole("button", { name, exact: true });
  await page.goto("/ns/dialogs/settings/secrets");
  await signIn(page, admin);
  await main.getByRole("button", { name: "New secret" }).click();
  const secret = page.getByRole("dialog", { name: "New secret" });
  await secret.getByLabel("Name", { exact: true }).fill("dialog_secret");
  await secret.getByLabel("Value", { exact: true }).fill("open-sesame");
  await secret.getByRole("button", { name: "Set", exact: true }).click();
  await look(page, inRow("secret-row", "dialog_secret", "New value"), "New value");
  await look(page, inRow("secret-row", "dialog_secret", "Delete"), "Delete secret");

  // The server has a token of its own for the tests.
  await page.goto("/ns/dialogs/settings/tokens");
  await main.getByLabel("Everyone's tokens").check();
  await look(page, inRow("token-row", "e2e", "Revoke").first(), "Revoke token");

  await page.goto("/ns/dialogs/settings/feeds");
  await main.getByRole("button", { name: "New feed" }).click();
  const feed = page.getByRole("dialog", { name: "New feed" });
  await feed.getByLabel("Name", { exact: true }).fill("dialog-feed");
  await feed.getByRole("button", { name: "Create feed" }).click();
  await look(page, inRow("feed-row", "dialog-feed", "Revoke"), "Revoke feed");

  const limit = `limitWorkerQueue(namespace: "dialogs", name: "dialog-queue", maxJobs: 5) { queue { name } }`;
  await server.ask(`mutation { ${limit} }`, {});
  await page.goto("/ns/dialogs/cluster");
  await look(page, inRow("queue-row", "dialog-queue", "Limit"), "Limit the queue");
});

test("no bulk action has a violation", async ({ page, admin }) => {
  test.slow();
  await page.goto("/ns/dialogs/schedules?q=name:dialog-active");
  await signIn(page, admin);
  await page.getByLabel("Choose dialog-active").check();
  const bar = page.getByRole("region", { name: "Actions for the selected schedules" });
  for (const action of ["Run now", "Resume", "Skip next", "Edit", "Delete"]) {
    await look(page, bar.getByRole("button", { name: action, exact: true }), "Bulk action");
  }
});

test("the list of shortcuts has no violation", async ({ page, admin }) => {
  await page.goto("/ns/dialogs/schedules");
  await signIn(page, admin);
  await look(page, page.getByRole("button", { name: "Keyboard shortcuts", exact: true }), "Keyboard shortcuts");
});
