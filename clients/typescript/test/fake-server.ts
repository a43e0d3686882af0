/** A scripted server that speaks the protocol, for faults that a real server rarely has. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import type { GivenJob } from "../src/job.js";

type Body = Record<string, unknown>;

interface Scripted {
  status: number;
  body: Body;
  headers?: Record<string, string>;
}

/** The connection is closed instead of an answer. */
export const HANG_UP: Scripted = { status: 0, body: {} };

export function error(status: number, code: string, retryAfter?: string): Scripted {
  const headers = retryAfter === undefined ? {} : { "Retry-After": retryAfter };
  return { status, body: { error: { code, message: `says ${code}`, field: null } }, headers };
}

export function job(task: string, input: unknown = null, more: Partial<GivenJob> = {}): GivenJob {
  return {
    id: `job-${task}`,
    token: "fence-1",
    queue: "emails",
    task,
    input,
    timeoutSeconds: 300,
    run: {
      id: "run-1",
      attempt: 1,
      task: "main",
      namespace: "default",
      schedule: "nightly",
      scheduleId: "schedule-1",
      scheduleVersion: 3,
      scheduledAt: "2026-11-26T02:00:00Z",
      idempotencyKey: "key-1",
      traceparent: null,
    },
    ...more,
  };
}

export class FakeServer {
  readonly requests: { path: string; body: Body }[] = [];
  readonly scripted = new Map<string, Scripted[]>();
  registered = 0;
  heartbeatSeconds = 10;
  private jobs: GivenJob[] = [];
  private stopped: string[] = [];
  private isClosed = false;
  private readonly watchers = new Set<() => void>();
  private readonly http: Server;

  private constructor() {
    this.http = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const path = (request.url ?? "").replace("/worker/v1/", "");
        const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
        void this.answer(path, body, () => request.socket.destroyed).then(({ status, body, headers }) => {
          if (status === 0) request.socket.destroy();
          else response.writeHead(status, headers).end(JSON.stringify(body));
        });
      });
    });
  }

  static async start(): Promise<FakeServer> {
    const fake = new FakeServer();
    await new Promise<void>((resolve) => fake.http.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  script(path: string, ...answers: Scripted[]): void {
    this.scripted.set(path, [...(this.scripted.get(path) ?? []), ...answers]);
  }

  give(...jobs: GivenJob[]): void {
    this.jobs.push(...jobs);
    this.wake();
  }

  askToStop(id: string): void {
    this.stopped.push(id);
    this.wake();
  }

  bodies(path: string): Body[] {
    return this.requests.filter((each) => each.path === path).map(({ body }) => body);
  }

  async waitFor(path: string, count = 1): Promise<Body[]> {
    const came = await this.until(() => this.bodies(path).length >= count, 20_000);
    if (!came) throw new Error(`no ${count} requests to ${path} came: ${JSON.stringify(this.requests)}`);
    return this.bodies(path);
  }

  /** Waits until the condition holds; it is checked after each request. */
  async until(what: () => boolean, milliseconds: number): Promise<boolean> {
    const deadline = AbortSignal.timeout(milliseconds);
    // Such a signal alone does not keep the process alive.
    const keep = setInterval(() => {}, 1_000);
    try {
      while (!what()) {
        if (deadline.aborted) return false;
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            this.watchers.delete(wake);
            deadline.removeEventListener("abort", wake);
            resolve();
          };
          this.watchers.add(wake);
          deadline.addEventListener("abort", wake);
        });
      }
      return true;
    } finally {
      clearInterval(keep);
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.wake();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  private wake(): void {
    for (const watcher of [...this.watchers]) watcher();
  }

  private async answer(path: string, body: Body, isGone: () => boolean): Promise<Scripted> {
    this.requests.push({ path, body });
    this.wake();
    const scripted = this.scripted.get(path)?.shift();
    if (scripted !== undefined) return scripted;
    switch (path) {
      case "register":
        this.registered += 1;
        this.wake();
        return ok({
          workerId: `worker-${this.registered}`,
          leaseSeconds: 30,
          heartbeatSeconds: this.heartbeatSeconds,
          maxWaitSeconds: 20,
        });
      case "poll": {
        const isUnknown = (): boolean => body["workerId"] !== `worker-${this.registered}`;
        const hasNews = (): boolean => this.jobs.length + this.stopped.length > 0;
        await this.until(() => this.isClosed || isGone() || isUnknown() || hasNews(), 20_000);
        if (isGone()) return HANG_UP;
        if (isUnknown()) return error(404, "NOT_FOUND");
        const jobs = this.jobs.splice(0, body["free"] as number);
        return ok({ jobs, stop: this.stopped.splice(0), drain: false });
      }
      case "heartbeat":
        return ok({ lost: [], stop: this.stopped.splice(0), drain: false });
      case "extend":
        return ok({ leaseSeconds: body["seconds"] });
      default:
        return ok({});
    }
  }
}

function ok(body: Body): Scripted {
  return { status: 200, body };
}
