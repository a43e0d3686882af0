import { resolve } from "node:path";

import { defineConfig } from "@playwright/test";

import base from "./playwright.config.ts";

/**
 * The configuration for measurements and screenshots, which judge nothing: `make figures` and `make
 * screenshots`. Only one runs at a time.
 */
export default defineConfig(base, {
  testDir: "measure",
  outputDir: resolve(import.meta.dirname, "..", "target/measure-results"),
  workers: 1,
  retries: 0,
  timeout: 1_800_000,
  use: { trace: "off", screenshot: "off" },
});
