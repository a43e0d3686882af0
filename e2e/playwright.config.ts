import { existsSync } from "node:fs";

import { defineConfig } from "@playwright/test";

/** The browsers of Debian, the lightest first. */
const browsers = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export default defineConfig({
  testDir: "tests",
  // Each worker has its own server and database; two of them use both cores.
  workers: 2,
  // As in .config/nextest.toml: a test that only passes when it is repeated is listed as flaky,
  // which is a bug.
  retries: process.env.CI ? 1 : 0,
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  // The output of a failed test: the trace, the page, the server's log.
  outputDir: "test-results",
  // The timeout is long, because tests wait for states and the machine may be busy.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  use: {
    // Without the film of a test, which costs as much as the test: its snapshots show the same pages. They cost time
    // as well, with each step of each test, so the CI takes them only of a second attempt.
    trace: {
      mode: process.env.CI ? "on-first-retry" : "retain-on-failure",
      screenshots: false,
      snapshots: true,
      sources: true,
    },
    // Endless animations are painted without a graphics card here; print.spec.ts looks at them.
    contextOptions: { reducedMotion: "reduce" },
    screenshot: "only-on-failure",
    viewport: { width: 1440, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? browsers.find((path) => existsSync(path)),
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
