import type { Locator, Page } from "@playwright/test";

import { hasNoViolations, hasNoViolationsInThemes, LOOKS } from "../support/axe.ts";
import { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const MODULE = `
module: pickers
calendars:
  picker-days: { mode: exclude, weekdays: [sun] }
groups: { picker-group: 2 }
workflows:
  picker-flow: { tasks: [{ name: only, target: { noop: {} } }] }
schedules:
  picker-one: { when: "@yearly", tags: [picker-red, picker-blue], workflow: picker-flow }
  picker-two: { when: "@yearly", tags: [picker-red], workflow: picker-flow }
`;

/** More tags, workflows and calendars than the server lists at once. */
function crowd(): string {
  const numbers = (count: number) => [...Array(count).keys()].map((number) => String(number).padStart(3, "0"));
  const flows = numbers(120).map((number) => `  flow-${number}: { tasks: [{ name: only, target: { noop: {} } }] }`);
  const days = numbers(120).map((number) => `  days-${number}: { mode: exclude, weekdays: [sun] }`);
  const tags = numbers(224).map((number) => `common-${number}`);
  const schedules = numbers(7).map((number, at) => {
    const own = tags.slice(at * 32, at * 32 + 32).join(", ");
    return `  many-${number}: { when: "@yearly", tags: [${own}], workflow: flow-000 }`;
  });
  return [
    "module: pickers-crowd",
    "namespace: pickers-crowd",
    "calendars:",
    ...days,
    "workflows:",
    ...flows,
    "schedules:",
    ...schedules,
    `  few: { when: "@yearly", tags: [zz-rare], calendars: [days-110], workflow: flow-000 }`,
  ].join("\n");
}

function suggestions(page: Page): Locator {
  return page.getByRole("listbox", { name: "Suggestions" });
}

function suggestion(page: Page, name: string): Locator {
  return suggestions(page).getByRole("option", { name, exact: true });
}

test("tags are suggested, taken by key and by click, and new ones stay possible", async ({ page, server, admin }) => {
  deploy(server, "pickers", MODULE);
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  const tags = page.getByRole("combobox", { name: "Tags" });
  await tags.pressSequentially("picker-r");
  await expect(suggestions(page).getByRole("option")).toHaveText(["picker-red"]);
  await expect(tags).toHaveAttribute("aria-expanded", "true");
  await tags.press("ArrowDown");
  const active = (await tags.getAttribute("aria-activedescendant")) ?? "";
  await expect(page.locator(`#${active}`)).toHaveText("picker-red");
  await expect(page.locator(`#${active}`)).toHaveAttribute("aria-selected", "true");
  await tags.press("Enter");
  await expect(tags).toHaveValue("picker-red");
  await expect(tags).toHaveAttribute("aria-expanded", "false");
  // The next word has its own suggestions: none that is there already.
  await tags.pressSequentially(",picker-");
  await expect(suggestions(page).getByRole("option")).toHaveText(["picker-blue"]);
  await suggestion(page, "picker-blue").click();
  await expect(tags).toHaveValue("picker-red, picker-blue");
  await expect(tags).toBeFocused();
  await tags.pressSequentially(", brand-new");
  await expect(suggestions(page)).toHaveCount(0);
  await expect(tags).toHaveValue("picker-red, picker-blue, brand-new");
});

test("Esc closes the suggestions and leaves the text and the dialog as they are", async ({ page, server, admin }) => {
  deploy(server, "pickers", MODULE);
  await page.goto("/ns/default/settings/feeds");
  await signIn(page, admin);
  await page.getByRole("button", { name: "New feed" }).click();
  const dialog = page.getByRole("dialog", { name: "New feed" });
  const schedule = dialog.getByRole("combobox", { name: "Only the schedule" });
  // The server searches.
  await schedule.pressSequentially("picker-");
  await expect(suggestions(page).getByRole("option")).toHaveText(["picker-one", "picker-two"]);
  await schedule.press("Escape");
  await expect(suggestions(page)).toHaveCount(0);
  await expect(dialog).toBeVisible();
  await expect(schedule).toHaveValue("picker-");
  await schedule.press("ArrowDown");
  await schedule.press("ArrowDown");
  await schedule.press("ArrowDown");
  await schedule.press("Enter");
  await expect(schedule).toHaveValue("picker-two");
  const search = dialog.getByRole("combobox", { name: "Only what this finds" });
  await search.pressSequentially("ta");
  await suggestion(page, "tag: one of its tags").click();
  await search.pressSequentially("picker-b");
  await suggestion(page, "tag:picker-blue").click();
  await expect(search).toHaveValue("tag:picker-blue");
});

test("secrets are inserted as references, in a field of their own and within a text", async ({ page, server, admin }) => {
  server.cli(["secret", "set", "picked_key"], "correct horse battery\n");
  await page.goto("/ns/default/schedules/new");
  await signIn(page, admin);
  await page.getByRole("radio", { name: "HTTP request" }).check();
  await page.getByText("Headers, body, answer and signature").click();
  const key = page.getByRole("combobox", { name: "Signing secret" });
  await key.click();
  await suggestion(page, "picked_key").click();
  await expect(key).toHaveValue("{{ secrets.picked_key }}");

  const headers = page.getByLabel("Headers", { exact: true });
  await headers.pressSequentially("Accept: text/plain");
  await headers.press("Enter");
  await headers.pressSequentially("Authorization: Bearer {{ sec");
  await expect(suggestion(page, "picked_key")).toBeVisible();
  await hasNoViolations(page, "suggestions in a text of several lines");
  await headers.press("ArrowDown");
  await headers.press("Enter");
  await expect(headers).toHaveValue("Accept: text/plain\nAuthorization: Bearer {{ secrets.picked_key }}");
  await expect(suggestions(page)).toHaveCount(0);

  await page.getByRole("radio", { name: "Event for a broker" }).check();
  await page.getByText("Encryption and credentials").click();
  const password = page.getByRole("combobox", { name: "Password" });
  await password.click();
  await suggestion(page, "picked_key").click();
  await expect(password).toHaveValue("{{ secrets.picked_key }}");
  // A typed password is hidden, and nothing is suggested for it.
  await page.getByLabel("Password").fill("hush");
  await expect(page.getByLabel("Password")).toHaveAttribute("type", "password");
  await expect(page.getByLabel("Password")).not.toHaveAttribute("role", "combobox");
  await expect(suggestions(page)).toHaveCount(0);
});

test("the metrics' filters suggest tags and schedules, and apply what is taken or typed", async ({ page, server, admin }) => {
  deploy(server, "pickers", MODULE);
  await page.goto("/ns/default/metrics");
  await signIn(page, admin);
  const tag = page.getByRole("combobox", { name: "Tag", exact: true });
  await tag.pressSequentially("picker-r");
  await suggestion(page, "picker-red").click();
  await expect(page).toHaveURL(/tag=picker-red/);
  await expect(tag).toHaveValue("picker-red");
  const schedule = page.getByRole("combobox", { name: "Schedule", exact: true });
  await schedule.pressSequentially("picker-t");
  await suggestion(page, "picker-two").click();
  await expect(page).toHaveURL(/tag=picker-red&schedule=picker-two/);

  // Without a suggestion taken, Enter applies the text and closes the list.
  await tag.fill("picker-");
  await expect(suggestions(page).getByRole("option")).toHaveText(["picker-blue", "picker-red"]);
  await tag.press("Enter");
  await expect(page).toHaveURL(/tag=picker-&schedule=picker-two/);
  await expect(suggestions(page)).toHaveCount(0);
});

test("tags, workflows and calendars beyond those that the server lists at once are found by typing", async ({
  page,
  server,
  admin,
}) => {
  server.cli(["namespace", "create", "pickers-crowd"]);
  deploy(server, "pickers-crowd", crowd());
  await page.goto("/ns/pickers-crowd/metrics");
  await signIn(page, admin);
  const tag = page.getByRole("combobox", { name: "Tag", exact: true });
  await tag.pressSequentially("zz-r");
  await suggestion(page, "zz-rare").click();
  await expect(page).toHaveURL(/tag=zz-rare/);

  await page.goto("/ns/pickers-crowd/schedules");
  const search = page.getByLabel("Search schedules");
  await search.pressSequentially("tag:zz");
  await page.getByRole("listbox", { name: "Completions" }).getByRole("option", { name: /tag:zz-rare/ }).click();
  await expect(search).toHaveValue("tag:zz-rare");
  await expect(page.getByTestId("schedule-row")).toHaveCount(1);
  await search.fill("");
  await expect(page.getByTestId("schedule-row")).toHaveCount(8);
  await search.pressSequentially("calendar:days-11");
  await page.getByRole("listbox", { name: "Completions" }).getByRole("option", { name: /calendar:days-110/ }).click();
  await expect(search).toHaveValue("calendar:days-110");
  await expect(page.getByTestId("schedule-row")).toHaveCount(1);
  await expect(page.getByTestId("schedule-row")).toContainText("few");

  await page.goto("/ns/pickers-crowd/ledger");
  const ledger = page.getByLabel("Search the ledger");
  await ledger.pressSequentially("calendar:days-11");
  await page.getByRole("listbox", { name: "Completions" }).getByRole("option", { name: /calendar:days-110/ }).click();
  await expect(ledger).toHaveValue("calendar:days-110");

  await page.goto("/ns/pickers-crowd/schedules?group=tag");
  const groups = page.getByTestId("schedule-groups");
  await expect(groups).toContainText("The 200 largest of 225 groups are shown.");
  await page.getByLabel("Tag contains").fill("zz-r");
  await groups.getByRole("link", { name: /^zz-rare/ }).click();
  await expect(page).toHaveURL(/q=tag/);
  await expect(page.getByTestId("schedule-row")).toHaveCount(1);

  await page.goto("/ns/pickers-crowd/schedules/new");
  await page.getByRole("radio", { name: "An existing workflow" }).check();
  const workflow = page.getByRole("combobox", { name: "Workflow" });
  await workflow.pressSequentially("w-119");
  await suggestion(page, "flow-119").click();
  await expect(workflow).toHaveValue("flow-119");

  await page.getByText("Clock changes, bounds, jitter and calendars").click();
  await expect(page.getByText("Only the first 100 are shown.")).toBeVisible();
  const calendars = page.getByRole("combobox", { name: "Calendars" });
  await calendars.pressSequentially("days-000, s-119");
  await suggestion(page, "days-119").click();
  await expect(calendars).toHaveValue("days-000, days-119");
});

for (const look of LOOKS) {
  const { width } = look;
  test.describe(`${width} wide`, () => {
    test.use({ viewport: { width, height: 900 } });

    test("open suggestions have no violation and fit the window", async ({ page, server, admin }) => {
      deploy(server, "pickers", MODULE);
      await page.goto("/ns/default/schedules/new");
      await signIn(page, admin);
      await page.getByText("Clock changes, bounds, jitter and calendars").click();
      for (const [field, text, first] of [
        ["Tags", "picker-", "picker-blue"],
        ["Time zone", "berlin", "Europe/Berlin"],
        ["Calendars", "picker-", "picker-days"],
      ] as const) {
        const control = page.getByRole("combobox", { name: field, exact: true });
        await control.fill(text);
        await expect(suggestion(page, first)).toBeVisible();
        await hasNoViolationsInThemes(page, `suggestions of ${field}`, look);
        const list = (await suggestions(page).boundingBox())!;
        expect.soft(list.x, `the list of ${field} begins`).toBeGreaterThanOrEqual(0);
        expect.soft(list.x + list.width, `the list of ${field} ends`).toBeLessThanOrEqual(width);
        const surplus = await page.evaluate(() => {
          const root = document.documentElement;
          return root.scrollWidth - root.clientWidth;
        });
        expect.soft(surplus, `the page with ${field} is wider by`).toBeLessThanOrEqual(0);
      }
    });
  });
}

test("the form of a schedule begins with a target that the server permits", async ({ page, admin }) => {
  await page.goto("/schedules/new");
  await signIn(page, admin);
  await expect(page.getByRole("radio", { name: "Command" })).toBeChecked();
  await expect(page.getByTestId("no-programs")).toHaveCount(0);

  const strict = await Server.start({ CARILLON_COMMANDS__NAMESPACES: '["elsewhere"]' });
  try {
    await page.goto(`${strict.url}/schedules/new`);
    await signIn(page, strict.addPerson("mona", "admin"));
    await expect(page.getByRole("radio", { name: "HTTP request" })).toBeChecked();
    await page.getByRole("radio", { name: "Command" }).check();
    await expect(page.getByTestId("no-programs")).toContainText("commands.namespaces");
    await page.getByRole("radio", { name: "HTTP request" }).check();
    await expect(page.getByTestId("no-programs")).toHaveCount(0);
    // Nothing was typed, so nothing is restored.
    await page.reload();
    await expect(page.getByRole("radio", { name: "HTTP request" })).toBeChecked();
    await expect(page.getByText("What you had typed is back")).toHaveCount(0);
  } finally {
    await strict.stop();
  }
});
