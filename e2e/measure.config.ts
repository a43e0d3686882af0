import { resolve } from "node:path";

import { defineConfig } from "@playwright/test";

import base from "./playwright.config.ts";

/** What is measured and looked at, not judged: `make figures` and `make screenshots`. One thing at a time. */
export default defineConfig(base, {
  testDir: "measure",
  outputDir: resolve(import.meta.dirname, "..", "target/measure-results"),
  workers: 1,
  retries: 0,
  timeout: 1_800_000,
  use: { trace: "off", screenshot: "off" },
});
