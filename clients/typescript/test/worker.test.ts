import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, test } from "node:test";

import { ApiError, Permanent, Worker, fields as f, type AnyTask, type WorkerOptions } from "../src/index.js";
import { Task, type TaskFunction } from "../src/declare.js";
import { delayAfter, Http } from "../src/http.js";
import type { Schema } from "../src/index.js";
import { error, FakeServer, HANG_UP, job } from "./fake-server.js";

let server: FakeServer;

beforeEach(async () => {
  server = await FakeServer.start();
});

afterEach(async () => {
  await server.close();
});

/** A task for this test only. */
function make<I, O>(name: string, run: TaskFunction<I, O>, accepts?: Schema<I>): AnyTask {
  return new Task(accepts ? { name, queue: "emails", accepts } : { name, queue: "emails" }, run);
}

async function running(tasks: AnyTask[], settings: Partial<WorkerOptions>, what: (worker: Worker) => Promise<void>) {
  const { url } = server;
  const options = { url, token: "secret", name: "mailer-1", queues: ["emails"], tasks, logger: () => {} };
  const worker = new Worker({ ...options, ...settings });
  const ended = worker.run();
  try {
    await what(worker);
  } finally {
    worker.stop();
    await ended;
  }
}

/** Resolves once the signal is aborted. */
function aborted(signal: AbortSignal): Promise<Error> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason as Error)));
}

test("a job runs with typed input and its output is told", async () => {
  const accepts = f.object({ to: f.string(), copies: f.optional(f.integer(), 1) });
  const send = make(
    "send",
    ({ to, copies }, { schedule, scheduleId, scheduleVersion, scheduledAt }) => {
      return { to, copies, schedule, scheduleId, scheduleVersion, scheduledAt };
    },
    accepts,
  );
  await running([send], { capacity: 3, tags: ["eu"], version: "7" }, async () => {
    server.give(job("send", { to: "ada" }));
    await server.waitFor("complete");
  });
  assert.deepEqual(server.bodies("complete"), [
    {
      workerId: "worker-1",
      id: "job-send",
      token: "fence-1",
      output: {
        to: "ada",
        copies: 1,
        schedule: "nightly",
        scheduleId: "schedule-1",
        scheduleVersion: 3,
        scheduledAt: "2026-11-26T02:00:00.000Z",
      },
    },
  ]);
  const [{ client, ...registered } = {}] = server.bodies("register");
  assert.match(String(client), /^carillon-worker-typescript\//);
  assert.deepEqual(registered, {
    protocol: 1,
    namespace: "default",
    name: "mailer-1",
    queues: ["emails"],
    tags: ["eu"],
    capacity: 3,
    version: "7",
  });
  assert.deepEqual(server.bodies("poll")[0], { workerId: "worker-1", free: 3, waitSeconds: 20, jobs: [] });
  assert.deepEqual(server.bodies("leave"), [{ workerId: "worker-1", jobs: [] }]);
});

test("failures say why and whether to try again", async () => {
  const tasks = [
    make("breaks", () => {
      throw new RangeError("no paper");
    }),
    make("refuses", () => {
      throw new Permanent("no such customer");
    }),
    make("says-nothing", () => {
      throw new Permanent("");
    }),
    make("typed", () => {}, f.object({ lines: f.array(f.object({ count: f.integer() })) })),
    make("opaque", () => ({ count: 1n })),
  ];
  await running(tasks, {}, async () => {
    server.give(job("breaks"), job("refuses"), job("typed", { lines: [{ count: "3" }] }), job("opaque"), job("unknown"));
    server.give(job("says-nothing"));
    await server.waitFor("fail", 6);
  });
  const told = server.bodies("fail").map(({ id, message, retry }) => [id, message, retry]);
  assert.deepEqual(told.sort(), [
    ["job-breaks", "RangeError: no paper", true],
    [
      "job-opaque",
      "what opaque gave back is not JSON: TypeError: Do not know how to serialize a BigInt",
      false,
    ],
    ["job-refuses", "no such customer", false],
    ["job-says-nothing", "the function gave no reason", false],
    ["job-typed", "lines[0].count: must be a whole number, and is a text", false],
    [
      "job-unknown",
      'this worker has no task named "unknown"; during a rolling deploy another one may have it',
      true,
    ],
  ]);
  const lines = server.bodies("log").flatMap(({ lines }) => lines as { text: string }[]);
  assert.equal(lines[0]?.text, "RangeError: no paper");
});

test("a failure that cannot be described fails the job", async () => {
  const breaks = make("breaks", () => {
    // It has no text.
    throw Object.create(null);
  });
  await running([breaks], {}, async () => {
    server.give(job("breaks"));
    await server.waitFor("fail");
  });
  const [told] = server.bodies("fail");
  assert.match(String(told?.["message"]), /^the worker could not report it: /);
  assert.equal(told?.["retry"], true);
});

test("what is not answered is told again", async () => {
  server.script("register", error(503, "UNAVAILABLE", "0"), HANG_UP);
  server.script("poll", HANG_UP, error(429, "RATE_LIMITED", "0"), error(408, "X"));
  server.script("complete", HANG_UP, error(503, "UNAVAILABLE", "0"), error(500, "X"));
  await running([make("send", () => "sent")], {}, async () => {
    server.give(job("send"));
    await server.waitFor("complete", 4);
  });
  const told = server.bodies("complete");
  assert.deepEqual(told, told.map(() => told[0]));
  assert.equal(told[0]?.["output"], "sent");
});

test("a request that is not answered ends in its time", async () => {
  const body = { workerId: "worker-0", free: 1 };
  // The server answers no poll as long as there is no job.
  const http = new Http(server.url, "secret");
  await assert.rejects(http.call("/worker/v1/poll", body, AbortSignal.abort(), undefined, 100));
});

test("stale work is dropped", async () => {
  server.script("complete", error(409, "STALE"));
  await running([make("send", () => {})], {}, async () => {
    server.give(job("send"));
    await server.waitFor("complete");
    server.give(job("send", null, { token: "fence-2" }));
    await server.waitFor("complete", 2);
  });
  assert.deepEqual(
    server.bodies("complete").map(({ token }) => token),
    ["fence-1", "fence-2"],
  );
  assert.deepEqual(server.bodies("fail"), []);
});

test("a refused output fails the job", async () => {
  server.script("complete", error(400, "BAD_USER_INPUT"));
  await running([make("send", () => "x")], {}, async () => {
    server.give(job("send"));
    await server.waitFor("fail");
  });
  const [{ message, retry } = {}] = server.bodies("fail");
  assert.deepEqual([message, retry], ["the server refused the output: says BAD_USER_INPUT", false]);
});

test("a worker declared lost registers again and drops its jobs", async () => {
  server.heartbeatSeconds = 0.05;
  const waits = make("waits", async (_, { signal, log }) => {
    log("began");
    await aborted(signal);
  });
  await running([waits, make("send", () => {})], {}, async () => {
    server.give(job("waits"));
    await server.waitFor("log");
    server.script("heartbeat", error(404, "NOT_FOUND"));
    await server.waitFor("register", 2);
    server.give(job("send"));
    await server.waitFor("complete");
  });
  assert.deepEqual(
    server.bodies("complete").map(({ id, workerId }) => [id, workerId]),
    [["job-send", "worker-2"]],
  );
  assert.deepEqual(server.bodies("fail"), []);
  assert.deepEqual(server.bodies("leave"), [{ workerId: "worker-2", jobs: [] }]);
});

for (const [how, capacity] of [["poll", 2], ["heartbeat", 1]] as const) {
  test(`a function hears by ${how} that it is to stop`, async () => {
    server.heartbeatSeconds = 0.05;
    const waits = make("waits", async (_, { signal, log }) => {
      log("began");
      throw new Error(`stopped: ${(await aborted(signal)).message}`);
    });
    await running([waits], { capacity }, async () => {
      server.give(job("waits"));
      await server.waitFor("log");
      server.askToStop("job-waits");
      await server.waitFor("fail");
    });
    assert.equal(server.bodies("fail")[0]?.["message"], "Error: stopped: cancelled by the server");
  });
}

test("log lines come in order, in batches, bounded, and before the end", async () => {
  const talks = make("talks", (_, { log }) => {
    for (let number = 0; number < 450; number += 1) log(`line ${number}`);
    log("é".repeat(10_000), "stderr");
    log("x\n".repeat(30_000));
  });
  await running([talks], {}, async () => {
    server.give(job("talks"));
    await server.waitFor("complete");
  });
  const batches = server.bodies("log").map(({ lines }) => lines as { stream: string; text: string }[]);
  assert.ok(batches.every((lines) => lines.length <= 200));
  const lines = batches.flat();
  assert.deepEqual(
    lines.slice(0, 450).map(({ text }) => text),
    Array.from({ length: 450 }, (_, number) => `line ${number}`),
  );
  assert.deepEqual(lines[450], { stream: "stderr", text: `${"é".repeat(8189)} [cut]` });
  assert.match(lines.at(-1)?.text ?? "", /^\[carillon\] \d+ lines were dropped: they came too fast$/);
  assert.equal(server.requests.filter(({ path }) => path === "log" || path === "complete").at(-1)?.path, "complete");
});

test("a lease is extended", async () => {
  await running([make("works", (_, context) => context.extend(120))], {}, async () => {
    server.give(job("works"));
    await server.waitFor("complete");
  });
  assert.equal(server.bodies("complete")[0]?.["output"], 120);
  assert.equal(server.bodies("extend")[0]?.["seconds"], 120);
});

test("heartbeats name what is held, and no more is asked for than there is room", async () => {
  server.heartbeatSeconds = 0.05;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await running([make("waits", () => released)], { capacity: 2 }, async () => {
    server.give(...["a", "b", "c"].map((id) => job("waits", null, { id })));
    const held = (): string => {
      const jobs = (server.bodies("heartbeat").at(-1)?.["jobs"] ?? []) as { id: string }[];
      return jobs.map(({ id }) => id).join();
    };
    assert.ok(await server.until(() => held() === "a,b", 20_000));
    assert.ok(server.bodies("poll").every(({ free }) => (free as number) > 0));
    release();
    await server.waitFor("complete", 3);
  });
});

test("a server that is being stopped is asked again", async () => {
  const drains = { status: 200, body: { jobs: [], stop: [], drain: true } };
  server.script("poll", drains, drains);
  await running([make("send", () => {})], {}, async () => {
    await server.waitFor("poll", 3);
    server.give(job("send"));
    await server.waitFor("complete");
  });
  assert.equal(server.registered, 1);
});

test("a worker that is asked to end says so at once and finishes", async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const waits = make("waits", async (_, { log }) => {
    log("began");
    await released;
  });
  await running([waits], {}, async (worker) => {
    server.give(job("waits"));
    await server.waitFor("log");
    worker.stop();
    await server.waitFor("heartbeat");
    release();
    await server.waitFor("complete");
  });
  const jobs = [{ id: "job-waits", token: "fence-1" }];
  assert.deepEqual(server.bodies("heartbeat"), [{ workerId: "worker-1", jobs, draining: true }]);
});

test("a job on its way as the worker is asked to end is not lost", async () => {
  await running([make("send", () => {})], {}, async (worker) => {
    await server.waitFor("poll");
    worker.stop();
    server.give(job("send"));
    await server.waitFor("leave");
  });
  const order = server.requests.map(({ path }) => path).filter((path) => path === "complete" || path === "leave");
  assert.deepEqual(order, ["complete", "leave"]);
});

test("what does not end within the grace is told to", async () => {
  const obeys = make("obeys", async (_, { signal, log }) => {
    log("began");
    throw await aborted(signal);
  });
  await running([obeys], { grace: 0.05 }, async (worker) => {
    server.give(job("obeys"));
    await server.waitFor("log");
    worker.stop();
    await server.waitFor("leave");
  });
  assert.equal(server.bodies("fail")[0]?.["message"], "CarillonError: the worker ends");
});

for (const path of ["register", "poll"]) {
  for (const [status, code] of [[401, "UNAUTHENTICATED"], [403, "FORBIDDEN"], [426, "PROTOCOL"]] as const) {
    test(`${status} to ${path} ends the worker`, async () => {
      server.script(path, error(status, code));
      const worker = new Worker({ url: server.url, token: "", queues: ["a"], tasks: [], logger: () => {} });
      await assert.rejects(worker.run(), (thrown) => thrown instanceof ApiError && thrown.status === status);
    });
  }
}

test("a worker says what it lacks", () => {
  const options = { url: "http://localhost", token: "", tasks: [] };
  assert.throws(() => new Worker(options), /without queues/);
  assert.throws(() => new Worker({ ...options, queues: ["a"], capacity: 0 }), /capacity must be a whole number/);
  assert.throws(() => new Worker({ ...options, queues: ["a"], url: "localhost:80" }), /must be http\(s\):\/\/HOST/);
});

test("delays grow to a bound and heed the server", () => {
  assert.ok(delayAfter(0) >= 100 && delayAfter(0) <= 200);
  assert.ok(delayAfter(60) >= 7_500 && delayAfter(60) <= 15_000);
  assert.ok(delayAfter(0, new ApiError(503, "UNAVAILABLE", "", undefined, 30)) >= 30_000);
});

test("SIGTERM drains a process", async () => {
  const program = `
    import { task, Worker } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
    task({ name: "waits", queue: "emails" }, async (_, { log }) => {
      log("began");
      await new Promise((resolve) => process.once("SIGTERM", resolve));
      return "done";
    });
    await new Worker({ url: ${JSON.stringify(server.url)}, token: "secret", capacity: 1 }).run();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "ignore" });
  const exited = once(child, "exit");
  try {
    server.give(job("waits"));
    await server.waitFor("log");
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  } finally {
    child.kill("SIGKILL");
  }
  assert.equal(server.bodies("complete")[0]?.["output"], "done");
  assert.deepEqual(server.bodies("leave"), [{ workerId: "worker-1", jobs: [] }]);
});
