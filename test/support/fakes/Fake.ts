/** A fake of a provider's API on 127.0.0.1: routes by method and path, a check of the credential, scripted answers. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface FakeRequest {
  readonly method: string
  /** The path as received, still encoded. */
  readonly path: string
  /** The values of the route's parameters (`:name`). */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The body as JSON. Throws if the connector did not send JSON. */
  readonly json: () => Record<string, unknown>
  readonly form: () => URLSearchParams
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly text?: string
}

export interface Fake {
  readonly origin: string
  readonly asked: ReadonlyArray<FakeRequest>
  /** The answers to the next requests, whatever their path. */
  readonly plan: (reply: Reply) => void
  readonly close: () => Promise<void>
}

/** Routes such as `GET /orders/:id.json` and their answers. `origin` is that of the server, for links. */
export type Routes = Readonly<Record<string, (asked: FakeRequest, origin: string) => Reply>>

export interface Api {
  readonly routes: Routes
  /** Runs before the routes: null passes the request on. */
  readonly guard: (asked: FakeRequest) => Reply | null
  /** Headers of every answer. */
  readonly headers?: () => Readonly<Record<string, string>>
}

export const startFake = async (api: Api): Promise<Fake> => {
  const asked: Array<FakeRequest> = []
  const planned: Array<Reply> = []
  let origin = ""
  const server = createServer((incoming, response) => {
    const chunks: Array<Buffer> = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      const url = new URL(incoming.url ?? "/", origin)
      const one = request(incoming.method ?? "", url, incoming.headers, Buffer.concat(chunks).toString())
      asked.push(one)
      reply(response, api.headers?.() ?? {}, planned.shift() ?? answered(api, one, origin))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // The address of a server that listens on TCP has this type.
  const { port } = server.address() as AddressInfo
  origin = `http://127.0.0.1:${port}`
  return {
    origin,
    asked,
    plan: (reply) => void planned.push(reply),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** A page of `items` from index `from`, and whether more follow. */
export const slice = <A>(items: ReadonlyArray<A>, from: number, size: number) => ({
  page: items.slice(from, from + size),
  more: from + size < items.length
})

const request = (method: string, url: URL, headers: IncomingHttpHeaders, body: string): FakeRequest => ({
  method,
  path: url.pathname,
  params: {},
  query: url.searchParams,
  headers,
  body,
  json: () => JSON.parse(body) as Record<string, unknown>,
  form: () => new URLSearchParams(body)
})

const answered = (api: Api, asked: FakeRequest, origin: string): Reply => {
  const refused = api.guard(asked)
  if (refused !== null) return refused
  for (const [route, answer] of Object.entries(api.routes)) {
    const params = matched(route, asked)
    if (params !== null) return answer({ ...asked, params }, origin)
  }
  return { status: 404, json: { error: `the fake has no ${asked.method} ${asked.path}` } }
}

const matched = (route: string, asked: FakeRequest): Readonly<Record<string, string>> | null => {
  const [method, path = ""] = route.split(" ")
  if (method !== asked.method) return null
  const pattern = path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:([a-zA-Z]+)/g, "(?<$1>[^/]+?)")
  const found = new RegExp(`^${pattern}$`).exec(asked.path)
  if (found === null) return null
  return Object.fromEntries(
    Object.entries(found.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)])
  )
}

const reply = (response: ServerResponse, headers: Readonly<Record<string, string>>, one: Reply) => {
  const body = one.text ?? (one.json === undefined ? "" : JSON.stringify(one.json))
  const type = one.json === undefined ? {} : { "content-type": "application/json; charset=utf-8" }
  response.writeHead(one.status ?? 200, { ...type, ...headers, ...one.headers }).end(body)
}
