/** Builds requests to GitHub. */
import type { JsonObject } from "../../Json.js"
import { args, type ActionManifest, fromArgs, text, upTo } from "../SchemaShorthands.js"

export const githubHeaders = {
  Accept: "application/vnd.github+json",
  "X-GitHub-Api-Version": "2022-11-28",
  "User-Agent": "svc"
}

/** Patterns that exclude slashes, since values of a multi-segment path may have them. Users of an enterprise have an underscore. */
export const owner: JsonObject = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$" }
export const repo: JsonObject = { type: "string", pattern: "^[A-Za-z0-9._-]{1,100}$" }

/** Below `/repos/{owner}/{repo}`. */
export const pathInRepository = (path: string) => `/repos/{{args.owner}}/{{args.repo}}${path}`

interface ListOptions {
  readonly name: string
  readonly title: string
  readonly path: string
  readonly needs: JsonObject
  /** Query parameters that filter the list. */
  readonly filters?: JsonObject
  /** The path of the items; absent: the answer is the list. */
  readonly items?: string
  readonly outputSchema: JsonObject
  readonly mock: NonNullable<ActionManifest["mocks"]>[number]["output"]
}

/** A page has at most 100 items and a Link header to the next page. */
export const defineGitHubList = (one: ListOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: {
    method: "GET",
    path: one.path,
    headers: githubHeaders,
    query: {
      per_page: "{{args.per_page ?? 100}}",
      ...fromArgs("page", ...Object.keys(one.needs).filter((name) => !one.path.includes(`{{args.${name}}}`))),
      ...fromArgs(...Object.keys(one.filters ?? {}))
    },
    queryStyle: "comma"
  },
  pagination: { type: "link", items: one.items ?? "$" },
  inputSchema: args(
    { ...one.needs, ...one.filters, per_page: upTo(100), page: upTo(10_000) },
    ...Object.keys(one.needs)
  ),
  outputSchema: one.outputSchema,
  mocks: [{ name: "one", output: one.mock }]
})

interface ReadOptions {
  readonly name: string
  readonly title: string
  readonly path: string
  readonly needs: JsonObject
  readonly query?: JsonObject
  readonly outputSchema: JsonObject
  readonly mock: JsonObject
}

export const defineGitHubRead = (one: ReadOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: { method: "GET", path: one.path, headers: githubHeaders, query: fromArgs(...Object.keys(one.query ?? {})) },
  inputSchema: args({ ...one.needs, ...one.query }, ...Object.keys(one.needs)),
  outputSchema: one.outputSchema,
  mocks: [{ name: "one", output: one.mock }]
})

interface WriteOptions {
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly method?: "POST" | "PATCH" | "PUT" | "DELETE"
  readonly path: string
  readonly needs: JsonObject
  /** Members of the body. */
  readonly writable?: JsonObject
  readonly required?: ReadonlyArray<string>
  readonly outputSchema?: JsonObject
  readonly mock: NonNullable<ActionManifest["mocks"]>[number]["output"]
}

export const defineGitHubWrite = (one: WriteOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  ...(one.description === undefined ? {} : { description: one.description }),
  request: {
    method: one.method ?? "POST",
    path: one.path,
    headers: githubHeaders,
    ...(one.writable === undefined ? {} : { body: fromArgs(...Object.keys(one.writable)) })
  },
  inputSchema: args({ ...one.needs, ...one.writable }, ...Object.keys(one.needs), ...(one.required ?? [])),
  outputSchema: one.outputSchema ?? {},
  mocks: [{ name: "one", output: one.mock }]
})

/** The response of an empty answer: 204. */
export const emptyAnswer: JsonObject = { type: "null" }
export const repositoryArguments: JsonObject = { owner, repo }
export const sha: JsonObject = text
