//! Measures the console's figures, and writes them into docs/BENCHMARKS.md between the marks.
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";

import { expect, test, type Browser, type BrowserContext, type Page } from "@playwright/test";

import { Server } from "../support/server.ts";
import { fill, open, signedIn } from "./world.ts";

const benchmarks = resolve(import.meta.dirname, "../../docs/BENCHMARKS.md");
const rounds = 5;
const watchedSeconds = Number(process.env.FIGURES_SECONDS ?? "600");
const schedules = 100_000;

interface Load {
  bytes: number;
  files: number;
  paint: number;
  interactive: number;
}

const pages = [
  ["Overview", "/all"],
  ["Schedules", "/all/schedules"],
  ["Runs", "/all/runs"],
  ["New schedule", "/ns/default/schedules/new"],
  ["Timeline", "/ns/default/timeline"],
  ["Upcoming", "/ns/default/upcoming"],
  ["Metrics", "/ns/default/metrics"],
  ["Secrets", "/ns/default/settings/secrets"],
  ["New workflow", "/ns/default/workflows/new"],
] as const;

test("figures of the console", async ({ browser }) => {
  // On a disk, as in production.
  const server = await Server.start(open, tmpdir());
  const context = await signedIn(browser, server, server.addPerson("ada", "admin"));
  await fill(server);
  const lines = ["| page | first load, Brotli | files | first paint | interactive |", "|---|---|---|---|---|"];
  for (const [name, address] of [...pages, ...(await details(server))]) {
    const loads: Load[] = [];
    for (let round = 0; round < rounds; round += 1) loads.push(await coldLoad(browser, context, server, address));
    const of = (value: (load: Load) => number) => median(loads.map(value));
    const size = `${(of((load) => load.bytes) / 1000).toFixed(0)} kB`;
    const times = [of((load) => load.paint), of((load) => load.interactive)].map((time) => `${(time / 1000).toFixed(2)} s`);
    lines.push(`| ${name} | ${size} | ${of((load) => load.files)} | ${times.join(" | ")} |`);
  }
  const stream = await busyStream(server, context);
  const filter = await filterAnswer(server, context);
  lines.push("", filter, "", stream);
  write(lines.join("\n"));
  await context.close();
  await server.stop();
});

/** The pages of single objects. */
async function details(server: Server): Promise<[string, string][]> {
  const query = `query { schedule(name: "invoices") { id } workflow(name: "month-end") { id } }`;
  const { schedule, workflow } = await server.ask<Record<"schedule" | "workflow", { id: string }>>(query, {});
  return [
    ["Schedule", `/ns/default/schedules/${schedule.id}`],
    ["Edit workflow", `/ns/default/workflows/${workflow.id}/edit`],
  ];
}

/** Opens a page in a browser whose cache is empty. */
async function coldLoad(browser: Browser, signed: BrowserContext, server: Server, address: string): Promise<Load> {
  const context = await browser.newContext({ baseURL: server.url, storageState: await signed.storageState() });
  const page = await context.newPage();
  const bodies: Promise<Buffer>[] = [];
  page.on("response", (response) => {
    const isApi = /\/(graphql|api|auth)/.test(new URL(response.url()).pathname);
    if (response.ok() && !isApi) bodies.push(response.body());
  });
  await page.goto(address);
  await page.locator("main h1").first().waitFor();
  await expect(page.locator("main [aria-busy=true]")).toHaveCount(0);
  const { paint, interactive } = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
    interactive: performance.now(),
  }));
  const files = await Promise.all(bodies);
  await context.close();
  // A released server compresses its embedded files, but this one serves them from a folder.
  const bytes = files.reduce((sum, body) => sum + brotliCompressSync(body).length, 0);
  return { bytes, files: files.length, paint, interactive };
}

/**
 * How long the browser is busy, how often it draws and how much memory it uses while 200 runs a
 * second begin and end.
 */
async function busyStream(server: Server, context: BrowserContext): Promise<string> {
  const input = { timing: { expressions: ["* * * * * *"] }, task: { target: { noop: {} } } };
  const create = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }`;
  for (let n = 0; n < 100; n += 1) await server.ask(create, { input: { name: `busy-${n}`, ...input } });
  const page = await context.newPage();
  await page.addInitScript(watchWork);
  await page.goto("/ns/default/runs");
  await page.locator("main h1").first().waitFor();
  const before = await heap(page);
  const start = Date.now();
  const heaps: number[] = [];
  while (Date.now() - start < watchedSeconds * 1000) {
    // Not a wait for a state: the memory is sampled at intervals.
    await page.waitForTimeout(Math.min(30_000, watchedSeconds * 250));
    heaps.push(await heap(page));
  }
  const { tasks, renders } = await page.evaluate(() => (window as unknown as { work: Work }).work);
  await page.close();
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  const worst = tasks.length === 0 ? "none" : `${tasks.length}, the longest ${Math.max(...tasks).toFixed(0)} ms`;
  return (
    `The runs page beside 100 schedules of every second (200 events a second) for ${watchedSeconds} s: tasks over 50 ms: ${worst}; ` +
    `rows came and went at most ${mostInASecond(renders)} times a second; ` +
    `memory of the page after collection ${megabytes(before)} MB at the start, ${megabytes(Math.max(...heaps))} MB at most, ` +
    `${megabytes(heaps.at(-1) ?? before)} MB at the end.`
  );
}

/**
 * The work of a page: the durations of its tasks over 50 ms, and when rows of a table came or went.
 */
interface Work {
  tasks: number[];
  renders: number[];
}

/** Collects the work of a page. Runs in the page before its own scripts. */
function watchWork(): void {
  const work: Work = { tasks: [], renders: [] };
  (window as unknown as { work: Work }).work = work;
  const long = new PerformanceObserver((list) => work.tasks.push(...list.getEntries().map((entry) => entry.duration)));
  long.observe({ type: "longtask", buffered: true });
  const drawn = new MutationObserver((changes) => {
    if (changes.some((change) => change.target.nodeName === "TBODY")) work.renders.push(performance.now());
  });
  drawn.observe(document, { childList: true, subtree: true });
}

/** The largest number of these times, in milliseconds, within any one second. */
function mostInASecond(times: number[]): number {
  const within = times.map((start) => times.filter((time) => time >= start && time < start + 1000).length);
  return Math.max(0, ...within);
}

/** The parts of the time from a key to the list that answers it, in milliseconds. */
interface Answer {
  /** From the key until the request is sent. */
  sent: number;
  /** From the request until its answer has arrived. */
  served: number;
  /** From the answer until the frame with its first rows has been painted. */
  painted: number;
  /** From the key until the rows are painted. */
  whole: number;
}

/**
 * Measures the time from a key in the filter of the schedules to the list that answers it. It uses
 * the page's own clock, because this script's clock would include the delays of sending the key to
 * the browser and of asking whether the list is there.
 */
async function filterAnswer(server: Server, context: BrowserContext): Promise<string> {
  const create = `mutation ($inputs: [CreateScheduleInput!]!) { createSchedules(inputs: $inputs) { id } }`;
  const input = { timing: { expressions: ["H H 1 1 *"] }, task: { target: { noop: {} } } };
  for (let from = 0; from < schedules; from += 500) {
    const inputs = Array.from({ length: 500 }, (_, n) => ({ name: `stored-${from + n}`, ...input }));
    await server.ask(create, { inputs });
  }
  const page = await context.newPage();
  await page.goto("/ns/default/schedules");
  const field = page.getByLabel("Search schedules");
  await field.waitFor();
  const answers: Answer[] = [];
  for (const number of ["77", "4242", "99123", "31", "50505", "8", "612", "70707", "1234", "56"]) {
    await field.fill(`stored-${number.slice(0, -1)}`);
    await expect(page.getByTestId("schedule-row").first()).toContainText(`stored-${number.slice(0, -1)}`);
    await field.press("End");
    const watch = await page.evaluateHandle(watchAnswer, `stored-${number}`);
    await field.pressSequentially(number.slice(-1));
    answers.push(await watch.evaluate(({ answer }) => answer));
  }
  await page.close();
  const of = (value: (answer: Answer) => number) => median(answers.map(value)).toFixed(0);
  const worst = Math.max(...answers.map(({ whole }) => whole)).toFixed(0);
  return (
    `A key in the filter of ${schedules.toLocaleString("en")} schedules to the list that answers it: ` +
    `median ${of(({ whole }) => whole)} ms, worst of ${answers.length} ${worst} ms. Medians of its parts: ` +
    `${of(({ sent }) => sent)} ms until the request is sent, ${of(({ served }) => served)} ms until it is answered, ` +
    `${of(({ painted }) => painted)} ms until the rows are painted.`
  );
}

/**
 * Measures the time from the next key to the frame in which the first row has this text. Runs in
 * the page.
 */
function watchAnswer(sought: string): { answer: Promise<Answer> } {
  performance.clearResourceTimings();
  const pressed = new Promise<number>((resolve) => {
    addEventListener("keydown", (event) => resolve(event.timeStamp), { capture: true, once: true });
  });
  const painted = new Promise<number>((resolve) => {
    const look = () => {
      const row = document.querySelector("[data-testid=schedule-row]");
      // A task that is queued in a frame runs after the frame has been painted.
      if (row?.textContent?.includes(sought)) setTimeout(() => resolve(performance.now()));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  const measured = async (): Promise<Answer> => {
    const [start, end] = await Promise.all([pressed, painted]);
    const loads = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
    // The first request is the list's: counts and bars beside the rows are requested later.
    const load = loads.find(({ name, startTime }) => name.endsWith("/graphql") && startTime >= start);
    const { startTime, responseEnd } = load ?? { startTime: NaN, responseEnd: NaN };
    const [sent, served] = [startTime - start, responseEnd - startTime];
    return { sent, served, painted: end - responseEnd, whole: end - start };
  };
  return { answer: measured() };
}

async function heap(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.collectGarbage");
  const { metrics } = await (await devtools.send("Performance.enable"), devtools.send("Performance.getMetrics"));
  await devtools.detach();
  return metrics.find((metric) => metric.name === "JSHeapUsedSize")?.value ?? NaN;
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

function write(figures: string): void {
  const text = readFileSync(benchmarks, "utf8");
  const marked = /(<!-- figures of the console -->\n)[^]*?(<!-- end of the figures -->)/;
  if (!marked.test(text)) throw new Error(`${benchmarks} has no marks for the console's figures:\n${figures}`);
  writeFileSync(benchmarks, text.replace(marked, (_, begin: string, end: string) => `${begin}${figures}\n${end}`));
}
