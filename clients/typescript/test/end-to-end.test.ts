/** Tests against the built server at CARILLON_BINARY. */

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";

import { ApiError, DeployError, fields as f, Permanent, Program, scheduled, Worker, type AnyTask } from "../src/index.js";
import { RealServer, until } from "./real-server.js";

const binary = process.env["CARILLON_BINARY"];

describe("with a server", { skip: binary === undefined && "CARILLON_BINARY names no server" }, () => {
  let server: RealServer;
  before(async () => {
    server = await RealServer.start(resolve(binary ?? ""));
  });
  after(() => server.close());

  async function working(token: string, tasks: AnyTask[], what: () => Promise<void>): Promise<void> {
    const worker = new Worker({ url: server.url, token, tasks, logger: () => {} });
    const ended = worker.run();
    try {
      await what();
    } finally {
      worker.stop();
      await ended;
    }
  }

  test("deployed code runs", async () => {
    const queue = "first";
    const report = scheduled(
      {
        name: "send_report",
        queue,
        schedule: "report",
        cron: "0 2 * * *",
        zone: "Europe/Berlin",
        accepts: f.object({ day: f.string(), copies: f.integer() }),
        input: { day: "{{ context.day }}", copies: 2 },
      },
      ({ day, copies }, { log, attempt, schedule }) => {
        log(`sending ${day}`);
        log("with care", "stderr");
        return { day, copies, attempt, schedule };
      },
    );
    const refuses = scheduled({ name: "refuses", queue, cron: "@daily" }, () => {
      throw new Permanent("no such customer");
    });
    const retry = { max_attempts: 3, initial: "10ms" };
    const second = scheduled({ name: "second_time", queue, cron: "@daily", retry }, (_, { attempt }) => {
      if (attempt === 1) throw new Error("not yet");
      return { attempt };
    });
    const counts = scheduled(
      { name: "counts", queue, cron: "@daily", retry, accepts: f.object({ count: f.integer() }) },
      () => {},
    );
    const tasks = [report, refuses, second, counts];
    const program = new Program({ name: "first", tasks });
    const planned = await program.deploy(server.url, server.deployer, { dryRun: true });
    assert.deepEqual(await server.schedules(), []);
    assert.deepEqual(await program.deploy(server.url, server.deployer), planned);
    assert.deepEqual(await server.schedules(), ["counts", "refuses", "report", "second_time"]);
    // Deploying the same again changes nothing.
    const again = await program.deploy(server.url, server.deployer);
    assert.ok(again.every(({ action }) => action === "UNCHANGED"));

    await working(await server.workerToken(queue), tasks, async () => {
      const reported = await server.trigger("report", { day: "friday" });
      assert.deepEqual((await server.settled(reported)).output, {
        day: "friday",
        copies: 2,
        attempt: 1,
        schedule: "report",
      });
      const lines = await until(() => server.logOf(reported), ({ length }) => length >= 2);
      assert.deepEqual(lines.slice(-2), ["STDOUT sending friday", "STDERR with care"]);

      const refused = await server.settled(await server.trigger("refuses"));
      assert.deepEqual([refused.state, refused.attempt], ["FAILED", 1]);
      assert.match(refused.error ?? "", /no such customer/);

      const retried = await server.settled(await server.trigger("second_time"));
      assert.deepEqual([retried.state, retried.attempt], ["SUCCEEDED", 2]);

      const wrong = await server.settled(await server.trigger("counts", { count: "three" }));
      assert.deepEqual([wrong.state, wrong.attempt], ["FAILED", 1]);
      assert.match(wrong.error ?? "", /count: must be a whole number, and is a text/);
    });
  });

  test("a cancelled run reaches its function", async () => {
    let began = (): void => {};
    const hasBegun = new Promise<void>((resolve) => (began = resolve));
    let reason = (_: unknown): void => {};
    const hasReason = new Promise<unknown>((resolve) => (reason = resolve));
    const waits = scheduled({ name: "waits", queue: "cancelling", cron: "@daily" }, async (_, { signal }) => {
      began();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      reason(signal.reason);
    });
    await new Program({ name: "cancelling", tasks: [waits] }).deploy(server.url, server.deployer);
    await working(await server.workerToken("cancelling"), [waits], async () => {
      const run = await server.trigger("waits");
      await hasBegun;
      await server.cancel(run);
      assert.equal((await server.settled(run)).state, "CANCELLED");
      assert.ok((await hasReason) instanceof Error);
    });
  });

  test("a token opens its queues only", async () => {
    const refuses = (token: string, status: number): Promise<void> => {
      const worker = new Worker({ url: server.url, token, queues: ["of-others"], tasks: [], logger: () => {} });
      return assert.rejects(worker.run(), (thrown) => thrown instanceof ApiError && thrown.status === status);
    };
    const token = await server.workerToken("mine");
    await refuses(token, 403);
    await refuses("carillon_wrong", 401);
    await assert.rejects(new Program({ name: "no", tasks: [] }).deploy(server.url, token), DeployError);
  });

  test("a server that starts again is found", async () => {
    const survives = scheduled({ name: "survives", queue: "surviving", cron: "@daily" }, () => {});
    await new Program({ name: "surviving", tasks: [survives] }).deploy(server.url, server.deployer);
    await working(await server.workerToken("surviving"), [survives], async () => {
      assert.equal((await server.settled(await server.trigger("survives"))).state, "SUCCEEDED");
      await server.restart();
      assert.equal((await server.settled(await server.trigger("survives"))).state, "SUCCEEDED");
    });
  });

  test("a bad declaration changes nothing", async () => {
    const never = scheduled({ name: "never_deployed", queue: "a", cron: "0 25 * * *" }, () => {});
    const program = new Program({ name: "broken", tasks: [never] });
    await assert.rejects(program.deploy(server.url, server.deployer), /never_deployed/);
    assert.ok(!(await server.schedules()).includes("never_deployed"));
  });

  test("a rolling deploy loses and doubles nothing", async () => {
    const token = await server.workerToken("rolling");
    const index = JSON.stringify(new URL("../src/index.js", import.meta.url).href);
    const start = (version: string): ChildProcess => {
      const program = `
        import { fields as f, Program, scheduled, Worker } from ${index};
        const [url, deployer, token, version] = process.argv.slice(1);
        const common = { queue: "rolling", cron: "@daily", retry: { max_attempts: 5, initial: "10ms" } };
        scheduled({ ...common, name: "rolling", accepts: f.object({ number: f.integer() }) },
          ({ number }) => ({ number, version }));
        scheduled({ ...common, name: "only_in_" + version }, () => {});
        await new Program({ name: "rolled" }).deploy(url, deployer);
        await new Worker({ url, token, version, capacity: 4, logger: () => {} }).run();`;
      const args = ["--input-type=module", "--eval", program, server.url, server.deployer, token, version];
      return spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    };
    const end = async (child: ChildProcess): Promise<void> => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      assert.deepEqual(await exited, [0, null]);
    };
    const trigger = async (from: number, to: number): Promise<string[]> => {
      const runs = [];
      for (let number = from; number < to; number += 1) runs.push(await server.trigger("rolling", { number }));
      return runs;
    };
    const declared = async (names: string): Promise<void> => {
      const look = async () => (await server.schedules()).filter((name) => /^rolling$|^only_in/.test(name)).join();
      await until(look, (found) => found === names);
    };

    const children = [start("1")];
    try {
      await declared("only_in_1,rolling");
      const runs = await trigger(0, 20);
      children.push(start("2"));
      // The module that was deployed last wins, and the old program keeps working on its queue.
      await declared("only_in_2,rolling");
      runs.push(...(await trigger(20, 60)));
      await end(children[0] as ChildProcess);
      runs.push(...(await trigger(60, 80)));
      const found = [];
      for (const run of runs) found.push(await server.settled(run));
      await end(children[1] as ChildProcess);
      assert.ok(found.every(({ state, attempt }) => state === "SUCCEEDED" && attempt === 1));
      assert.deepEqual(
        found.map(({ output }) => output?.["number"]),
        Array.from({ length: 80 }, (_, number) => number),
      );
      // Once the old program has left, the new one does everything.
      assert.ok(found.slice(60).every(({ output }) => output?.["version"] === "2"));
    } finally {
      for (const child of children) child.kill("SIGKILL");
    }
  });
});
