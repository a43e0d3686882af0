import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  // Each worker has a server and a database of its own; two of them fill two cores.
  workers: 2,
  // As in .config/nextest.toml: listed as flaky, and a bug to be mended.
  retries: process.env.CI ? 1 : 0,
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  // What a failure leaves: the trace, the page, the server's log.
  outputDir: "test-results",
  // Generous: what is waited for is a state, and the machine may have other work.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  use: {
    trace: "retain-on-failure",
    screenshot: "only-on-failure",
    viewport: { width: 1440, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
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
