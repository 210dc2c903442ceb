/** Opens the panel's page with the tokens of a session, until it has ended. */
import { assert } from "vitest"
import type { Api } from "./api.js"
import { eventually } from "./eventually.js"

/** What was opened, with headers, and the credentials that it must not have; each by its name. */
interface OpenedPages {
  readonly pages: ReadonlyMap<string, string>
  readonly secrets: ReadonlyMap<string, string>
}

export const openPanelPages = async (client: Api): Promise<OpenedPages> => {
  const { customerId } = client.dev
  const customers = { mode: "subset", ids: [customerId] }
  const key = await client.call("POST", "/api/v1/api-keys", { name: "e", mode: "live", preset: "end_user", customers })
  const authorization = `Bearer ${key.body.data.key}`
  const minted = await client.call(
    "POST",
    "/api/v1/embed/token",
    { endOrgId: customerId, allowedOrigins: ["https://app.example.com"] },
    { authorization, "idempotency-key": "panel" }
  )
  const { iframeUrl, sessionId, token } = minted.body
  const refreshed = await client.call("POST", "/api/v1/embed/token/refresh", undefined, {
    authorization: `Bearer ${token}`
  })
  const pages = new Map<string, string>()
  const open = async (name: string, url: string) => {
    const page = await fetch(url)
    pages.set(name, `${JSON.stringify([...page.headers])} ${await page.text()}`)
    return page.status
  }
  assert.strictEqual(await open("of the replaced token", iframeUrl), 200)
  assert.strictEqual(await open("of the newer token", refreshed.body.iframeUrl), 200)
  assert.strictEqual(await open("of an unknown token", `${iframeUrl.slice(0, -8)}AAAAAAAA`), 401)
  await client.call("DELETE", `/api/v1/embed/sessions/${sessionId}`, undefined, { authorization })
  await eventually(
    () => open("of the ended session", iframeUrl),
    (status) => status === 401
  )
  const secrets = new Map([
    ["key of embed sessions", key.body.data.key],
    ["embed token", token],
    ["newer embed token", refreshed.body.token]
  ])
  return { pages, secrets }
}
