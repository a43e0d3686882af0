/** A worker: it pulls jobs, runs their functions, and reports their outcomes to the server. */

import { hostname } from "node:os";

import { collect, type AnyTask } from "./declare.js";
import { ApiError, CarillonError } from "./errors.js";
import { delayAfter, Http, isPassing, pause, textOf, type Answer } from "./http.js";
import { Job, type Ending, type GivenJob } from "./job.js";
import { CLIENT, PROTOCOL } from "./version.js";

const LOG_INTERVAL = 1_000;
/** How many milliseconds the remaining log lines of a job may take after its end. */
const LAST_LINES = 10_000;
const LEAVE_PATIENCE = 5_000;
const END_OF_POLL = 100;
const LATEST_END_OF_POLL = 2_000;

export interface WorkerOptions {
  url: string;
  token: string;
  /** Defaults to host and process. */
  name?: string;
  namespace?: string;
  /** Defaults to the queues of the tasks. */
  queues?: string[];
  tags?: string[];
  /** Maximum number of jobs at once; defaults to 8. */
  capacity?: number;
  version?: string;
  /** Grace period for the current jobs, in seconds, after a request to stop; defaults to 30. */
  grace?: number;
  /** Defaults to all that are declared. */
  tasks?: Iterable<AnyTask>;
  /** Receives the worker's messages; defaults to standard error. */
  logger?: (message: string) => void;
}

interface Registration {
  workerId: string;
  heartbeatMs: number;
  maxWaitSeconds: number;
}

/** `run()` works until the process is asked to stop, or until `stop()`. A worker runs once. */
export class Worker {
  private readonly http: Http;
  private readonly tasks: Map<string, AnyTask>;
  private readonly registration: Record<string, unknown>;
  private readonly capacity: number;
  private readonly graceMs: number;
  private readonly say: (message: string) => void;
  private readonly jobs = new Map<string, Job>();
  /** Called whenever a job ends. */
  private readonly waiting = new Set<() => void>();
  /** Asked to stop: no more polls. */
  private readonly stopping = new AbortController();
  /** Everything is reported, or the grace period is over: no more requests. */
  private readonly ended = new AbortController();
  private readonly pollEnds = new AbortController();
  private current: Registration | undefined;
  private registering: Promise<Registration | undefined> | undefined;
  private fatal: unknown;

  constructor(options: WorkerOptions) {
    this.http = new Http(options.url, options.token);
    this.tasks = collect(options.tasks);
    this.capacity = options.capacity ?? 8;
    this.graceMs = (options.grace ?? 30) * 1000;
    this.say = options.logger ?? ((message) => console.error(`carillon: ${message}`));
    const queues = options.queues ?? [...new Set([...this.tasks.values()].map((task) => task.queue))].sort();
    if (!Number.isInteger(this.capacity) || this.capacity < 1) {
      throw new CarillonError(`capacity must be a whole number of at least 1, and is ${this.capacity}`);
    }
    if (queues.length === 0) {
      throw new CarillonError("a worker without queues: declare a task, or name the queues");
    }
    this.registration = {
      protocol: PROTOCOL,
      namespace: options.namespace ?? "default",
      name: options.name ?? `${hostname()}-${process.pid}`,
      queues,
      tags: options.tags ?? [],
      capacity: this.capacity,
      version: options.version ?? "",
      client: CLIENT,
    };
  }

  /** Asks it to stop, as SIGTERM does: no new jobs, a grace period for current ones, then leave. */
  stop(): void {
    this.stopping.abort();
    // Once the server knows that this worker takes no more jobs, those handed out before arrive,
    // and the open poll ends; at the latest now.
    this.endPollIn(LATEST_END_OF_POLL);
  }

  /** Works until it is asked to stop. Throws permanent errors. */
  async run(): Promise<void> {
    const stop = (): void => this.stop();
    process.on("SIGTERM", stop).on("SIGINT", stop);
    try {
      if ((await this.register(undefined)) !== undefined) {
        const beating = this.beat();
        const flushing = setInterval(() => {
          for (const job of this.jobs.values()) void job.log.flush();
        }, LOG_INTERVAL);
        // Its error is thrown where it is awaited, and must not be an unhandled rejection before
        // that.
        beating.catch(() => undefined);
        try {
          await this.poll();
          await this.drain();
        } finally {
          clearInterval(flushing);
          this.ended.abort();
        }
        await Promise.all([beating, this.leave()]);
      }
    } finally {
      this.ended.abort();
      process.off("SIGTERM", stop).off("SIGINT", stop);
    }
    if (this.fatal !== undefined) throw this.fatal;
  }

  private async poll(): Promise<void> {
    const { signal } = this.stopping;
    let failures = 0;
    while (!signal.aborted) {
      if (this.jobs.size >= this.capacity) {
        await this.aJobEnds(signal);
        continue;
      }
      const me = this.current;
      if (me === undefined) return;
      const body = {
        workerId: me.workerId,
        free: this.capacity - this.jobs.size,
        waitSeconds: Math.floor(me.maxWaitSeconds),
        // Other jobs that were handed out were lost on the way, and are handed out again.
        jobs: [...this.jobs.keys()],
      };
      try {
        const timeout = (me.maxWaitSeconds + 15) * 1000;
        const answer = await this.http.post("/worker/v1/poll", body, timeout, this.pollEnds.signal);
        for (const given of (answer["jobs"] ?? []) as GivenJob[]) this.accept(given, me);
        this.stopJobs(answer);
        // The server is stopping: another one answers next, or this one when it is back.
        if (answer["drain"] !== true) failures = 0;
        else await pause(delayAfter(failures++), signal);
      } catch (error) {
        if (signal.aborted || (await this.recovers(error, me))) continue;
        await this.pauseAfter("poll", error, failures++, signal, Infinity);
      }
    }
  }

  private async beat(): Promise<void> {
    let failures = 0;
    let isDraining = false;
    let delay = this.current?.heartbeatMs ?? 0;
    for (;;) {
      // Announce draining at once.
      const until = isDraining ? [this.ended.signal] : [this.ended.signal, this.stopping.signal];
      await pause(delay, AbortSignal.any(until));
      const me = this.current;
      if (this.ended.signal.aborted || me === undefined) return;
      isDraining = this.stopping.signal.aborted;
      delay = me.heartbeatMs;
      const jobs = [...this.jobs.values()].map(({ id, token }) => ({ id, token }));
      const body = { workerId: me.workerId, jobs, draining: isDraining };
      try {
        const answer = await this.http.post("/worker/v1/heartbeat", body, me.heartbeatMs, this.ended.signal);
        for (const id of (answer["lost"] ?? []) as string[]) this.jobs.get(id)?.lose();
        this.stopJobs(answer);
        failures = 0;
        if (isDraining) this.endPollIn(END_OF_POLL);
      } catch (error) {
        if (this.ended.signal.aborted || (await this.recovers(error, me))) continue;
        // A lease is renewed in time, whatever the backoff.
        await this.pauseAfter("heartbeat", error, failures++, this.ended.signal, me.heartbeatMs);
        delay = 0;
      }
    }
  }

  /** Registers, unless that has happened since `stale`. */
  private register(stale: Registration | undefined): Promise<Registration | undefined> {
    if (this.current !== stale) return Promise.resolve(this.current);
    this.registering ??= this.registerAgain(stale).finally(() => (this.registering = undefined));
    return this.registering;
  }

  private async registerAgain(stale: Registration | undefined): Promise<Registration | undefined> {
    let answer: Answer;
    try {
      answer = await this.http.call(
        "/worker/v1/register",
        this.registration,
        this.stopping.signal,
        (problem, delay) => this.tell("register", problem, delay),
      );
    } catch (error) {
      if (!isPassing(error)) this.endWith(error);
      return undefined;
    }
    // The server has given its jobs to other workers.
    if (stale !== undefined) for (const job of this.jobs.values()) job.lose();
    const [heartbeat, wait] = [Number(answer["heartbeatSeconds"]), Number(answer["maxWaitSeconds"])];
    if (!(heartbeat > 0) || !(wait >= 0)) {
      this.endWith(new CarillonError("the answer to the registration cannot be read: is this a Carillon server?"));
      return undefined;
    }
    this.current = {
      workerId: String(answer["workerId"]),
      heartbeatMs: heartbeat * 1000,
      maxWaitSeconds: wait,
    };
    this.say(`registered as worker ${this.current.workerId}`);
    return this.current;
  }

  /** Handles an error of a poll or a heartbeat; returns false to wait and try again. */
  private async recovers(error: unknown, me: Registration): Promise<boolean> {
    if (isPassing(error) || !(error instanceof ApiError)) return false;
    if (error.status !== 404) {
      // The worker no longer takes part, and the outcome of its jobs cannot be reported.
      for (const job of this.jobs.values()) job.lose();
      this.endWith(error);
      return true;
    }
    if (this.stopping.signal.aborted) {
      for (const job of this.jobs.values()) job.lose();
      return false;
    }
    if (this.current === me) this.say("the server has declared this worker lost; registering again");
    await this.register(me);
    return true;
  }

  private accept(given: GivenJob, me: Registration): void {
    let job: Job;
    try {
      job = new Job(given, this.http, me.workerId);
    } catch (error) {
      // Its lease expires, and the server gives it to another worker.
      this.say(`a job that cannot be read: ${textOf(error)}`);
      return;
    }
    const there = this.jobs.get(job.id);
    // Handed out again because the first answer seemed to be lost.
    if (there?.token === job.token) return;
    there?.lose();
    this.jobs.set(job.id, job);
    void this.carryOut(job);
  }

  private async carryOut(job: Job): Promise<void> {
    try {
      const ending = await job.work(this.tasks.get(job.task));
      // The outcome of the job does not wait for all of its log lines.
      await job.log.flush(LAST_LINES);
      if (!job.isLost) await this.report(job, ending);
    } catch (error) {
      // A bug in this package must cost one job, and not the worker. The server hands out a job again
      // that is not reported.
      this.say(`job ${job.id} of ${job.task}: ${textOf(error)}`);
      await this.report(job, job.failed(`the worker could not report it: ${textOf(error)}`, true));
    } finally {
      if (this.jobs.get(job.id) === job) this.jobs.delete(job.id);
      for (const wake of this.waiting) wake();
    }
  }

  private async report(job: Job, ending: Ending): Promise<void> {
    try {
      await this.http.call(`/worker/v1/${ending.path}`, ending.body, this.ended.signal, (problem, delay) =>
        this.tell(ending.path, problem, delay),
      );
    } catch (error) {
      if (!(error instanceof ApiError) || isPassing(error)) {
        this.say(`job ${job.id}: ${ending.path} was not told: ${textOf(error)}`);
      } else if (ending.path === "complete" && (error.status === 400 || error.status === 413)) {
        // For example, an output that is too large. Another attempt would return the same.
        const message = `the server refused the output: ${error.problem}`;
        await this.report(job, { path: "fail", body: job.body({ message, retry: false }) });
      } else if (!error.isGone) {
        this.say(`job ${job.id}: ${ending.path}: ${error.message}`);
      }
    }
  }

  private async drain(): Promise<void> {
    if (this.jobs.size > 0) this.say(`draining: ${this.jobs.size} jobs at hand`);
    if (await this.allJobsEnd(this.graceMs)) return;
    this.say(`the grace is over: ${this.jobs.size} jobs are given up`);
    for (const job of this.jobs.values()) job.stop("the worker ends");
    // Jobs that respond to it can still report their outcome.
    await this.allJobsEnd(LEAVE_PATIENCE);
  }

  private async leave(): Promise<void> {
    const workerId = this.current?.workerId;
    if (this.fatal !== undefined) return;
    const patience = AbortSignal.timeout(LEAVE_PATIENCE);
    for (let failures = 0; ; failures += 1) {
      try {
        await this.http.post("/worker/v1/leave", { workerId, jobs: [...this.jobs.keys()] }, LEAVE_PATIENCE, patience);
        return;
      } catch (error) {
        if (isPassing(error) && (await pause(delayAfter(failures), patience))) continue;
        // Its leases expire on their own.
        this.say(`leave: ${textOf(error)}`);
        return;
      }
    }
  }

  private async allJobsEnd(milliseconds: number): Promise<boolean> {
    const late = AbortSignal.any([AbortSignal.timeout(milliseconds), this.ended.signal]);
    while (this.jobs.size > 0 && !late.aborted) await this.aJobEnds(late);
    return this.jobs.size === 0;
  }

  private async aJobEnds(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.waiting.add(wake);
      signal.addEventListener("abort", wake);
    });
  }

  private stopJobs(answer: Answer): void {
    for (const id of (answer["stop"] ?? []) as string[]) this.jobs.get(id)?.stop("cancelled by the server");
  }

  private endWith(error: unknown): void {
    this.fatal ??= error;
    this.say(textOf(error));
    this.stop();
  }

  private async pauseAfter(
    what: string,
    error: unknown,
    failures: number,
    signal: AbortSignal,
    longest: number,
  ): Promise<void> {
    const delay = Math.min(delayAfter(failures, error), longest);
    this.tell(what, textOf(error), delay);
    await pause(delay, signal);
  }

  private endPollIn(milliseconds: number): void {
    setTimeout(() => this.pollEnds.abort(), milliseconds).unref();
  }

  private tell(what: string, problem: string, delay: number): void {
    this.say(`${what}: ${problem}; trying again in ${(delay / 1000).toFixed(1)} s`);
  }
}
