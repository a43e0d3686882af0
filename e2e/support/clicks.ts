import type { Locator } from "@playwright/test";

/** Counts what a journey costs: each press of a button, link or choice. Typing is free. */
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
