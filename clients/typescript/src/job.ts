/** A job that this worker holds: its context, its function, and its outcome. */

import type { AnyTask } from "./declare.js";
import { ApiError, CarillonError, Permanent } from "./errors.js";
import { readInput } from "./fields.js";
import type { Http } from "./http.js";
import { inBytes, JobLog, type Line, type Stream } from "./joblog.js";

const MAX_MESSAGE_BYTES = 4 * 1024;
const LOG_PATIENCE = 10_000;

/** A function's view of the job that it works on. */
export interface Context {
  readonly jobId: string;
  readonly runId: string;
  /** The first attempt is 1. */
  readonly attempt: number;
  /** The name of the task in its workflow, which may differ from the function's. */
  readonly task: string;
  readonly queue: string;
  readonly namespace: string;
  /** The schedule's name, or null for a run by hand. */
  readonly schedule: string | null;
  /** The schedule's id, which it keeps when it is renamed, or null for a run without a schedule. */
  readonly scheduleId: string | null;
  /** The schedule's version when the attempt started, or null for a run without a schedule. */
  readonly scheduleVersion: number | null;
  /** The scheduled instant of the run; null for a run by hand. */
  readonly scheduledAt: Date | null;
  /** The same for each attempt, so that an effect can be made to happen only once. */
  readonly idempotencyKey: string;
  readonly traceparent: string | null;
  readonly timeoutSeconds: number;
  /**
   * Aborted when the work should stop: the run was cancelled or timed out, another worker has the
   * job, or this worker's grace period is over.
   */
  readonly signal: AbortSignal;
  /** Writes to the log of the run. Lines are sent in batches, all of them before the job ends. */
  log(text: string, stream?: Stream): void;
  /** Keeps the job this long without heartbeats; returns how many seconds the server granted. */
  extend(seconds: number): Promise<number>;
}

/** A job as the server hands it over. */
export interface GivenJob {
  id: string;
  token: string;
  queue: string;
  task: string;
  input?: unknown;
  timeoutSeconds: number;
  run: {
    id: string;
    attempt: number;
    task: string;
    namespace: string;
    schedule?: string | null;
    scheduleId?: string | null;
    scheduleVersion?: number | null;
    scheduledAt?: string | null;
    idempotencyKey: string;
    traceparent?: string | null;
  };
}

/** What to report about a job that has ended. */
export interface Ending {
  path: "complete" | "fail";
  body: Record<string, unknown>;
}

export class Job {
  readonly log: JobLog;
  isLost = false;
  private readonly stopped = new AbortController();

  constructor(
    private readonly given: GivenJob,
    private readonly http: Http,
    private readonly workerId: string,
  ) {
    // Check now what is read later.
    for (const text of [given.id, given.token, given.task, given.run.id]) {
      if (typeof text !== "string") throw new TypeError("a job without id, token, task or run");
    }
    this.log = new JobLog((lines) => this.sendLines(lines));
  }

  get id(): string {
    return this.given.id;
  }

  get token(): string {
    return this.given.token;
  }

  get task(): string {
    return this.given.task;
  }

  /** Asks the function to end. */
  stop(reason: string): void {
    this.stopped.abort(new CarillonError(reason));
  }

  /** The job is lost: its result is no longer wanted. */
  lose(): void {
    this.isLost = true;
    this.log.close();
    this.stop("the job now belongs to another worker");
  }

  /** Runs the function; returns what to report. */
  async work(task: AnyTask | undefined): Promise<Ending> {
    if (task === undefined) {
      const problem =
        `this worker has no task named "${this.task}"; ` +
        "during a rolling deploy another one may have it";
      return this.failed(problem, true);
    }
    let output: unknown;
    try {
      const given = this.given.input ?? {};
      const input: unknown = task.accepts === undefined ? given : await readInput(task.accepts, given);
      output = await task.run(input, this.context());
    } catch (error) {
      if (error instanceof Permanent) return this.failed(error.message, false);
      this.log.add("stderr", error instanceof Error ? (error.stack ?? error.message) : String(error));
      return this.failed(String(error), true);
    }
    try {
      return { path: "complete", body: this.body({ output: JSON.parse(JSON.stringify(output ?? null)) as unknown }) };
    } catch (error) {
      return this.failed(`what ${this.task} gave back is not JSON: ${String(error)}`, false);
    }
  }

  body(more: Record<string, unknown>): Record<string, unknown> {
    return { workerId: this.workerId, id: this.id, token: this.token, ...more };
  }

  /** The report of a failure. */
  failed(problem: string, retry: boolean): Ending {
    // The server accepts no empty message.
    const text = problem.trim() === "" ? "the function gave no reason" : problem;
    const message = inBytes(text.replaceAll("\0", "\ufffd"), MAX_MESSAGE_BYTES);
    return { path: "fail", body: this.body({ message, retry }) };
  }

  private context(): Context {
    const { run } = this.given;
    return {
      jobId: this.id,
      runId: run.id,
      attempt: run.attempt,
      task: run.task,
      queue: this.given.queue,
      namespace: run.namespace,
      schedule: run.schedule ?? null,
      scheduleId: run.scheduleId ?? null,
      scheduleVersion: run.scheduleVersion ?? null,
      scheduledAt: run.scheduledAt ? new Date(run.scheduledAt) : null,
      idempotencyKey: run.idempotencyKey,
      traceparent: run.traceparent ?? null,
      timeoutSeconds: this.given.timeoutSeconds,
      signal: this.stopped.signal,
      log: (text, stream = "stdout") => this.log.add(stream, text),
      extend: (seconds) => this.extend(seconds),
    };
  }

  private async extend(seconds: number): Promise<number> {
    try {
      const answer = await this.http.post("/worker/v1/extend", this.body({ seconds: Math.round(seconds) }));
      return Number(answer["leaseSeconds"]);
    } catch (error) {
      if (error instanceof ApiError && error.isGone) this.lose();
      throw error;
    }
  }

  private async sendLines(lines: Line[]): Promise<void> {
    try {
      const givenUp = AbortSignal.timeout(LOG_PATIENCE);
      await this.http.call("/worker/v1/log", this.body({ lines }), givenUp, undefined, LOG_PATIENCE);
    } catch (error) {
      // Otherwise these lines are lost: the result of the job matters more.
      if (error instanceof ApiError && error.isGone) this.lose();
    }
  }
}
