/** What a browser begins on one node ends on another one: a sign-in by mail or at a certified OpenID provider, an embed session. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { startCertifiedProvider } from "../../support/certifiedProvider.js"
import { type ClusterNode, makeCluster, nodeOf, type TestCluster } from "../../support/cluster.js"
import { eventually } from "../../support/eventually.js"
import { freePort } from "../../support/freePort.js"
import { form, origin, own } from "../../support/signIn.js"
import { type SmtpServer, startSmtpServer } from "../../support/smtpServer.js"

let cluster: TestCluster
let nodes: ReadonlyArray<ClusterNode> = []
let mailbox: SmtpServer
let provider: Awaited<ReturnType<typeof startCertifiedProvider>>

beforeAll(async () => {
  mailbox = await startSmtpServer(["svc", "password"])
  provider = await startCertifiedProvider(["svc", "a secret of svc"], `${origin}/auth/oidc/callback`)
  cluster = await makeCluster()
  const env = {
    SVC_PUBLIC_URL: origin,
    SVC_EGRESS_ALLOW: "127.0.0.1/32",
    SVC_SMTP_URL: `smtp://svc:password@127.0.0.1:${mailbox.port}?from=svc@example.com&security=none`,
    SVC_OIDC_ISSUER: provider.url,
    SVC_OIDC_CLIENT_ID: "svc",
    SVC_OIDC_CLIENT_SECRET: "a secret of svc"
  }
  const start = async () => cluster.start({ env: { ...env, SVC_PORT: `${await freePort()}` } })
  nodes = [await start(), await start()]
})
afterAll(async () => {
  await cluster.end()
  await Promise.all([mailbox.close(), provider.close()])
})

const ask = (node: number, path: string, cookie: string, fields?: Record<string, string>) =>
  fetch(`${nodeOf(nodes, node).url}${path}`, {
    redirect: "manual",
    headers: { cookie, ...(fields === undefined ? own : form) },
    ...(fields === undefined ? {} : { method: "POST", body: new URLSearchParams(fields).toString() })
  })
const cookieIn = ({ headers }: Response) => (headers.get("set-cookie") ?? "").split(";")[0] ?? ""

const invite = async (email: string): Promise<string> => {
  const { body, status } = await nodeOf(nodes, 0).client.call("POST", "/api/v1/users/invite", { email, role: "viewer" })
  assert.strictEqual(status, 201, JSON.stringify(body))
  return new URL(body.data.inviteUrl).hash.slice("#token=".length)
}
const nameOf = async (node: number, session: string) => {
  const me = (await (await ask(node, "/api/v1/me", session)).json()) as { readonly data?: { readonly email: string } }
  return me.data?.email
}

describe("a sign-in that was begun on one node", () => {
  it("by mail ends on another one, once", async () => {
    const accepted = await ask(1, "/invite", "", { token: await invite("ada@example.com"), accept: "anew" })
    assert.strictEqual(accepted.status, 303)
    assert.strictEqual(await nameOf(0, cookieIn(accepted)), "ada@example.com")
    const browser = cookieIn(await ask(0, "/login/mail", "", { email: "ada@example.com" }))
    const mail = await eventually(
      async () =>
        mailbox.messages
          .map((one) => Buffer.from(one.slice(one.indexOf("\r\n\r\n") + 4), "base64").toString())
          .find((one) => one.includes("/login/mail")),
      (found) => found !== undefined
    )
    const token = /#token=([A-Za-z0-9_-]{43})/.exec(mail ?? "")?.[1] ?? ""
    const shown = await (await ask(1, "/login/mail/open", browser, { token })).text()
    const as = /value="(idn_\w+)"/.exec(shown)?.[1] ?? assert.fail(shown)
    const opened = await ask(1, "/login/mail/open", browser, { token, as })
    assert.strictEqual(opened.status, 303)
    assert.strictEqual(await nameOf(0, cookieIn(opened)), "ada@example.com")
    assert.strictEqual((await ask(0, "/login/mail/open", browser, { token, as })).status, 410)
  })

  it("at the provider ends on another one, once", async () => {
    const page = await (await ask(0, "/auth/oidc/start", "", { token: await invite("bob@example.com") })).text()
    assert.include(page, "Continue at 127.0.0.1")
    const begun = async (node: number, fields?: Record<string, string>) => {
      const started = await ask(node, "/auth/oidc/start", "", fields)
      const link = /<a href="([^"]*)">Continue/.exec(await started.text())?.[1]?.replaceAll("&amp;", "&")
      return { browser: cookieIn(started), url: link ?? started.headers.get("location") ?? "" }
    }
    const first = await begun(0, { token: await invite("eve@example.com") })
    const back = await provider.consent(first.url, "eve")
    const accepted = await ask(1, `${back.pathname}${back.search}`, first.browser)
    assert.strictEqual(accepted.status, 303, await accepted.text())
    assert.strictEqual(await nameOf(0, cookieIn(accepted)), "eve@example.com")
    assert.strictEqual((await ask(0, `${back.pathname}${back.search}`, first.browser)).status, 410)
    const second = await begun(1)
    const again = await provider.consent(second.url, "eve")
    const opened = await ask(0, `${again.pathname}${again.search}`, second.browser)
    assert.strictEqual(opened.status, 303, await opened.text())
    assert.strictEqual(await nameOf(1, cookieIn(opened)), "eve@example.com")
  })
})

describe("an embed session that was opened on one node", () => {
  it("is refreshed on another one, and ends on all of them", async () => {
    const { call } = nodeOf(nodes, 0).client
    const made = async (target: string, body: object) => {
      const { body: answer, status } = await call("POST", `/api/v1${target}`, body)
      assert.strictEqual(status, 201, JSON.stringify(answer))
      return answer
    }
    const customer = (await made("/customers", { name: "Panel" })).data.id
    const key = (
      await made("/api-keys", {
        name: "panel",
        mode: "live",
        preset: "end_user",
        customers: { mode: "subset", ids: [customer] }
      })
    ).data.key
    const send = async (node: number, method: string, target: string, credential: string, body?: object) => {
      const answer = await fetch(`${nodeOf(nodes, node).url}/api/v1${target}`, {
        method,
        headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const read: any = answer.status === 204 ? {} : await answer.json() // oxlint-disable-line typescript/no-explicit-any
      return { status: answer.status, body: read }
    }
    const minted = await send(0, "POST", "/embed/token", key, { endOrgId: customer })
    const refreshed = await send(1, "POST", "/embed/token/refresh", minted.body.token)
    assert.strictEqual(refreshed.status, 200, JSON.stringify(refreshed.body))
    for (const node of [0, 1])
      assert.strictEqual((await send(node, "GET", "/connections", refreshed.body.token)).status, 200)
    const ended = await send(1, "DELETE", `/embed/sessions/${minted.body.sessionId}`, key)
    assert.strictEqual(ended.status, 204, JSON.stringify(ended.body))
    for (const node of [0, 1]) {
      const { body } = await eventually(
        () => send(node, "GET", "/connections", refreshed.body.token),
        ({ status }) => status !== 200
      )
      assert.strictEqual(body.code, "SESSION_EXPIRED")
    }
  })
})
