import { expect, test } from "@playwright/test";
import { Client, cacheExchange, fetchExchange } from "@urql/core";
import { auditServer } from "graphql-http";
import { GraphQLClient, gql, request } from "graphql-request";
import { GraphQLClient as GraphQLClient4 } from "graphql-request-4";
import { CloseCode, createClient, type Client as Live } from "graphql-ws";
import { WebSocket, type CloseEvent } from "ws";

import { Server } from "../support/server.ts";

// These tests use no browser: they check the specifications, with widely used clients and their
// defaults.

let server: Server;
let token: string;

test.beforeAll(async () => {
  server = await Server.start();
  token = server.cli(["token", "create", "http", "--role", "editor"]).trim();
});

test.afterAll(() => server.stop());

const bearer = () => ({ Authorization: `Bearer ${token}` });

test("the audit of GraphQL over HTTP finds no MUST and no SHOULD that fails", async () => {
  const results = await auditServer({
    url: `${server.url}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: { ...init.headers, ...bearer() } }),
  });
  const told = results.map((result) => `${result.status}: ${result.name}`);
  expect(told.length).toBeGreaterThan(50);
  expect(told.filter((line) => !line.startsWith("ok"))).toEqual([]);
});

test("each answer of the endpoint has errors or data, whatever is wrong", async () => {
  const url = `${server.url}/graphql`;
  const json = { "Content-Type": "application/json" };
  const query = JSON.stringify({ query: "{ me { name } }" });
  const deep = `{"query": "{ me { name } }", "variables": {"a": ${"[".repeat(500)}`;
  for (const [status, code, init] of [
    [401, "UNAUTHENTICATED", { method: "POST", headers: { ...json, Authorization: "Bearer car_0" }, body: query }],
    [403, "FORBIDDEN", { method: "POST", headers: { ...json, Origin: "https://evil.example" }, body: query }],
    [405, "METHOD_NOT_ALLOWED", { method: "PUT", headers: json, body: query }],
    [413, "PAYLOAD_TOO_LARGE", { method: "POST", headers: { ...json, ...bearer() }, body: " ".repeat(5_000_000) }],
    [415, "UNSUPPORTED_MEDIA_TYPE", { method: "POST", headers: { "Content-Type": "text/plain" }, body: query }],
    [400, "BAD_REQUEST", { method: "POST", headers: json, body: "{" }],
    [400, "BAD_REQUEST", { method: "POST", headers: json, body: "[1]" }],
    [400, "BAD_REQUEST", { method: "POST", headers: json, body: deep }],
    [400, "BAD_REQUEST", { method: "POST", headers: json, body: `{"query": 7}` }],
  ] as [number, string, RequestInit][]) {
    const answer = await fetch(url, init);
    expect([answer.status, code]).toEqual([status, code]);
    const body = (await answer.json()) as { errors: { message: string; extensions: { code: string } }[] };
    expect(Object.keys(body)).toEqual(["errors"]);
    expect(body.errors[0]?.extensions.code).toBe(code);
    expect(body.errors[0]?.message.length).toBeGreaterThan(20);
  }
  const mutation = await fetch(`${url}?query=${encodeURIComponent("mutation { __typename }")}`);
  expect(mutation.status).toBe(405);
});

test("what does not parse and what does not validate have codes of their own", async () => {
  const codes = async (query: string) => {
    const answer = await fetch(`${server.url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/graphql-response+json" },
      body: JSON.stringify({ query }),
    });
    const { errors } = (await answer.json()) as { errors: { extensions: { code: string } }[] };
    return [answer.status, errors[0]?.extensions.code];
  };
  expect(await codes("{")).toEqual([400, "GRAPHQL_PARSE_FAILED"]);
  expect(await codes("{ nothing }")).toEqual([400, "GRAPHQL_VALIDATION_FAILED"]);
  expect(await codes("{ __schema { queryType { name } } }")).toEqual([401, "UNAUTHENTICATED"]);
});

test("urql asks with its defaults, by GET and by POST", async () => {
  for (const preferGetMethod of [undefined, true, false]) {
    const client = new Client({
      url: `${server.url}/graphql`,
      exchanges: [cacheExchange, fetchExchange],
      fetchOptions: { headers: bearer() },
      ...(preferGetMethod === undefined ? {} : { preferGetMethod }),
    });
    const answer = await client.query("query ($n: Int!) { me { name } runs(first: $n) { nodes { id } } }", { n: 1 });
    expect(answer.error).toBeUndefined();
    expect(answer.data.me.name).toBe("token/http");
    const refused = await client.query("{ nothing }", {});
    expect(refused.error?.graphQLErrors[0]?.extensions).toMatchObject({ code: "GRAPHQL_VALIDATION_FAILED" });
    const made = await client.mutation(`mutation { pauseSchedule(id: "${crypto.randomUUID()}", reason: "x") { schedule { id } } }`, {});
    expect(made.error?.graphQLErrors[0]?.extensions).toMatchObject({ code: "NOT_FOUND" });
  }
});

test("graphql-request asks with its defaults, by GET and by POST", async () => {
  const query = gql`query ($n: Int!) { me { name } runs(first: $n) { nodes { id } } }`;
  for (const method of [undefined, "GET", "POST"] as const) {
    const options = { headers: bearer(), ...(method === undefined ? {} : { method }) };
    const client = new GraphQLClient(`${server.url}/graphql`, options);
    const answer = await client.request<{ me: { name: string } }>(query, { n: 1 });
    expect(answer.me.name).toBe("token/http");
    await expect(client.request("{ nothing }")).rejects.toMatchObject({
      response: { errors: [{ extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }] },
    });
  }
  // Many programs still use this version. Its own code for GET fails before it sends a request.
  for (const method of [undefined, "POST"] as const) {
    const options = { headers: bearer(), ...(method === undefined ? {} : { method }) };
    const client = new GraphQLClient4(`${server.url}/graphql`, options);
    const answer = await client.request(query, { n: 1 });
    expect(answer.me.name).toBe("token/http");
    await expect(client.request("{ nothing }")).rejects.toMatchObject({
      response: { errors: [{ extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }] },
    });
  }
  await expect(request(`${server.url}/graphql`, "{ runs { totalCount } }")).rejects.toMatchObject({
    response: { errors: [{ message: expect.any(String) }] },
  });
});

const address = () => `${server.url.replace("http", "ws")}/graphql`;

function live(connectionParams: Record<string, unknown>): Live {
  return createClient({ url: address(), webSocketImpl: WebSocket, connectionParams, retryAttempts: 5 });
}

/** The only answer to a query, or the error that ended it. */
async function once(client: Live, query: string): Promise<unknown> {
  for await (const { data, errors } of client.iterate({ query })) return data ?? errors;
  return undefined;
}

test("graphql-ws signs in as other servers let it", async () => {
  for (const params of [
    { token },
    { Authorization: `Bearer ${token}` },
    { authorization: `bearer ${token}` },
    { headers: { Authorization: `Bearer ${token}` } },
  ]) {
    const client = live(params);
    expect(await once(client, "{ me { name } }")).toEqual({ me: { name: "token/http" } });
    await client.dispose();
  }
});

test("graphql-ws learns why a socket ends, and does not come back for ever", async () => {
  const client = live({ token: "car_0" });
  const closed = once(client, "{ me { name } }").catch((event: CloseEvent) => event);
  expect(await closed).toMatchObject({ code: CloseCode.Unauthorized, reason: expect.stringContaining("token") });
  await client.dispose();
});

test("graphql-ws is told of a document that does not validate by a message of its own", async () => {
  const client = live({ token });
  const refused = once(client, "subscription { nothing }").catch((errors: unknown) => errors);
  expect(await refused).toMatchObject([{ extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }]);
  await client.dispose();
});

/** The code and the reason with which the server closes a socket that sends these messages. */
async function ends(...messages: unknown[]): Promise<[number, string]> {
  const socket = new WebSocket(address(), "graphql-transport-ws");
  const closed = new Promise<[number, string]>((resolve) =>
    socket.once("close", (code, reason) => resolve([code, reason.toString()])),
  );
  await new Promise((resolve) => socket.once("open", resolve));
  for (const message of messages) {
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }
  return closed;
}

test("each end of a socket has its code and a reason", async () => {
  const init = { type: "connection_init", payload: { token } };
  const payload = { query: "subscription { runEvents { cursor } }" };
  const subscribe = { id: "1", type: "subscribe", payload };
  expect(await ends("{")).toEqual([4400, expect.stringContaining("Invalid message")]);
  expect(await ends({ type: "nothing" })).toEqual([4400, expect.stringContaining("Invalid message")]);
  expect(await ends(init, "7")).toEqual([4400, expect.stringContaining("Invalid message")]);
  expect(await ends(subscribe)).toEqual([4401, "Unauthorized"]);
  expect(await ends(init, subscribe, subscribe)).toEqual([4409, "Subscriber for 1 already exists"]);
  expect(await ends(init, init)).toEqual([4429, "Too many initialisation requests"]);
  expect(await ends()).toEqual([4408, "Connection initialisation timeout"]);
});
