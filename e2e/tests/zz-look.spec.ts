import { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: look
workflows:
  assembly:
    tasks:
      - { name: fetch, target: { command: { script: "printf '\\\\033[32mfetched\\\\033[0m 12 files\\\\n'; sleep 1" } } }
      - { name: lint, needs: [fetch], target: { command: { script: "echo lint ok; sleep 0.5" } } }
      - { name: build, needs: [fetch], retry: { max_attempts: 3, initial: 1s }, target: { command: { script: "for i in $(seq 1 300); do echo \\"line $i of the build log, which is long enough to wrap on narrow screens\\"; done; printf '\\\\033[1;31merror\\\\033[0m: no space\\\\n' >&2; sleep 1; exit 3" } } }
      - { name: ship, needs: [build, lint], target: { command: { script: "echo shipped" } } }
      - { name: mourn, needs: [build], when: failure, target: { noop: {} } }
schedules:
  assembly-line: { when: "0 0 1 1 *", workflow: assembly, tags: [ci] }
  every-second: { when: "* * * * * *", tags: [demo], task: { target: { command: { script: "sleep 0.3; echo hi" } } } }
  overlaps: { when: "* * * * * *", task: { target: { command: { script: "sleep 4" } } } }
  fails: { when: "*/3 * * * * *", tags: [billing], task: { target: { command: { script: "echo no; exit 3" } } } }
  nightly: { when: "0 3 * * *", zone: Europe/Berlin, task: { target: { command: { script: "sleep 1" } } } }
`;
const paths = (process.env.LOOK ?? "/,/runs,/audit,/charts,/health,/ledger").split(",");
const out = process.env.OUT ?? "/tmp/look";
const wide = Number(process.env.WAIT ?? 12000);

test("look", async ({ browser }) => {
  test.setTimeout(600_000);
  const server = await Server.start();
  const ada = server.addPerson("ada", "admin");
  try {
    for (const state of (process.env.STATES ?? "empty,full").split(",")) {
      if (state === "full") {
        deploy(server, "look", MODULE);
        const { schedule } = await server.ask<{ schedule: { id: string } }>(`query { schedule(name: "assembly-line") { id } }`, {});
        const id = schedule.id;
        const t = await server.ask<{ triggerSchedule: { run: { id: string } } }>(`mutation($id: UUID!) { triggerSchedule(id: $id) { run { id } } }`, { id });
        paths.push(`/runs/${t.triggerSchedule.run.id}`, `/runs/${t.triggerSchedule.run.id}?view=graph&task=build&attempt=2`);
        await new Promise((r) => setTimeout(r, wide));
      }
      for (const theme of ["light", "dark"] as const) {
        for (const width of [1440, 390]) {
          const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
          const page = await context.newPage();
          page.on("console", (m) => { if (m.type() === "error") console.log("console:", m.text()); });
          page.on("response", async (r) => { if (r.url().endsWith("/graphql")) { const t = await r.text().catch(() => ""); if (t.includes('"errors"')) console.log(t.slice(0, 400)); } });
          await page.goto(server.url);
          await signIn(page, ada);
          for (const [i, path] of paths.entries()) {
            await page.goto(server.url + path);
            await page.waitForTimeout(1500);
            const name = path.replace(/\?.*/, "-q").replace(/[0-9a-f]{8}-[0-9a-f-]+/, "id").replaceAll("/", "_");
            await page.screenshot({ path: `${out}/${state}${name}${i}-${width}-${theme}.png`, fullPage: true });
          }
          await context.close();
        }
      }
    }
  } finally { await server.stop(); }
});
