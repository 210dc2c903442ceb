import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { startWorld, type World } from "../support/endpointWorld.js"
let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())
it("works", async () => {
  const {
    svc,
    sides: { inside }
  } = world
  const made = await svc.ask("POST", "/api/v1/api-keys", {
    key: svc.first.key,
    body: { name: "embed", mode: "live", preset: "full_access", customers: { mode: "subset", ids: [inside.customer] } }
  })
  const key = made.body.data.key
  const m = await svc.ask("POST", "/api/v1/embed/token", {
    key,
    body: { endOrgId: inside.customer, userEmail: "a@b.de", allowedOrigins: ["https://app.example.com"] }
  })
  console.log(m.status, m.text)
  const token = m.body.token
  const show = async (method: string, path: string, body?: unknown, headers = {}) => {
    const a = await svc.ask(method, `/api/v1${path}`, { key: token, headers, ...(body ? { body } : {}) })
    console.log(method, path, a.status, a.text.slice(0, 700))
    return a
  }
  await show("GET", "/connectors?page_size=2")
  await show("GET", `/connectors/${inside.connector}`)
  await show("GET", `/connections`)
  const c = await show("POST", `/connections`, { connector: inside.connector, authMethod: "key" })
  await show("GET", `/embed/connect-sessions/${c.body.data.connectSessionId}`)
  await show("GET", `/customers`)
  await show("GET", `/connections`, undefined, { "x-user-id": "other" })
  await show("POST", `/embed/token/refresh`, {})
  await show("GET", `/connections?page_size=1`)
  const l = await svc.ask("GET", "/api/v1/embed/sessions", { key })
  console.log(l.text)
  const d = await svc.ask("DELETE", `/api/v1/embed/sessions/${m.body.sessionId}`, { key })
  console.log(d.status)
  await show("GET", `/connections?page_size=1`)
})
