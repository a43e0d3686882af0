import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { expect } from "./test.ts";

/**
 * Checks that nothing in the main part of the page violates the rules of axe. The frame has its own
 * tests.
 */
export async function hasNoViolations(page: Page, what: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).include("main").analyze();
  const found = violations.map(
    (violation) =>
      `${violation.id}: ${violation.help}\n` +
      violation.nodes.map((node) => `    ${node.target.join(" ")}`).join("\n"),
  );
  expect.soft(found.join("\n"), `axe-core on ${what}`).toBe("");
}
