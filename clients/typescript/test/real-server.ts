import { randomUUID } from "node:crypto";
/** The built server, on a free port of the loopback, with a database in a temporary folder. */

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, closeSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const PATIENCE = 60_000;

export interface FoundRun {
  state: string;
  error: string | null;
  output: Record<string, unknown> | null;
  attempt: number;
}

export class RealServer {
  url = "";
  deployer = "";
  private readonly folder = mkdtempSync(join(tmpdir(), "carillon-client-"));
  private process: ChildProcess | undefined;

  private constructor(private readonly binary: string) {}

  static async start(binary: string): Promise<RealServer> {
    const server = new RealServer(binary);
    await server.serve("127.0.0.1:0");
    server.deployer = (await server.cli("token", "create", "deployer", "--role", "admin")).trim();
    return server;
  }

  /** Stops the server, and starts it again at the same address. */
  async restart(): Promise<void> {
    await this.stop();
    await this.serve(new URL(this.url).host);
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async serve(listen: string): Promise<void> {
    const logPath = join(this.folder, "server.log");
    const log = openSync(logPath, "a");
    const child = spawn(this.binary, ["serve", "--listen", listen], {
      cwd: this.folder,
      env: this.environment(),
      stdio: ["ignore", "pipe", log],
    });
    closeSync(log);
    this.process = child;
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const url = /^Carillon is ready at (.*)$/.exec(line)?.[1];
      if (url === undefined) continue;
      this.url = url;
      // A full pipe would block the server.
      child.stdout?.resume();
      return;
    }
    throw new Error(`the server did not start:\n${readFileSync(logPath, "utf8")}`);
  }

  private async stop(): Promise<void> {
    if (this.process?.exitCode === null && this.process.signalCode === null) {
      const gone = once(this.process, "exit");
      this.process.kill("SIGTERM");
      await gone;
    }
  }

  /** A token that gives access to these queues and nothing else. */
  async workerToken(...queues: string[]): Promise<string> {
    const create = "mutation ($input: CreateApiTokenInput!) { createApiToken(input: $input) { secret } }";
    const name = `worker-${randomUUID()}`;
    const account = `mutation ($input: CreateServiceAccountInput!) {
      createServiceAccount(input: $input) { user { id } } }`;
    await this.ask(account, { input: { name, role: "OPERATOR" } });
    const input = { name, role: "OPERATOR", namespace: "default", queues, serviceAccount: name };
    return (await this.ask<{ createApiToken: { secret: string } }>(create, { input })).createApiToken.secret;
  }

  async schedules(): Promise<string[]> {
    type Found = { schedules: { nodes: { name: string }[] } };
    const { schedules } = await this.ask<Found>("{ schedules(first: 50) { nodes { name } } }", {});
    return schedules.nodes.map(({ name }) => name).sort();
  }

  async trigger(name: string, context: Record<string, unknown> = {}): Promise<string> {
    type Found = { schedule: { id: string } };
    const find = "query ($name: String!) { schedule(name: $name) { id } }";
    const { id } = (await this.ask<Found>(find, { name })).schedule;
    const trigger = `mutation ($id: UUID!, $context: JSON) {
      triggerSchedule(id: $id, context: $context) { run { id } } }`;
    type Triggered = { triggerSchedule: { run: { id: string } } };
    return (await this.ask<Triggered>(trigger, { id, context })).triggerSchedule.run.id;
  }

  async cancel(id: string): Promise<void> {
    await this.ask("mutation ($id: UUID!) { cancelRun(id: $id) { run { id } } }", { id });
  }

  async settled(id: string): Promise<FoundRun> {
    const query = "query ($id: UUID!) { run(id: $id) { state error output attempt } }";
    const settled = ["SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED"];
    return until(
      async () => (await this.ask<{ run: FoundRun }>(query, { id })).run,
      ({ state }) => settled.includes(state),
    );
  }

  async logOf(id: string): Promise<string[]> {
    const query = "query ($id: UUID!) { taskLog(runId: $id, first: 100) { nodes { stream text } } }";
    type Found = { taskLog: { nodes: { stream: string; text: string }[] } };
    return (await this.ask<Found>(query, { id })).taskLog.nodes.map(({ stream, text }) => `${stream} ${text}`);
  }

  private async cli(...args: string[]): Promise<string> {
    const options = { cwd: this.folder, env: { ...this.environment(), CARILLON_SERVER: this.url } };
    return (await promisify(execFile)(this.binary, args, options)).stdout;
  }

  private async ask<T>(query: string, variables: object): Promise<T> {
    const answer = await fetch(`${this.url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${this.deployer}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await answer.json()) as { data: T; errors?: unknown };
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return data;
  }

  private environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env["PATH"],
      HOME: this.folder,
      CARILLON_DATABASE__URL: `sqlite:${join(this.folder, "carillon.db")}`,
    };
  }
}

/** Polls until the condition holds. */
export async function until<T>(look: () => Promise<T>, isSo: (found: T) => boolean): Promise<T> {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (isSo(found)) return found;
    if (Date.now() > deadline) throw new Error(`it did not come to be: ${JSON.stringify(found)}`);
    await sleep(50);
  }
}
