import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { expect } from "./test.ts";

/** Nothing in the page itself breaks the rules of axe; the frame around it has tests of its own. */
export async function hasNoViolations(page: Page, what: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).include("main").analyze();
  const found = violations.map(
    (violation) =>
      `${violation.id}: ${violation.help}\n` +
      violation.nodes.map((node) => `    ${node.target.join(" ")}`).join("\n"),
  );
  expect.soft(found.join("\n"), `axe-core on ${what}`).toBe("");
}
