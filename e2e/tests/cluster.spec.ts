import { spawn, type ChildProcess } from "node:child_process";

import { hasNoViolations } from "../support/axe.ts";
import { freePort, Server } from "../support/server.ts";
import { expect, follow, signIn, test } from "../support/test.ts";
import { deploy } from "../support/world.ts";

test("the cluster's page shows each node with what it does, and comes by one key", async ({
  page,
  admin,
}) => {
  await page.goto("/");
  await signIn(page, admin);
  await follow(page, "gc", /\/cluster$/);
  await expect(page).toHaveTitle(/Cluster/);
  const node = page.getByTestId("node-row");
  await expect(node).toHaveCount(1);
  await expect(node).toContainText("Alive");
  await expect(node).toContainText("api, scheduler, worker");
  await expect(node).toContainText("100 % of schedules");
  await expect(node).toContainText("recovery");
  await expect(page.getByTestId("health")).toContainText("Healthy");
  await expect(page.getByText("SQLite is for one node.")).toBeVisible();
  // The bar lies below its number, not over it.
  const meter = (await node.locator(".meter").boundingBox())!;
  expect(meter.height).toBeGreaterThan(12);
});

test("a node's slots lead to the runs that use them", async ({ page, server, admin }) => {
  server.cli(["namespace", "create", "nodal"]);
  const long = `long: { when: "0 4 1 1 *", task: { target: { command: { script: "sleep 120" } } } }`;
  deploy(server, "nodal", `module: nodal\nnamespace: nodal\nschedules:\n  ${long}\n`);
  const find = `{ schedule(namespace: "nodal", name: "long") { id } }`;
  const { schedule } = await server.ask<{ schedule: { id: string } }>(find, {});
  const trigger = `mutation ($id: UUID!) { triggerSchedule(id: $id) { run { id } } }`;
  const started = await server.ask<{ triggerSchedule: { run: { id: string } } }>(trigger, schedule);
  await page.goto("/cluster");
  await signIn(page, admin);
  const runs = page.getByTestId("node-row").getByRole("link", { name: /live runs of/ });
  await expect(runs).toHaveAttribute("href", /\/all\/runs\?state=live&q=node/, { timeout: 30_000 });
  await page.goto((await runs.getAttribute("href"))!);
  await expect(page.getByTestId("run-row").filter({ hasText: "long" })).toBeVisible();
  await server.ask(`mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }`, started.triggerSchedule.run);
});

test("the cluster's page hears of a node's next life, also of one that began while it was cut off", async ({
  page,
}) => {
  // The test uses its own server, because it stops the server and the others need theirs.
  const server = await Server.start();
  try {
    await page.goto(`${server.url}/cluster`);
    await signIn(page, server.addPerson("zoe", "viewer"));
    const name = page.getByTestId("node-row").locator("th span").first();
    await expect(name).toHaveAttribute("title", /^start 1 under this name/);
    await server.halt();
    await server.launch();
    await expect(name).toHaveAttribute("title", /^start 2 under this name/);
  } finally {
    await server.stop();
  }
});

test("a node is drained after a dialog has said what that does, and taken back", async ({ page }) => {
  // The test uses its own server: nothing fires on a server whose only node is drained.
  const server = await Server.start();
  try {
    await page.goto(`${server.url}/cluster`);
    await signIn(page, server.addPerson("nora", "admin"));
    const node = page.getByTestId("node-row");
    await expect(page.getByTestId("shard-row")).toContainText("0–255");
    const guide = page.getByRole("link", { name: "How to write a worker" });
    await expect(guide).toHaveAttribute("href", "/docs/workers.html");
    await node.getByRole("button", { name: "Drain" }).click();
    const drain = page.getByRole("dialog", { name: "Drain the node" });
    await expect(drain).toContainText("No other node schedules: nothing fires until one does.");
    await drain.getByLabel("Reason").fill("new disks");
    await drain.getByRole("button", { name: "Drain" }).click();
    await expect(node).toContainText("Drained");
    await expect(node).toContainText("by nora: new disks");
    await node.getByRole("button", { name: "Undrain" }).click();
    const undrain = page.getByRole("dialog", { name: "Undrain the node" });
    await expect(undrain).toContainText("nora drained it: new disks");
    await undrain.getByRole("button", { name: "Undrain" }).click();
    await expect(node).toContainText("Alive");
  } finally {
    await server.stop();
  }
});

test("a viewer of the cluster is offered no drain", async ({ page, server }) => {
  await page.goto("/cluster");
  await signIn(page, server.addPerson("finn", "viewer"));
  await expect(page.getByTestId("node-row")).toHaveCount(1);
  await expect(page.getByTestId("node-row").getByRole("button")).toHaveCount(0);
});

test("each broker has a row: whether it is reached, its events, and its last error", async ({ page }) => {
  // The test uses its own server, because others may not connect to this machine.
  const server = await Server.start({ CARILLON_EGRESS__PRIVATE_ADDRESSES: "true" });
  const port = await freePort();
  let redis: ChildProcess | undefined;
  try {
    const publish = `publish: { to: { redis: { connection: { servers: ["127.0.0.1:${port}"] }, stream: bells } } }`;
    const ring = `ring: { when: "0 4 1 1 *", task: { target: { ${publish} } } }`;
    deploy(server, "belfry", `module: belfry\nschedules:\n  ${ring}\n`);
    server.cli(["namespace", "create", "elsewhere"]);
    const member = await server.addMember("mina", "viewer", "elsewhere");
    await page.goto(`${server.url}/cluster`);
    await signIn(page, server.addPerson("bela", "viewer"));
    await expect(page.getByTestId("node-row")).toHaveCount(1);
    await expect(page.getByTestId("broker-row")).toHaveCount(0);
    server.cli(["trigger", "ring"]);
    const broker = page.getByTestId("broker-row");
    await expect(broker).toHaveCount(1);
    await expect(broker).toContainText(`redis://127.0.0.1:${port}`);
    await expect(broker).toContainText("Unreachable");
    await expect(broker).toContainText(`could not connect to 127.0.0.1:${port}`);
    await expect(broker).toContainText(/\d failed/);
    await hasNoViolations(page, "the cluster with a broker");
    // A phone shows the reason, too.
    const size = page.viewportSize()!;
    await page.setViewportSize({ width: 390, height: 844 });
    await expect(broker.getByText(`could not connect to 127.0.0.1:${port}`)).toBeVisible();
    await page.setViewportSize(size);

    // A request that fails does not look like a cluster without brokers.
    await page.route("**/graphql", async (route) => {
      const asks = String(route.request().postDataJSON()?.query).includes("query Brokers");
      await (asks ? route.abort() : route.fallback());
    });
    await page.reload();
    const again = page.getByRole("main").getByRole("button", { name: "Try again" });
    await expect(again).toBeVisible();
    await page.unrouteAll();
    await again.click();
    await expect(broker).toHaveCount(1);

    redis = spawn("redis-server", ["--bind", "127.0.0.1", "--port", String(port), "--save", ""], { stdio: "pipe" });
    const output = redis.stdout!;
    await new Promise<void>((resolve, reject) => {
      output.on("data", (text: Buffer) => text.includes("Ready to accept connections") && resolve());
      redis!.on("exit", () => reject(new Error("redis-server ended by itself")));
      redis!.on("error", reject);
    });
    server.cli(["trigger", "ring"]);
    await expect(broker).toContainText("Connected");
    await expect(broker.getByRole("cell").nth(1)).toContainText(/^[12]/);
    // What was wrong before can still be read.
    await expect(broker).toContainText(`could not connect to 127.0.0.1:${port}`);

    // Tasks of all namespaces share the connections, so a member of one namespace does not see them.
    await page.context().clearCookies();
    await page.goto(`${server.url}/ns/elsewhere/cluster`);
    await signIn(page, member);
    await expect(page.getByRole("heading", { name: "Workers" })).toBeVisible();
    await expect(broker).toHaveCount(0);
  } finally {
    redis?.removeAllListeners();
    redis?.kill("SIGKILL");
    await server.stop();
  }
});

test("a queue that nobody pulls from is seen, and limited", async ({ page, server, admin }) => {
  deploy(
    server,
    "queues",
    `module: queues
schedules:
  mails:
    when: "0 0 1 1 *"
    task: { target: { worker: { queue: emails, task: send } } }
`,
  );
  server.cli(["trigger", "mails"]);
  await page.goto("/cluster");
  await signIn(page, admin);
  const queue = page.getByTestId("queue-row");
  await expect(queue).toContainText("no worker pulls from it");
  await expect(queue).toContainText("1 waiting");

  const token = server.cli(["token", "create", "mailer", "--role", "operator"]).trim();
  const say = async (word: string, said: object) => {
    const answer = await fetch(`${server.url}/worker/v1/${word}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify(said),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as { workerId: string; jobs: { id: string; token: string }[] };
  };
  const { workerId } = await say("register", {
    protocol: 1, name: "mailer-1", queues: ["emails"], tags: ["eu"], capacity: 8,
    version: "2026.11", client: "by-hand/1",
  });
  const { jobs } = await say("poll", { workerId, free: 1, waitSeconds: 20 });
  const worker = page.getByTestId("worker-row");
  await expect(worker).toContainText("mailer-1");
  await expect(worker).toContainText("1/8");
  await expect(queue).not.toContainText("no worker pulls from it");

  await queue.getByRole("button", { name: "Limit" }).click();
  await page.getByLabel("Jobs at once").fill("0");
  await page.getByRole("dialog").getByRole("button", { name: "Limit" }).click();
  await expect(page.getByRole("dialog")).toContainText("1 to 10000");
  await page.getByLabel("Jobs at once").fill("3");
  await page.getByRole("dialog").getByRole("button", { name: "Limit" }).click();
  await expect(queue).toContainText("1 of 3");
  await say("complete", { workerId, id: jobs[0]?.id, token: jobs[0]?.token, output: {} });
  await expect(worker).toContainText("0/8");
});
