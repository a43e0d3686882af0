import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

import { expect, test } from "@playwright/test";
import { Client, cacheExchange, fetchExchange, gql, subscriptionExchange } from "@urql/core";
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  lexicographicSortSchema,
  parse,
  printSchema,
  type DefinitionNode,
  type DocumentNode,
  type GraphQLSchema,
  type IntrospectionQuery,
} from "graphql";
import { createClient, type Client as Socket } from "graphql-ws";
import { WebSocket } from "ws";

import { compile, operationTypes, schemaTypes } from "../support/codegen.ts";
import { Server } from "../support/server.ts";

// These tests use no browser: they run widely used client programs against the built binary.

let server: Server;
let token: string;

test.beforeAll(async () => {
  server = await Server.start();
  token = server.cli(["token", "create", "clients", "--role", "editor"]).trim();
});

test.afterAll(() => server.stop());

function socket(): Socket {
  return createClient({
    url: `${server.url.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { token },
    retryAttempts: 0,
  });
}

/** Returns the first event that matches, and ends the subscription. */
async function first<T>(events: AsyncIterable<{ data?: T | null }>, fits: (data: T) => boolean) {
  for await (const { data } of events) {
    if (data && fits(data)) return data;
  }
  throw new Error("the subscription ended");
}

test("urql queries, mutates and subscribes", async () => {
  const live = socket();
  const client = new Client({
    url: `${server.url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { Authorization: `Bearer ${token}` } },
    exchanges: [
      cacheExchange,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: (request) => ({
          subscribe: (sink) => ({
            unsubscribe: live.subscribe({ ...request, query: request.query ?? "" }, sink),
          }),
        }),
      }),
    ],
  });

  const make = gql`
    mutation ($input: CreateScheduleInput!) {
      createSchedule(input: $input) {
        schedule { id name state }
      }
    }
  `;
  const input = {
    name: "urql",
    tags: ["clients"],
    timing: { expressions: ["@daily"] },
    task: { target: { noop: {} } },
  };
  const made = await client.mutation(make, { input });
  expect(made.error).toBeUndefined();
  const { schedule } = made.data.createSchedule;
  expect(schedule).toMatchObject({ name: "urql", state: "ACTIVE" });

  const list = gql`
    query ($search: String!) {
      schedules(search: $search) { totalCount nodes { id } }
    }
  `;
  const found = await client.query(list, { search: "tag:clients state:active" });
  expect(found.data?.schedules).toMatchObject({ totalCount: 1, nodes: [{ id: schedule.id }] });
  const refused = await client.query(list, { search: "stat:active" });
  expect(refused.error?.graphQLErrors[0]?.extensions).toMatchObject({
    code: "BAD_USER_INPUT",
    field: "search",
    start: 0,
    end: 4,
  });

  const settled = new Promise<string>((resolve, reject) => {
    const follow = gql`
      subscription ($id: UUID!) {
        runEvents(scheduleId: $id, since: "-1.00000000000000000000000000000000") {
          cursor
          run { state }
        }
      }
    `;
    client.subscription(follow, { id: schedule.id }).subscribe(({ data, error }) => {
      if (error) reject(error);
      if (data?.runEvents.run.state === "SUCCEEDED") resolve(data.runEvents.run.state);
    });
  });
  const trigger = gql`
    mutation ($id: UUID!) {
      triggerSchedule(id: $id) { run { id } }
    }
  `;
  expect((await client.mutation(trigger, { id: schedule.id })).error).toBeUndefined();
  expect(await settled).toBe("SUCCEEDED");
  await live.dispose();
});

test("graphql-ws comes back with its cursor and goes on where it was", async () => {
  const make = `mutation ($input: CreateScheduleInput!) {
    createSchedule(input: $input) { schedule { id } } }`;
  const input = {
    name: "graphql-ws",
    timing: { expressions: ["@daily"] },
    task: { target: { noop: {} } },
  };
  type Made = { createSchedule: { schedule: { id: string } } };
  const { id } = (await server.ask<Made>(make, { input })).createSchedule.schedule;
  type Event = { scheduleEvents: { cursor: string; schedule: { state: string } | null } };
  const query = `subscription ($ids: [UUID!], $since: String) {
    scheduleEvents(ids: $ids, since: $since) { cursor schedule { state } } }`;
  const start = "-1.00000000000000000000000000000000";

  const before = socket();
  const variables = { ids: [id], since: start };
  const active = await first(before.iterate<Event>({ query, variables }), () => true);
  expect(active.scheduleEvents.schedule?.state).toBe("ACTIVE");
  await before.dispose();

  // The change happens while no client is subscribed.
  const pause = `mutation ($id: UUID!) { pauseSchedule(id: $id, reason: "x") { schedule { id } } }`;
  await server.ask(pause, { id });

  const after = socket();
  const since = active.scheduleEvents.cursor;
  const next = after.iterate<Event>({ query, variables: { ids: [id], since } });
  const paused = await first(next, () => true);
  expect(paused.scheduleEvents.schedule?.state).toBe("PAUSED");
  await after.dispose();
});

/** The schema of the server, by introspection. */
async function introspected(): Promise<GraphQLSchema> {
  const query = getIntrospectionQuery({
    descriptions: true,
    inputValueDeprecation: true,
    oneOf: true,
    specifiedByUrl: true,
  });
  return buildClientSchema(await server.ask<IntrospectionQuery>(query, {}));
}

test("introspection tells the schema that is published", async () => {
  const file = new URL("../../server/schema.graphql", import.meta.url);
  const published = buildSchema(readFileSync(file, "utf8"));
  const text = (schema: GraphQLSchema) => printSchema(lexicographicSortSchema(schema));
  expect(text(await introspected())).toBe(text(published));
});

/** The console's operations, with each fragment included once. */
function operations(): DocumentNode {
  const folder = new URL("../../frontend/graphql/", import.meta.url);
  const texts = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8"));
  const all = texts.flatMap((text) => parse(text).definitions);
  const name = (definition: DefinitionNode) =>
    "name" in definition ? `${definition.kind} ${definition.name?.value}` : "";
  const once = new Map(all.map((definition) => [name(definition), definition]));
  return { kind: "Document" as DocumentNode["kind"], definitions: [...once.values()] };
}

/** Code that uses the types correctly. */
const USE = `
import type { CreateScheduleMutationVariables, RunsQuery } from "./operations.ts";
import type { Run, RunState, RunConnection } from "./schema.ts";

export const longest = (runs: RunConnection): number =>
  Math.max(...runs.nodes.map((run: Run) => run.durationMs ?? 0));

export const failed = ({ runs }: RunsQuery): string[] =>
  runs.nodes.filter(({ state }) => state === ("FAILED" satisfies RunState)).map(({ id }) => id);

export const nightly: CreateScheduleMutationVariables["input"] = {
  name: "nightly",
  timing: { expressions: ["0 2 * * *"] },
  task: { target: { noop: {} } },
};
`;
/** Code that uses the types wrongly. */
const MISUSE = `
import type { RunsQuery } from "./operations.ts";
import type { Run, RunState } from "./schema.ts";

export const text = (run: Run): string => run.durationMs ?? "";
export const state: RunState = "BROKEN";
export const unasked = ({ runs }: RunsQuery) => runs.nodes.map((run) => run.idempotencyKey);
`;

test("a code generator makes types of what introspection tells, and they compile", async () => {
  const schema = await introspected();
  const types = {
    "schema.ts": await schemaTypes(schema),
    "operations.ts": await operationTypes(schema, operations()),
  };
  expect(compile({ ...types, "use.ts": USE })).toEqual([]);
  expect(compile({ ...types, "misuse.ts": MISUSE })).toEqual([
    expect.stringMatching(/^misuse.ts:5: Type 'number \| ""' is not assignable/),
    expect.stringMatching(/^misuse.ts:6: Type '"BROKEN"' is not assignable/),
    expect.stringMatching(/^misuse.ts:7: Property 'idempotencyKey' does not exist/),
  ]);
});

test("the curl request in the README makes the schedule that it describes", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const [, command] = /```sh\n(curl [^]*?)```/.exec(readme) ?? [];
  expect(command).toBeDefined();
  const script = command!.replace("http://127.0.0.1:8080", server.url);
  const environment = { PATH: process.env.PATH, CARILLON_TOKEN: token };
  const options = { env: environment, encoding: "utf8", stdio: "pipe" } as const;
  const printed = execFileSync("/bin/sh", ["-c", script], options);
  const answer = JSON.parse(printed) as {
    data: { createSchedule: { schedule: { nextFires: { kind: string }[] } } };
  };
  expect(answer.data.createSchedule.schedule.nextFires).toHaveLength(3);
});
