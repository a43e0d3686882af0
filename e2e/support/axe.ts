import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { expect } from "./test.ts";

/** Nothing in a part of the page breaks the rules of axe: in the page itself, unless another part is named. The frame
 * around it has tests of its own. */
export async function hasNoViolations(page: Page, what: string, part = "main"): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).include(part).analyze();
  const found = violations.map(
    (violation) =>
      `${violation.id}: ${violation.help}\n` +
      violation.nodes.map((node) => `    ${node.target.join(" ")}`).join("\n"),
  );
  expect.soft(found.join("\n"), `axe-core on ${what}`).toBe("");
}

/** Nothing in the open dialog breaks the rules of axe, in both themes and at two widths. */
export async function openDialogHasNoViolations(page: Page, what: string): Promise<void> {
  await expect(page.locator("dialog[open] .loading")).toHaveCount(0);
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1440, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await hasNoViolations(page, `${what}, ${colorScheme}, ${width} wide`, "dialog[open]");
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}
