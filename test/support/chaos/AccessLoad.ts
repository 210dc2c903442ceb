/** Keys that are revoked, and another organisation that asks for what is not its own. */
import { setTimeout as pause } from "node:timers/promises"
import type { Trial } from "./Trial.js"

const revokedMillis = 1_000

export interface AccessLoad {
  readonly send: () => Promise<void>
}

/** `strangerKey`: of another organisation. `foreignIds`: of runs and events that are not its own. */
export const makeAccessLoad = (
  { ask, insist, nodes, repeat, tried, violated }: Trial,
  strangerKey: string,
  foreignIds: () => ReadonlyArray<string>
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

  const trespass = async (n: number) => {
    const ids = foreignIds()
    const id = ids[(n * 7_919) % ids.length]
    if (id === undefined) return
    const kind = id.startsWith("evt_") ? "events" : "executions"
    const answer = await ask("GET", `/api/v1/${kind}/${id}`, undefined, withKey(strangerKey))
    tried("tenants")
    if (answer !== undefined && answer.status !== 404 && answer.status !== 503)
      violated("tenants", `another organisation got ${answer.status} for ${id}`)
  }

  return {
    send: async () => {
      await Promise.all([repeat(0.3, revoke), repeat(1, trespass)])
    }
  }
}
