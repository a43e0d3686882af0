//! Takes screenshots of every page, empty and full, in both themes and two widths, into
//! target/screenshots/.
import { resolve } from "node:path";

import { test, type Browser, type Page } from "@playwright/test";

import { Server, type Person } from "../support/server.ts";
import { fill, open, signedIn } from "./world.ts";

const folder = resolve(import.meta.dirname, "../..", "target/screenshots");
const wanted = process.env.PAGES?.split(",");

const pages: Record<string, string> = {
  overview: "/ns/default",
  everywhere: "/all",
  schedules: "/ns/default/schedules",
  "new-schedule": "/ns/default/schedules/new",
  runs: "/ns/default/runs",
  timeline: "/ns/default/timeline",
  ledger: "/ns/default/ledger",
  alerts: "/ns/default/alerts",
  upcoming: "/ns/default/upcoming",
  "upcoming-day": "/ns/default/upcoming?view=day",
  "upcoming-month": "/ns/default/upcoming?view=month",
  "what-if": "/ns/default/what-if",
  backfills: "/ns/default/backfills",
  "new-backfill": "/ns/default/backfills/new",
  calendars: "/ns/default/calendars",
  "new-calendar": "/ns/default/calendars/new",
  maintenance: "/ns/default/maintenance",
  "new-maintenance": "/ns/default/maintenance/new",
  workflows: "/ns/default/workflows",
  "new-workflow": "/ns/default/workflows/new",
  groups: "/ns/default/groups",
  modules: "/ns/default/modules",
  "deploy-module": "/ns/default/modules/deploy",
  metrics: "/ns/default/metrics",
  cluster: "/ns/default/cluster",
  health: "/ns/default/health",
  audit: "/ns/default/audit",
  profile: "/ns/default/settings/profile",
  people: "/ns/default/settings/people",
  tokens: "/ns/default/settings/tokens",
  secrets: "/ns/default/settings/secrets",
  "alert-rules": "/ns/default/settings/alerts",
  "new-alert-rule": "/ns/default/settings/alerts/new",
  namespaces: "/ns/default/settings/namespaces",
  feeds: "/ns/default/settings/feeds",
};

test("an empty server", async ({ browser }) => {
  const server = await Server.start();
  await picture(browser, server, server.addPerson("ada", "admin"), "empty", pages);
  await server.stop();
});

test("a full server", async ({ browser }) => {
  const server = await Server.start(open);
  const admin = server.addPerson("ada", "admin");
  await fill(server);
  await picture(browser, server, admin, "full", { ...pages, ...(await details(server)) });
  await server.stop();
});

/** The pages of single objects. */
async function details(server: Server): Promise<Record<string, string>> {
  const query = `query {
    schedules(first: 100) { nodes { id name } }
    runs(first: 100) { nodes { id state schedule { name } } }
    workflow(name: "month-end") { id }
    calendars(first: 10) { nodes { id } }
    maintenanceWindows(first: 10) { nodes { id } }
  }`;
  interface Ids {
    nodes: { id: string }[];
  }
  interface Answer {
    schedules: { nodes: { id: string; name: string }[] };
    runs: { nodes: { id: string; state: string; schedule: { name: string } | null }[] };
    workflow: { id: string };
    calendars: Ids;
    maintenanceWindows: Ids;
  }
  const { schedules, runs, workflow, calendars, maintenanceWindows } = await server.ask<Answer>(query, {});
  const schedule = schedules.nodes.find((node) => node.name === "sync")?.id ?? "";
  const run = runs.nodes.find((node) => node.schedule?.name === "invoices" && node.state === "FAILED")?.id ?? "";
  const tabs = ["activity", "runs", "next", "definition", "versions", "audit"];
  return {
    ...Object.fromEntries(tabs.map((tab) => [`schedule-${tab}`, `/ns/default/schedules/${schedule}?tab=${tab}`])),
    "edit-schedule": `/ns/default/schedules/${schedule}/edit`,
    run: `/ns/default/runs/${run}`,
    workflow: `/ns/default/workflows/${workflow.id}`,
    "edit-workflow": `/ns/default/workflows/${workflow.id}/edit`,
    calendar: `/ns/default/calendars/${calendars.nodes[0]?.id ?? ""}`,
    "maintenance-window": `/ns/default/maintenance/${maintenanceWindows.nodes[0]?.id ?? ""}`,
    module: "/ns/default/modules/named/billing",
    "clock-changes": "/ns/default/upcoming?tab=clocks",
    "roles-matrix": "/ns/default/settings/people?tab=roles",
  };
}

async function picture(browser: Browser, server: Server, person: Person, state: string, all: Record<string, string>): Promise<void> {
  const context = await signedIn(browser, server, person);
  const page = await context.newPage();
  for (const [name, address] of Object.entries(all)) {
    if (wanted && !wanted.includes(name)) continue;
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(address);
      await settled(page);
      for (const theme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: theme });
        await page.screenshot({ path: `${folder}/${name}-${state}-${theme}-${width}.png` });
      }
    }
  }
  await context.close();
}

/** Waits until the page has loaded its code and its data. */
async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector("main [aria-busy=true]") === null);
}
