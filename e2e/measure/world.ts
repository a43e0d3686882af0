import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, type Browser, type BrowserContext } from "@playwright/test";

import { Server, type Person } from "../support/server.ts";
import { signIn } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const examples = resolve(import.meta.dirname, "../../examples");

/** Settings for a server that may call itself and has no quotas. */
export const open = {
  CARILLON_EGRESS__PRIVATE_ADDRESSES: "true",
  // The measurements exceed the default quotas of a namespace.
  CARILLON_QUOTAS__SCHEDULES: "0",
  CARILLON_QUOTAS__FIRES_A_MINUTE: "0",
};

/** Creates the data of an ordinary week in small: schedules that succeed, fail, pause and wait. */
export async function fill(server: Server): Promise<void> {
  const port = new URL(server.url).port;
  deploy(server, "demo", readFileSync(`${examples}/demo.yaml`, "utf8").replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`));
  deploy(
    server,
    "billing",
    `
module: billing
calendars:
  closing-days: { mode: exclude, dates: [2026-12-24, 2026-12-31], yearly: [01-01, 12-25, 12-26] }
groups:
  ledger: 1
workflows:
  month-end:
    tasks:
      - name: export
        target: { command: { script: "echo exporting; echo rows: 1200" } }
      - name: check
        needs: [export]
        target: { command: { script: "echo all good" } }
      - name: send
        needs: [check]
        target: { command: { script: "echo the mail server refused the message >&2; exit 3" } }
schedules:
  invoices:
    when: "0 6 * * MON-FRI"
    zone: Europe/Berlin
    tags: [billing]
    calendars: [closing-days]
    workflow: month-end
  reminders:
    when: "30 8 * * *"
    zone: Europe/Berlin
    tags: [billing, mail]
    task: { target: { command: { script: "exit 1" } } }
  sync:
    when: "*/5 * * * * *"
    tags: [billing]
    overlap: skip
    task: { target: { command: { script: "sleep 12" } } }
  archive:
    when: "0 3 1 * *"
    zone: America/New_York
    tags: [cold]
    group: ledger
    task: { target: { noop: {} } }
`,
  );
  for (const name of ["invoices", "reminders", "archive"]) {
    server.cli(["trigger", name]);
  }
  server.cli(["pause", "archive", "--reason", "the bucket is full"]);
  const when = ["--from", "in 20d", "--until", "in 21d", "--missed", "latest"];
  server.cli(["maintenance", "plan", "Database move", "--search", "tag:billing", "--ticket", "OPS-42", ...when]);
  const settled = `query { runs(first: 50) { nodes { state } } }`;
  await expect(async () => {
    const { runs } = await server.ask<{ runs: { nodes: { state: string }[] } }>(settled, {});
    expect(runs.nodes.filter((run) => run.state === "FAILED").length).toBeGreaterThan(1);
  }).toPass();
}

/** A browser with an empty cache in which the person is signed in. */
export async function signedIn(browser: Browser, server: Server, person: Person): Promise<BrowserContext> {
  const door = await browser.newContext({ baseURL: server.url });
  const page = await door.newPage();
  await page.goto("/");
  await signIn(page, person);
  const storageState = await door.storageState();
  await door.close();
  return browser.newContext({ baseURL: server.url, storageState });
}
