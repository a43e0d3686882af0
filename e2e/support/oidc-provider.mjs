// An OpenID Connect provider for tests, which uses the library oidc-provider. It has one account,
// and the test controls its claims and its faults. It prints its issuer, reads the address of its
// client from standard input, and then prints that it is ready.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

import { SignJWT, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const SECRET = "the secret of the client, long enough";
const account = { sub: "u1", claims: { preferred_username: "ada", groups: [] } };
let tamper = null;
// Whether the provider leaves claims out of the ID token, as the standard permits.
let terse = false;
let handle = (_request, response) => response.writeHead(503).end();
let home;

/** Creates a provider with a new key. */
async function provider(issuer) {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(privateKey)), use: "sig", alg: "RS256", kid: String(Math.random()) };
  const made = new Provider(issuer, {
    clients: [
      {
        client_id: "carillon",
        client_secret: SECRET,
        redirect_uris: [`${home}/auth/oidc/callback`],
        post_logout_redirect_uris: [`${home}/`],
      },
    ],
    claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
    conformIdTokenClaims: terse,
    cookies: { keys: ["test"] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...account.claims }) }),
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    jwks: { keys: [key] },
    pkce: { required: () => true },
    // Grants the scopes without asking the user for consent.
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      });
      grant.addOIDCScope("openid profile groups");
      await grant.save();
      return grant;
    },
  });
  made.use(async (ctx, next) => {
    await next();
    if (ctx.path === "/token" && ctx.body?.id_token && tamper) {
      ctx.body.id_token = await tampered(ctx.body.id_token, privateKey);
    }
    if (ctx.path === "/me" && tamper) {
      Object.assign(ctx.body, tamper.userinfo);
      if (tamper.status) ctx.status = tamper.status;
    }
  });
  const callback = made.callback();
  return async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response);
    // Everyone who signs in gets the same account.
    const result = { login: { accountId: account.sub } };
    await made.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
}

/** The token as a faulty provider or an attacker in between would return it. */
async function tampered(token, privateKey) {
  const header = { ...decodeProtectedHeader(token), ...tamper.header };
  const claims = { ...decodeJwt(token), ...tamper.claims };
  for (const [name, seconds] of Object.entries(tamper.shift ?? {})) claims[name] += seconds;
  if (header.alg === "none") {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return `${part(header)}.${part(claims)}.`;
  }
  let key = privateKey;
  if (tamper.foreign) key = (await generateKeyPair("RS256")).privateKey;
  if (header.alg === "HS256") key = new TextEncoder().encode(SECRET);
  return new SignJWT(claims).setProtectedHeader(header).sign(key);
}

async function body(request) {
  let text = "";
  for await (const part of request) text += part;
  return JSON.parse(text);
}

const server = createServer(async (request, response) => {
  if (request.url !== "/test") return handle(request, response);
  // The test changes the provider's behaviour.
  const wanted = await body(request);
  if (wanted.sub) account.sub = wanted.sub;
  if (wanted.claims) Object.assign(account.claims, wanted.claims);
  tamper = wanted.tamper ?? null;
  terse = wanted.terse ?? terse;
  if (wanted.rotate) handle = await provider(issuer);
  response.end("{}");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
console.log(`issuer ${issuer}`);
for await (const line of createInterface({ input: process.stdin })) {
  home = line.trim();
  handle = await provider(issuer);
  console.log("ready");
}
// The input has ended, so the test process is gone.
process.exit(0);
