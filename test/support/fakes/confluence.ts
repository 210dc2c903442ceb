/**
 * Confluence Cloud's REST API v2: cursors in links, bodies where their format is asked for, a change replaces the page and
 * names the next version, deleted pages go into the bin.
 */
import { type Fake, type FakeRequest, type Reply, startFake } from "./Fake.js"

interface Entry {
  readonly [member: string]: unknown
  readonly id: string
  status: string
  version: { readonly number: number; readonly message: string; readonly createdAt: string; readonly authorId: string }
  body: { readonly storage: { readonly value: string; readonly representation: string } }
}

const ada = "5b10ac8d82e05b22cc7d4ef5"

const refused = (status: number, code: string, title: string): Reply => ({
  status,
  json: { errors: [{ status, code, title, detail: null }] }
})
const notFound = () => refused(404, "NOT_FOUND", "Not Found")

const spaces = [
  {
    id: "98305",
    key: "OPS",
    name: "Operations",
    type: "global",
    status: "current",
    createdAt: "2026-01-02T09:00:00.000Z"
  },
  { id: "98306", key: "HR", name: "People", type: "global", status: "current", createdAt: "2026-01-03T09:00:00.000Z" },
  {
    id: "98307",
    key: "DEV",
    name: "Software",
    type: "global",
    status: "current",
    createdAt: "2026-01-04T09:00:00.000Z"
  }
]

/** The Basic credential of the token. */
const credential = `Basic ${Buffer.from("ada@example.com:ATATT-fake").toString("base64")}`

export const confluenceFake = async (): Promise<Fake> => {
  const pages: Array<Entry> = []
  const comments: Array<Entry> = []
  let lastId = 98_400
  let clock = Date.UTC(2026, 9, 1)
  const versionOf = (number: number, message = "") => ({
    number,
    message,
    createdAt: new Date((clock += 60_000)).toISOString(),
    authorId: ada
  })
  const shown = (asked: FakeRequest, entry: Entry): unknown => {
    const { body, ...others } = entry
    // Without a format there is no body.
    return { ...others, body: asked.query.get("body-format") === "storage" || asked.method !== "GET" ? body : {} }
  }
  const page = (asked: FakeRequest, items: ReadonlyArray<unknown>): Reply => {
    const from = Number(asked.query.get("cursor")?.slice(3) ?? 0)
    const size = Number(asked.query.get("limit") ?? 25)
    const next = new URLSearchParams(asked.query)
    next.set("cursor", `at:${from + size}`)
    return {
      json: {
        results: items.slice(from, from + size),
        _links: {
          base: "https://acme.atlassian.net/wiki",
          ...(from + size < items.length ? { next: `${asked.path}?${next.toString()}` } : {})
        }
      }
    }
  }
  const sorted = (asked: FakeRequest, entries: ReadonlyArray<Entry>) =>
    asked.query.get("sort") === "-modified-date"
      ? [...entries].sort((one, other) => other.version.createdAt.localeCompare(one.version.createdAt))
      : entries
  const storedBody = (asked: FakeRequest): Entry["body"] | undefined => {
    const { representation, value } = objectIn(asked.json()["body"])
    return representation === "storage" && typeof value === "string"
      ? { storage: { value, representation } }
      : undefined
  }
  /** What is wrong with the version of a change. */
  const versionMistake = (asked: FakeRequest, entry: Entry): Reply | undefined =>
    objectIn(asked.json()["version"])["number"] === entry.version.number + 1
      ? undefined
      : refused(409, "CONFLICT", `Version must be incremented when updating. Current version: ${entry.version.number}`)

  const found = (entries: ReadonlyArray<Entry>, asked: FakeRequest) =>
    entries.find(({ id }) => id === asked.params["id"])
  const getOf = (entries: ReadonlyArray<Entry>) => (asked: FakeRequest) => {
    const entry = found(entries, asked)
    return entry === undefined ? notFound() : { json: shown(asked, entry) }
  }

  return startFake({
    guard: (asked) =>
      asked.headers.authorization === credential || asked.headers.authorization === "Bearer eyJ-fake"
        ? null
        : { status: 401, json: { code: 401, message: "Unauthorized; scope does not match" } },
    headers: () => ({
      "x-ratelimit-limit": "1000",
      "x-ratelimit-remaining": "999",
      "x-ratelimit-reset": "2026-11-27T20:00:00Z"
    }),
    routes: {
      "GET /wiki/rest/api/user/current": () => ({
        json: { type: "known", accountId: ada, displayName: "Ada Byron", email: "ada@example.com" }
      }),
      "GET /wiki/api/v2/spaces": (asked) => page(asked, spaces),
      "GET /wiki/api/v2/spaces/:id": (asked) => {
        const one = spaces.find(({ id }) => id === asked.params["id"])
        return one === undefined ? notFound() : { json: one }
      },
      "GET /wiki/api/v2/pages": (asked) => {
        const wanted = (asked.query.get("status") ?? "current,archived").split(",")
        const kept = sorted(asked, pages).filter(({ status }) => wanted.includes(status))
        return page(
          asked,
          kept.map((entry) => shown(asked, entry))
        )
      },
      "GET /wiki/api/v2/pages/:id": getOf(pages),
      "POST /wiki/api/v2/pages": (asked) => {
        const { parentId = null, spaceId, status = "current", title } = asked.json()
        const body = storedBody(asked)
        if (!spaces.some(({ id }) => id === spaceId))
          return refused(400, "INVALID_REQUEST_PARAMETER", "Provided value for 'spaceId' is not valid")
        if (body === undefined)
          return refused(400, "INVALID_REQUEST_PARAMETER", "Provided value for 'body' is not valid")
        if (pages.some((one) => one["title"] === title && one["spaceId"] === spaceId && one.status !== "trashed"))
          return refused(400, "INVALID_REQUEST_PARAMETER", "A page with this title already exists in this space")
        const version = versionOf(1)
        const entry: Entry = {
          id: String(++lastId),
          status: String(status),
          title,
          spaceId,
          parentId,
          authorId: ada,
          createdAt: version.createdAt,
          version,
          body,
          _links: { webui: `/spaces/OPS/pages/${lastId}` }
        }
        pages.push(entry)
        return { json: shown(asked, entry) }
      },
      "PUT /wiki/api/v2/pages/:id": (asked) => {
        const entry = found(pages, asked)
        const { id, parentId, status, title } = asked.json()
        const body = storedBody(asked)
        if (entry === undefined) return notFound()
        if (id !== entry.id || typeof title !== "string" || typeof status !== "string" || body === undefined)
          return refused(400, "INVALID_REQUEST_PARAMETER", "id, status, title, body and version are required")
        const mistake = versionMistake(asked, entry)
        if (mistake !== undefined) return mistake
        const version = versionOf(entry.version.number + 1)
        Object.assign(entry, { title, status, body, version }, parentId === undefined ? {} : { parentId })
        return { json: shown(asked, entry) }
      },
      "DELETE /wiki/api/v2/pages/:id": (asked) => {
        const entry = found(pages, asked)
        if (entry === undefined) return notFound()
        entry.status = "trashed"
        return { status: 204 }
      },
      "GET /wiki/api/v2/footer-comments": (asked) =>
        page(
          asked,
          sorted(asked, comments).map((entry) => shown(asked, entry))
        ),
      "GET /wiki/api/v2/footer-comments/:id": getOf(comments),
      "POST /wiki/api/v2/footer-comments": (asked) => {
        const { pageId } = asked.json()
        const body = storedBody(asked)
        if (body === undefined || !pages.some(({ id }) => id === pageId)) return notFound()
        const entry: Entry = { id: String(++lastId), status: "current", pageId, version: versionOf(1), body }
        comments.push(entry)
        return { status: 201, json: shown(asked, entry) }
      },
      "PUT /wiki/api/v2/footer-comments/:id": (asked) => {
        const entry = found(comments, asked)
        const body = storedBody(asked)
        if (entry === undefined || body === undefined) return notFound()
        const mistake = versionMistake(asked, entry)
        if (mistake !== undefined) return mistake
        Object.assign(entry, { body, version: versionOf(entry.version.number + 1) })
        return { json: shown(asked, entry) }
      },
      "DELETE /wiki/api/v2/footer-comments/:id": (asked) => {
        const at = comments.findIndex(({ id }) => id === asked.params["id"])
        if (at < 0) return notFound()
        comments.splice(at, 1)
        return { status: 204 }
      }
    }
  })
}

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}
