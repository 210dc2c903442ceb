/** Keys that are revoked, and another organisation that asks for what is not its own. */
import { setTimeout as pause } from "node:timers/promises"
import type { Connection } from "./ConnectionLoad.js"
import type { Trial } from "./Trial.js"

const revokedMillis = 1_000

export interface AccessLoad {
  readonly send: () => Promise<void>
}

/** What another organisation has. */
interface Foreign {
  /** The ids of its runs and events. */
  readonly records: () => ReadonlyArray<string>
  readonly connections: () => ReadonlyArray<Connection>
}

/** `strangerKey`: of an organisation to which all work of the trial is foreign. */
export const makeAccessLoad = (
  { ask, insist, nodes, repeat, tried, violated }: Trial,
  strangerKey: string,
  foreign: Foreign
): AccessLoad => {
  const withKey = (key: string) => ({ authorization: `Bearer ${key}` })
  const target = "/api/v1/workflows"

  const revoke = async (n: number) => {
    const made = await insist(
      `key ${n}`,
      () => ask("POST", "/api/v1/api-keys", { name: `key ${n} ${Math.random()}`, mode: "live", preset: "full_access" }),
      ({ status }) => status === 201
    )
    if (made === undefined) return
    const { id, key } = made.body.data
    await insist(
      `a request with key ${n}`,
      () => ask("GET", target, undefined, withKey(key)),
      ({ status }) => status === 200
    )
    const revoked = await insist(
      `the end of key ${n} (${id})`,
      () => ask("DELETE", `/api/v1/api-keys/${id}`),
      ({ status }) => status === 200 || status === 404 || status === 409
    )
    if (revoked === undefined) return
    await pause(revokedMillis)
    const apis = nodes.filter(({ isGone, role }) => role === "api" && !isGone)
    await Promise.all(
      apis.map(async (one) => {
        tried("keys")
        const answer = await ask("GET", target, undefined, withKey(key), one)
        if (answer !== undefined && answer.status < 300) violated("keys", `${id} works at ${one.name} after its end`)
      })
    )
  }

  /** Reads, cancels, lists and calls through what is not its own, in turn. */
  const trespass = async (n: number) => {
    const pickOf = <A>(all: ReadonlyArray<A>): A | undefined => all[(n * 7_919) % all.length]
    const id = pickOf(foreign.records())
    const connection = pickOf(foreign.connections())
    if (id === undefined || connection === undefined) return
    const as = (more: Readonly<Record<string, string>> = {}) => ({ ...withKey(strangerKey), ...more })
    const kind = id.startsWith("evt_") ? "events" : "executions"
    const attempts = [
      ["GET", `/api/v1/${kind}/${id}`],
      ["POST", `/api/v1/executions/${id}/cancel`],
      ["GET", `/api/v1/connections/${connection.id}`],
      ["PUT", `/api/v1/connections/${connection.id}`],
      ["GET", "/api/v1/proxy/me"],
      ["GET", `/api/v1/${kind}`]
    ] as const
    const [method, path] = attempts[n % attempts.length] ?? attempts[0]
    const body = method === "PUT" ? { label: "taken" } : method === "POST" ? {} : undefined
    const through = { "x-end-org-id": connection.customer, "x-svc-connections": connection.id }
    const answer = await ask(method, path, body, as(path.includes("proxy") ? through : {}))
    tried("tenants")
    if (answer === undefined || answer.status === 503) return
    const isEmptyList = answer.status === 200 && answer.body?.data?.length === 0
    if (answer.status < 400 ? !isEmptyList : answer.status !== 404)
      violated("tenants", `another organisation got ${answer.status} for ${method} ${path}, of ${id}`)
  }

  return {
    send: async () => {
      await Promise.all([repeat(0.3, revoke), repeat(2, trespass)])
    }
  }
}
