import type { Page } from "@playwright/test";

import { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";

/** The property of `window` that each of the texts sets if a page runs it. */
const HIT = "carillonWasHit";
/** Texts that try to run a script. */
const TEXTS = [
  `<img src=x onerror="${HIT}=1">`,
  `<script>${HIT}=1</script>`,
  `<svg/onload=${HIT}=1>`,
  `"><iframe srcdoc="<script>parent.${HIT}=1</script>">`,
  `</title></style></textarea><script>${HIT}=1</script>`,
  `<a href="javascript:${HIT}=1">a</a>`,
  `[a](javascript:${HIT}=1) javascript:${HIT}=1`,
  `{{constructor.constructor("${HIT}=1")()}}`,
  `\u001b]8;;javascript:${HIT}=1\u0007a\u001b]8;;\u0007`,
];
const ALL = TEXTS.join("\n");
/** The texts that are not templates. */
const PLAIN = TEXTS.filter((text) => !text.includes("{{")).join("\n");
/** Elements and attributes that a page would contain if it used a text as markup. */
const FOREIGN =
  "[onerror], [onload], iframe, object, embed, base, [srcdoc], [href^='javascript:' i], [src='x']";

/** Visits a page, waits until it shows the text, and checks that no script ran. */
async function isHarmless(
  page: Page,
  server: Server,
  path: string,
  shows: string,
): Promise<void> {
  await page.goto(server.url + path);
  await expect(page.locator("main, body").getByText(shows).first()).toBeAttached();
  await expect(page.getByTestId("connection")).toHaveAttribute("data-state", "live");
  await expect(page.locator(FOREIGN), path).toHaveCount(0);
  // Each script is a file of the server; the page contains no inline script.
  await expect(page.locator("script:not([src^='/'])"), path).toHaveCount(0);
  expect(await page.evaluate((hit) => hit in window, HIT), path).toBe(false);
}

// A violation of the content security policy is an error in the console, which fails every test.
// The test uses its own server, because the overview shows the newest events of the server.
test("scripts that other users stored are shown, and never run", async ({ page }) => {
  test.slow();
  const server = await Server.start();
  try {
    await storedAndShown(page, server);
  } finally {
    await server.stop();
  }
});

async function storedAndShown(page: Page, server: Server): Promise<void> {
  page.on("dialog", (dialog) => expect.soft(dialog.message(), "a dialog").toBe(""));
  const create = `mutation ($input: CreateScheduleInput!) {
    createSchedule(input: $input) { schedule { id name } } }`;
  // Names and tags appear in addresses and shells, so they must not contain such texts at all.
  const noop = { timing: { expressions: ["0 4 1 1 *"] }, task: { target: { noop: {} } } };
  for (const text of TEXTS) {
    for (const input of [{ name: text }, { name: "a", tags: [text] }, { name: "a", group: text }]) {
      const refused = server.ask(create, { input: { ...noop, ...input } });
      await expect(refused).rejects.toThrow("BAD_USER_INPUT");
    }
  }
  const output = JSON.stringify(Object.fromEntries(TEXTS.map((text) => [text, text])));
  const script = `cat <<'END'\n${ALL}\nEND
cat > "$CARILLON_OUTPUT" <<'END'\n${output}\nEND
printf '%s\\n' '${TEXTS[0]}' >&2
exit 3`;
  const input = {
    ...noop,
    name: "hostile",
    note: ALL,
    context: Object.fromEntries(TEXTS.map((text) => [text, text])),
    task: { target: { command: { script, environment: [{ name: "NOTE", value: PLAIN }] } } },
  };
  const made = await server.ask<{ createSchedule: { schedule: { id: string } } }>(create, { input });
  const { id } = made.createSchedule.schedule;
  const trigger = `mutation ($id: UUID!, $reason: String, $context: JSON) {
    triggerSchedule(id: $id, reason: $reason, context: $context) { run { id } } }`;
  const context = { extra: ALL };
  const ordered = await server.ask<{ triggerSchedule: { run: { id: string } } }>(trigger, {
    id,
    reason: TEXTS[0],
    context,
  });
  const run = ordered.triggerSchedule.run.id;
  await expect(async () => {
    const query = "query ($id: UUID!) { run(id: $id) { state error } }";
    const found = await server.ask<{ run: { state: string; error: string } }>(query, { id: run });
    expect(found.run.state).toBe("FAILED");
    expect(found.run.error).toContain(TEXTS[0]);
  }).toPass();
  const skip = "mutation ($id: UUID!, $reason: String!) { skipNext(id: $id, reason: $reason) { schedule { id } } }";
  await server.ask(skip, { id, reason: TEXTS[0] });
  const pause = "mutation ($id: UUID!, $reason: String!) { pauseSchedule(id: $id, reason: $reason) { schedule { id } } }";
  await server.ask(pause, { id, reason: TEXTS[0] });

  await page.goto(server.url);
  await signIn(page, server.addPerson("ada", "admin"));
  const shown = TEXTS[0]!;
  await isHarmless(page, server, "/", "hostile");
  await isHarmless(page, server, "/schedules", "hostile");
  await isHarmless(page, server, `/schedules/${id}`, shown);
  await isHarmless(page, server, `/schedules/${id}/edit`, "Edit hostile");
  await expect(page.getByLabel("Note")).toHaveValue(ALL);
  await isHarmless(page, server, "/runs?q=hostile", "hostile");
  await isHarmless(page, server, `/runs/${run}`, shown);
  // The log shows all of the texts.
  for (const text of TEXTS.slice(0, 8)) {
    await expect(page.getByTestId("log-line").filter({ hasText: text }).first()).toBeVisible();
  }

  // A text from the address is either shown as text or not at all.
  for (const text of TEXTS) {
    const part = encodeURIComponent(text);
    for (const path of [`/schedules?q=${part}`, `/runs?state=${part}`, `/schedules/${part}`, `/${part}#${part}`]) {
      // For a path that looks like a missing file, the server returns 404 with an empty body.
      const answer = await page.request.get(server.url + path);
      if (answer.status() === 404 && (await answer.body()).length === 0) continue;
      await page.goto(server.url + path);
      await expect(page.getByRole("navigation").first()).toBeVisible();
      await expect(page.locator(FOREIGN), path).toHaveCount(0);
      expect(await page.evaluate((hit) => hit in window, HIT), path).toBe(false);
    }
  }
}
