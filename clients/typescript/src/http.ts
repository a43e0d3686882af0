/** JSON over HTTP, with retries while they can help. */

import { setTimeout as sleep } from "node:timers/promises";

import { ApiError, CarillonError } from "./errors.js";
import { CLIENT } from "./version.js";

const FIRST_DELAY = 200;
const LONGEST_DELAY = 15_000;
const MAX_RETRY_AFTER = 300;
const TIMEOUT = 30_000;

/** The delay in milliseconds after this many failures in a row. */
export function delayAfter(failures: number, error?: unknown): number {
  const longest = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(failures, 16));
  const retryAfter = error instanceof ApiError ? error.retryAfter : undefined;
  // Add jitter, so that workers that got the same answer do not all return at once.
  if (retryAfter !== undefined) return retryAfter * 1000 + Math.random() * longest;
  return longest / 2 + (Math.random() * longest) / 2;
}

/** Whether the same request may succeed later: there was no answer, or a temporary error. */
export function isPassing(error: unknown): boolean {
  return !(error instanceof ApiError) || error.isPassing;
}

export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // fetch only says "fetch failed"; the reason is in its cause.
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error.message}${cause}`;
}

/** Waits; returns false if the signal came first. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(milliseconds, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

export class Http {
  private readonly base: string;

  constructor(
    url: string,
    private readonly token: string,
  ) {
    if (!/^https?:\/\/[^/]/.test(url)) {
      throw new CarillonError(`the server's address must be http(s)://HOST, and is ${JSON.stringify(url)}`);
    }
    this.base = url.replace(/\/+$/, "");
  }

  /** One request. */
  async post(path: string, body: unknown, timeout = TIMEOUT, signal?: AbortSignal): Promise<Answer> {
    const late = AbortSignal.timeout(timeout);
    const answer = await fetch(this.base + path, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${this.token}`,
        "Content-Type": "application/json",
        "User-Agent": CLIENT,
      },
      body: JSON.stringify(body),
      // The token is for this server, not for one that it redirects to.
      redirect: "error",
      signal: signal === undefined ? late : AbortSignal.any([late, signal]),
    });
    const text = await answer.text();
    let said: unknown;
    try {
      said = text === "" ? {} : JSON.parse(text);
    } catch {
      said = undefined;
    }
    if (answer.ok && typeof said === "object" && said !== null) return said as Answer;
    if (answer.ok) throw new Error(`the answer ${answer.status} is not JSON`);
    throw errorOf(answer, said);
  }

  /**
   * Repeats a request until it is answered; throws the last error once `givenUp` is aborted. Each
   * request may take this many milliseconds.
   */
  async call(
    path: string,
    body: unknown,
    givenUp: AbortSignal,
    onFailure: (problem: string, delay: number) => void = () => {},
    timeout = TIMEOUT,
  ): Promise<Answer> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.post(path, body, timeout);
      } catch (error) {
        if (!isPassing(error)) throw error;
        const delay = delayAfter(failures, error);
        onFailure(textOf(error), delay);
        if (!(await pause(delay, givenUp))) throw error;
      }
    }
  }
}

/** Any answer of the server; each caller knows the fields that it needs. */
export interface Answer {
  readonly [field: string]: unknown;
}

function errorOf(answer: Response, said: unknown): ApiError {
  const error = errorIn(said);
  const header = answer.headers.get("Retry-After");
  const seconds = header !== null && /^\d+$/.test(header) ? Math.min(Number(header), MAX_RETRY_AFTER) : undefined;
  return new ApiError(
    answer.status,
    String(error["code"] ?? `HTTP_${answer.status}`),
    String(error["message"] ?? `the server answered with status ${answer.status}`),
    typeof error["field"] === "string" ? error["field"] : undefined,
    seconds,
  );
}

/** The error in an answer of the protocol or of GraphQL. */
function errorIn(said: unknown): Record<string, unknown> {
  type Said = {
    error?: Record<string, unknown>;
    errors?: { message?: unknown; extensions?: { code?: unknown } }[];
  };
  const { error, errors } = (said ?? {}) as Said;
  const first = errors?.[0];
  return error ?? (first === undefined ? {} : { code: first.extensions?.code, message: first.message });
}
