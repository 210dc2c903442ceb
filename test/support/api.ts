/** The API of a running service, as its client calls it. */
import * as fs from "node:fs"
import * as path from "node:path"
import type { DevFile } from "../../src/runtime/program/FirstStart.js"
import { eventually } from "./eventually.js"

export interface Answer {
  readonly status: number
  // A body of any endpoint; each test asserts the members that it expects.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any
  readonly headers: Headers
}

export interface Api {
  readonly dev: DevFile
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>
  ) => Promise<Answer>
  /** Creates and publishes a workflow. Returns its id. */
  readonly workflow: (
    name: string,
    tier: "instant" | "standard" | "long",
    code: string,
    more?: object
  ) => Promise<string>
  readonly run: (workflow: string, input?: object, headers?: Readonly<Record<string, string>>) => Promise<Answer>
  /** Waits until the execution has ended, and returns it. */
  readonly ended: (id: string, millis?: number) => Promise<Answer["body"]>
  readonly execution: (id: string) => Promise<Answer["body"]>
}

/** The API of the service on the data directory, with the API key of its first start. */
export const api = (dataDir: string): Api =>
  apiOf(JSON.parse(fs.readFileSync(path.join(dataDir, "dev.json"), "utf8")) as DevFile)

/** The API of a service at `baseUrl`, with a key. */
export const apiOf = (dev: DevFile): Api => {
  const call: Api["call"] = async (method, target, body, headers = {}) => {
    const response = await fetch(`${dev.baseUrl}${target}`, {
      method,
      headers: {
        authorization: `Bearer ${dev.apiKey}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? null : parsed(text), headers: response.headers }
  }
  const execution: Api["execution"] = async (id) => (await call("GET", `/api/v1/executions/${id}`)).body?.data
  return {
    dev,
    call,
    execution,
    run: (workflow, input = {}, headers = {}) =>
      call("POST", `/api/v1/workflows/${workflow}/execute`, { input }, headers),
    workflow: async (name, tier, code, more = {}) => {
      const made = await call("POST", "/api/v1/workflows", { name, form: "code", tier, code, ...more })
      if (made.status !== 201) throw new Error(JSON.stringify(made.body))
      const published = await call("POST", `/api/v1/workflows/${made.body.data.id}/publish`, {})
      if (published.status !== 200) throw new Error(JSON.stringify(published.body))
      return made.body.data.id
    },
    ended: (id, millis) =>
      eventually(
        () => execution(id),
        (found) => found !== undefined && found.status !== "pending" && found.status !== "running",
        millis
      )
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
