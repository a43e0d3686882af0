import { Server } from "../support/server.ts";
import { expect, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

const schedule = (n: number) => `
  tick-${n}: { when: "* * * * * *", task: { target: { noop: {} } } }`;
const MODULE = `
module: stream
schedules:${Array.from({ length: 20 }, (_, n) => schedule(n)).join("")}
`;

/** When rows of a table came or went, as the script in the page collects them. */
interface Watched {
  renders: number[];
}

test("a busy stream draws the list of runs at most four times a second", async ({ page }) => {
  // The test uses its own server, because the stream would go on beside other tests.
  const server = await Server.start();
  try {
    deploy(server, "stream", MODULE);
    await page.goto(`${server.url}/runs`);
    await signIn(page, server.addPerson("ada", "admin"));
    await expect(page.getByTestId("run-row").first()).toBeVisible();
    await expect(page.getByTestId("connection")).toHaveAttribute("data-state", "live");
    await page.evaluate(() => {
      const renders: number[] = [];
      (window as unknown as Watched).renders = renders;
      const drawn = new MutationObserver((changes) => {
        if (changes.some((change) => change.target.nodeName === "TBODY")) renders.push(performance.now());
      });
      drawn.observe(document, { childList: true, subtree: true });
    });
    const renders = () => page.evaluate(() => (window as unknown as Watched).renders);
    await expect.poll(async () => (await renders()).length).toBeGreaterThan(11);
    const times = await renders();
    const within = times.map((start) => times.filter((time) => time >= start && time < start + 1000).length);
    expect(Math.max(...within)).toBeLessThanOrEqual(4);
    // Nothing is requested once the server is gone.
    await page.goto("about:blank");
  } finally {
    await server.stop();
  }
});
