import type { Locator } from "@playwright/test";

/**
 * Counts the clicks of a journey: each press of a button, link or choice. Typing is not counted.
 */
export class Clicks {
  count = 0;

  async on(target: Locator): Promise<void> {
    this.count += 1;
    await target.click();
  }

  async choose(target: Locator, value: string): Promise<void> {
    this.count += 1;
    await target.selectOption(value);
  }
}
