/** Builds actions of Slack's methods: reads by GET with a query, writes by POST with JSON. Errors are 200 with `ok: false`. */
import type { JsonObject } from "../../Json.js"
import { args, type ActionManifest, flag, fromArgs, list, record, text, upTo } from "../SchemaShorthands.js"

export const slackResponse: NonNullable<ActionManifest["response"]> = {
  errorWhen: { path: "ok", op: "eq", value: false },
  errorMessage: "$.error",
  errorCode: "$.error",
  authCodes: [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_expired",
    "token_revoked",
    "two_factor_setup_required"
  ],
  transientCodes: [
    "ratelimited",
    "rate_limited",
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    // During the migration of a workspace to an enterprise organisation.
    "org_login_required",
    "team_added_to_org"
  ]
}

interface ReadOptions {
  readonly name: string
  readonly title: string
  /** The name of the method: `conversations.info`. */
  readonly method: string
  readonly input?: JsonObject
  readonly required?: ReadonlyArray<string>
  readonly output: JsonObject
  readonly mock: JsonObject
}

export const defineSlackRead = (one: ReadOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: { method: "GET", path: `/${one.method}`, query: fromArgs(...Object.keys(one.input ?? {})) },
  response: slackResponse,
  inputSchema: args(one.input, ...(one.required ?? [])),
  outputSchema: record({ ok: flag, ...one.output }, "ok"),
  mocks: [{ name: "one", output: { ok: true, ...one.mock } }]
})

interface ListOptions extends Omit<ReadOptions, "output" | "mock"> {
  /** The member with the items. */
  readonly items: string
  readonly item: JsonObject
  readonly most: number
  readonly mock: JsonObject | string
}

/** Lists have a cursor, which is empty on the last page. */
export const defineSlackList = (one: ListOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: {
    method: "GET",
    path: `/${one.method}`,
    query: { limit: `{{args.limit ?? ${one.most}}}`, ...fromArgs("cursor", ...Object.keys(one.input ?? {})) },
    queryStyle: "comma"
  },
  response: slackResponse,
  pagination: { type: "cursor", items: `$.${one.items}`, next: "$.response_metadata.next_cursor", param: "cursor" },
  inputSchema: args({ ...one.input, limit: upTo(999), cursor: text }, ...(one.required ?? [])),
  outputSchema: record(
    { ok: flag, [one.items]: list(one.item), response_metadata: record({ next_cursor: text }) },
    "ok"
  ),
  mocks: [{ name: "one", output: { ok: true, [one.items]: [one.mock], response_metadata: { next_cursor: "" } } }]
})

interface WriteOptions extends ReadOptions {
  readonly input: JsonObject
  readonly description?: string
}

export const defineSlackWrite = (one: WriteOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  ...(one.description === undefined ? {} : { description: one.description }),
  request: {
    method: "POST",
    path: `/${one.method}`,
    body: fromArgs(...Object.keys(one.input)),
    contentType: "application/json; charset=utf-8"
  },
  response: slackResponse,
  inputSchema: args(one.input, ...(one.required ?? [])),
  outputSchema: record({ ok: flag, ...one.output }, "ok"),
  mocks: [{ name: "one", output: { ok: true, ...one.mock } }]
})
