/** Opens embed sessions for tests, as the backend of a company would, and calls as its page does. */
import { assert } from "@effect/vitest"
import type { Answer, Ask, Running } from "./InProcess.js"
import { makeKey, type TestKey } from "./keys.js"

/** A key that reaches these customers only. */
export const keyOfCustomers = (svc: Running, ids: ReadonlyArray<string>, more: object = {}): Promise<TestKey> =>
  makeKey(svc, { customers: { mode: "subset", ids }, ...more })

/** A session with its token. */
export interface OpenedPanel {
  readonly token: string
  readonly sessionId: string
  readonly keyId: string
  readonly key: string
  /** Calls with the token, as a page does. */
  readonly ask: (method: string, target: string, more?: Ask) => Promise<Answer>
  /** Calls with the key, as the backend does. */
  readonly backend: (method: string, target: string, more?: Ask) => Promise<Answer>
}

/** Sends a request to the API with a credential. */
export const asWith =
  (svc: Running, key: string) =>
  (method: string, target: string, more: Ask = {}): Promise<Answer> =>
    svc.ask(method, `/api/v1${target}`, { key, ...more })

/** Opens a session for a customer. `body`: the rest of the request. */
export const openPanel = async (
  svc: Running,
  customer: string,
  body: object = {},
  made?: TestKey
): Promise<OpenedPanel> => {
  const { id: keyId, key } = made ?? (await keyOfCustomers(svc, [customer]))
  const backend = asWith(svc, key)
  const minted = await backend("POST", "/embed/token", { body: { endOrgId: customer, ...body } })
  assert.strictEqual(minted.status, 201, minted.text)
  const { sessionId, token } = minted.body
  return { token, sessionId, keyId, key, backend, ask: asWith(svc, token) }
}
