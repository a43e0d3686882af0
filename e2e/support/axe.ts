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
