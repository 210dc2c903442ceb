/** What tests of environments and releases ask of a service, over surfaces C and B. */
import { assert } from "@effect/vitest"
import type { Answer, Running } from "./InProcess.js"

interface NewKey {
  readonly id: string
  readonly key: string
}

/** The data of an answer that succeeded. */
export const done = ({ body, status, text }: Answer) => {
  assert.isBelow(status, 300, text)
  return body?.data
}
export const codeOf = ({ body, status }: Answer) => [status, body.code]
export const pin = (workflowId: string, version: number) => ({ workflowId, version })

const source = (value: unknown) => `export default async () => ${JSON.stringify(value)}`

/** `svc`: the service, once it runs. Requests are sent with its first key, unless they name another. */
export const releaseClient = (svc: () => Running) => {
  let names = 0
  const unique = () => `n${(names += 1)}`

  const ask = (method: string, target: string, body?: unknown, as?: string, headers: Answer["headers"] = {}) =>
    svc().ask(method, `/api/v1${target}`, {
      key: as ?? svc().first.key,
      headers,
      ...(body === undefined ? {} : { body })
    })
  /** Asks on surface B, for a tenant: the first customer, unless it is named. */
  const askB = (method: string, target: string, body?: unknown, as?: string, tenant?: string) =>
    svc().ask(method, `/api/v1/tenants/${tenant ?? svc().first.customerId}${target}`, {
      headers: { "x-svc-api-key": as ?? svc().first.key, "x-svc-space-id": svc().first.spaceId },
      ...(body === undefined ? {} : { body })
    })
  const made = async (target: string, body: unknown, as?: string) => done(await ask("POST", target, body, as))

  return {
    unique,
    ask,
    askB,
    made,
    /** Saves and publishes the next version of a workflow, which returns `value`. */
    publish: async (id: string, value: unknown, as?: string) => {
      done(await ask("PUT", `/workflows/${id}`, { code: source(value) }))
      return await made(`/workflows/${id}/publish`, {}, as)
    },
    workflow: async (value: unknown, more: object = {}): Promise<string> => {
      const { id } = await made("/workflows", { name: unique(), form: "code", code: source(value), ...more })
      await made(`/workflows/${id}/publish`, {})
      return id
    },
    environment: (more: object = {}): Promise<{ readonly id: string; readonly slug: string }> =>
      made("/environments", { name: "An environment", slug: unique(), ...more }),
    /** What a run of the workflow returns in the environment; or the code of its refusal. */
    runs: async (id: string, slug: string, of?: string) => {
      const headers = of === undefined ? {} : { "x-end-org-id": of }
      const { body, status } = await ask("POST", `/workflows/${id}/execute`, { environment: slug }, undefined, headers)
      return status === 200 ? body : body.code
    },
    newKey: (more: object = {}, as?: string): Promise<NewKey> =>
      made("/api-keys", { name: unique(), mode: "live", preset: "full_access", expires: "never", ...more }, as)
  }
}
