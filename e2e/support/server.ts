import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const root = resolve(import.meta.dirname, "../..");
const binary = process.env.CARILLON_BINARY ?? join(root, "target/debug/carillon");
const dist = process.env.CARILLON_DIST ?? join(root, "dist");

export interface Person {
  name: string;
  password: string;
}

/**
 * A folder for temporary files, in memory if there is room: on a disk, servers would wait for it at each commit, of
 * which there are dozens a second. Containers often have only 64 MB of shared memory.
 */
function temporary(): string {
  const shared = "/dev/shm";
  try {
    accessSync(shared, constants.W_OK);
    const { bavail, bsize } = statfsSync(shared);
    return bavail * bsize > 2 ** 31 ? shared : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Creates a folder that the programs of tasks may enter, because they run as a different user. */
function openFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, "carillon-e2e-"));
  chmodSync(folder, 0o755);
  return folder;
}

/** The built binary as a server on a free port, with a fresh database in its own folder. */
export class Server {
  readonly folder: string;
  readonly log: string;
  private process?: ChildProcess;
  private port = 0;
  private token = "";

  private constructor(
    private readonly settings: Record<string, string>,
    parent: string,
  ) {
    this.folder = openFolder(parent);
    this.log = join(this.folder, "server.log");
  }

  /**
   * Starts a server, whose own folder is in `parent`. `settings` are additional settings, by the
   * names of their environment variables.
   */
  static async start(settings: Record<string, string> = {}, parent = temporary()): Promise<Server> {
    const server = new Server(settings, parent);
    server.port = await freePort();
    await server.launch();
    const token = ["token", "create", "e2e", "--role", "editor"];
    server.token = server.cli(token).trim();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Runs a command of the same binary on the same database or server; returns its output. */
  cli(args: string[], input?: string): string {
    return execFileSync(binary, args, {
      cwd: this.folder,
      env: this.environment(),
      input: input ?? "",
      encoding: "utf8",
      // Standard error appears in the error of a failed command, and not in the test report.
      stdio: "pipe",
    });
  }

  /** Sends a request to the API as another tool would, and returns the data of the answer. */
  async ask<T>(query: string, variables: object, token = this.token): Promise<T> {
    const answer = await fetch(`${this.url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await answer.json()) as { data: T; errors?: unknown };
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return data;
  }

  addPerson(name: string, role: string): Person {
    const password = `correct horse battery ${name}`;
    const add = ["user", "add", name, "--role", role, "--sees-payloads", "--password-stdin", "--own-password"];
    this.cli(add, `${password}\n`);
    return { name, password };
  }

  /** Adds a person with a one-time password. */
  addNewcomer(name: string, role: string): Person {
    const said = this.cli(["user", "add", name, "--role", role, "--random"]);
    const password = /^password: (\S+)$/m.exec(said)?.[1] ?? "";
    return { name, password };
  }

  /** Adds a person with a role in one namespace and no permissions anywhere else. */
  async addMember(name: string, role: string, namespace: string): Promise<Person> {
    const password = `correct horse battery ${name}`;
    const token = this.cli(["token", "create", `for-${name}`, "--role", "admin"]).trim();
    const create = `mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }`;
    await this.ask(create, { input: { name, password } }, token);
    // The person would have to replace a password that someone else set.
    this.cli(["user", "passwd", name, "--password-stdin", "--own-password"], `${password}\n`);
    this.cli(["member", "add", name, "--namespace", namespace, "--role", role]);
    return { name, password };
  }

  async stop(): Promise<void> {
    await this.halt();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Ends the process; `launch` starts another one on the same port and database. */
  async halt(): Promise<void> {
    const process = this.process;
    if (process && this.isRunning()) {
      const gone = new Promise((resolve) => process.once("exit", resolve));
      process.kill("SIGTERM");
      await gone;
    }
  }

  /** Suspends the process until `thaw` is called. */
  freeze(): void {
    this.process?.kill("SIGSTOP");
  }

  thaw(): void {
    if (this.isRunning()) {
      this.process?.kill("SIGCONT");
    }
  }

  async launch(): Promise<void> {
    const log = openSync(this.log, "a");
    this.process = spawn(binary, ["serve", "--allow-commands"], {
      cwd: this.folder,
      env: this.environment(),
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    await this.ready();
  }

  /**
   * Whether the process is running. A process that was ended by a signal has no exit code, only a
   * signal.
   */
  private isRunning(): boolean {
    return this.process?.exitCode === null && this.process.signalCode === null;
  }

  private environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH,
      HOME: this.folder,
      CARILLON_SERVER: this.url,
      CARILLON_TOKEN: this.token,
      CARILLON_LISTEN: `127.0.0.1:${this.port}`,
      CARILLON_DATABASE__URL: `sqlite:${join(this.folder, "carillon.db")}`,
      CARILLON_CONSOLE__DIST: dist,
      // The tests control runs through programs; without this setting, only the default namespace
      // may run them.
      CARILLON_COMMANDS__NAMESPACES: '["*"]',
      // A server that a test ends does not wait for the programs that it still runs.
      CARILLON_SHUTDOWN_GRACE: "1s",
      ...this.settings,
    };
  }

  private async ready(): Promise<void> {
    for (;;) {
      if (!this.isRunning()) {
        throw new Error(`the server ended:\n${readFileSync(this.log, "utf8")}`);
      }
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      await pause(50);
    }
  }
}

/** A port of this machine that is free now. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
