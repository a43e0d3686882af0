import type { Page } from "@playwright/test";
import axe from "axe-core";

import { expect } from "./test.ts";

declare global {
  interface Window {
    axe?: typeof axe;
  }
}

/** A width of the window, and the themes in which pages are looked at there. */
export interface Look {
  width: number;
  themes: ("light" | "dark")[];
}

const isHalved = process.env.AXE_LOOKS === "2";

/**
 * Both themes at the width of a desk and at that of a phone. `AXE_LOOKS=2`, as scripts/ci sets it, leaves two of these
 * four looks: one theme at each width, so that every page is still looked at in both themes and at both widths.
 */
export const LOOKS: Look[] = [
  { width: 1440, themes: isHalved ? ["light"] : ["light", "dark"] },
  { width: 390, themes: isHalved ? ["dark"] : ["light", "dark"] },
];

/** What breaks the rules of axe in a part of the page; empty if nothing does. */
export async function violations(page: Page, part: string): Promise<string> {
  // Half a megabyte of script, so a document gets it once.
  if (!(await page.evaluate(() => window.axe !== undefined))) await page.evaluate(axe.source);
  const found = await page.evaluate(async (part) => {
    // Without the elements that break no rule, of which a page has thousands.
    const { violations } = await window.axe!.run(part, { resultTypes: ["violations"] });
    return violations.map(
      (violation) =>
        `${violation.id}: ${violation.help}\n` +
        violation.nodes.map((node) => `    ${node.target.join(" ")}`).join("\n"),
    );
  }, part);
  return found.join("\n");
}

/**
 * Nothing in a part of the page breaks the rules of axe: in the page itself, unless another part is named. The part
 * `html` is all of it, with the frame around the page.
 */
export async function hasNoViolations(page: Page, what: string, part = "main"): Promise<void> {
  expect.soft(await violations(page, part), `axe-core on ${what}`).toBe("");
}

/** Nothing in a part of the page breaks the rules of axe, in each theme of a look. */
export async function hasNoViolationsInThemes(page: Page, what: string, look: Look, part = "main"): Promise<void> {
  for (const colorScheme of look.themes) {
    await page.emulateMedia({ colorScheme });
    await hasNoViolations(page, `${what}, ${colorScheme}, ${look.width} wide`, part);
  }
}

/** Nothing in a part of the page breaks the rules of axe, in any look. */
export async function hasNoViolationsInLooks(page: Page, what: string, part = "main"): Promise<void> {
  for (const look of LOOKS) {
    await page.setViewportSize({ width: look.width, height: 900 });
    await hasNoViolationsInThemes(page, what, look, part);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** Nothing in the open dialog breaks the rules of axe, in any look. */
export async function openDialogHasNoViolations(page: Page, what: string): Promise<void> {
  await expect(page.locator("dialog[open] .loading")).toHaveCount(0);
  await hasNoViolationsInLooks(page, what, "dialog[open]");
}
