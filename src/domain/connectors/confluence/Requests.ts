/** Builds requests to Confluence: lists have a link to the next page, and bodies are in the storage format, which is XHTML. */
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  args,
  fromArgs,
  integer,
  list,
  oneOf,
  record,
  text,
  time,
  upTo,
  withDescription
} from "../SchemaShorthands.js"

export const confluenceResponse: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$.errors[0].title",
  errorCode: "$.errors[0].code"
}

export const noContent: JsonObject = { type: "null" }

interface ConfluenceListOptions {
  readonly name: string
  readonly title: string
  readonly path: string
  readonly filters?: JsonObject
  /** Parameters with a value of their own. */
  readonly query?: Readonly<Record<string, string>>
  readonly item: JsonObject
  readonly mock: JsonObject
}

/** A page has at most 250 items and a link to the next one, with a cursor. */
export const defineConfluenceList = (one: ConfluenceListOptions): ActionManifest => ({
  name: one.name,
  title: one.title,
  request: {
    method: "GET",
    path: `/wiki/api/v2${one.path}`,
    query: { limit: "{{args.limit ?? 100}}", ...one.query, ...fromArgs("cursor", ...Object.keys(one.filters ?? {})) },
    queryStyle: "comma"
  },
  response: confluenceResponse,
  pagination: { type: "link", param: "cursor", next: "$._links.next", items: "$.results" },
  inputSchema: args({ ...one.filters, limit: upTo(250), cursor: text }),
  outputSchema: record({ results: list(one.item), _links: record({ next: text, base: text }) }, "results"),
  mocks: [{ name: "one", output: { results: [one.mock], _links: { base: "https://acme.atlassian.net/wiki" } } }]
})

// --- Bodies ---

export const storageFormat = { "body-format": "storage" }
export const storedBody: JsonObject = record({ storage: record({ value: text, representation: text }) })
/** The same form as in answers, so that a record can be sent as it was read. */
export const bodyInput: JsonObject = withDescription(
  "storage: the format of Confluence, XHTML; representation: storage, wiki or atlas_doc_format",
  record({
    storage: record({ value: text, representation: oneOf("storage", "wiki", "atlas_doc_format") })
  })
)
export const sentBody = {
  representation: "{{args.body.storage.representation ?? 'storage'}}",
  value: "{{args.body.storage.value ?? ''}}"
}

const version = record({ number: integer, message: text, createdAt: time, authorId: text }, "number")
/** Confluence wants the number of the version that a change makes. */
export const versionInput: JsonObject = withDescription("The number of the version that is changed", integer)
export const sentVersion = { number: "{{args.version}}", message: "{{args.message}}" }

// --- Records ---

export const confluenceSpace: JsonObject = record(
  { id: text, key: text, name: text, type: text, status: text, homepageId: text, createdAt: time },
  "id",
  "key"
)
export const confluencePage: JsonObject = record(
  {
    id: text,
    status: text,
    title: text,
    spaceId: text,
    parentId: { type: ["string", "null"] },
    authorId: text,
    createdAt: time,
    version,
    body: storedBody
  },
  "id",
  "title"
)
export const confluenceComment: JsonObject = record(
  { id: text, status: text, pageId: text, parentCommentId: text, version, body: storedBody },
  "id"
)

const versionMock: JsonObject = {
  number: 3,
  message: "",
  createdAt: "2026-11-02T10:30:00.000Z",
  authorId: "5b10ac8d82e05b22cc7d4ef5"
}
const bodyMock: JsonObject = { storage: { value: "<p>Turn the pump off.</p>", representation: "storage" } }

export const spaceMock: JsonObject = {
  id: "98305",
  key: "OPS",
  name: "Operations",
  type: "global",
  status: "current",
  homepageId: "98392",
  createdAt: "2026-01-02T09:00:00.000Z",
  _links: { webui: "/spaces/OPS" }
}
export const pageMock: JsonObject = {
  id: "98401",
  status: "current",
  title: "Pumps",
  spaceId: "98305",
  parentId: "98392",
  parentType: "page",
  authorId: "5b10ac8d82e05b22cc7d4ef5",
  createdAt: "2026-10-01T09:00:00.000Z",
  version: versionMock,
  body: bodyMock,
  _links: { webui: "/spaces/OPS/pages/98401/Pumps" }
}
export const commentMock: JsonObject = {
  id: "98510",
  status: "current",
  title: "Re: Pumps",
  pageId: "98401",
  version: { ...versionMock, number: 1 },
  body: { storage: { value: "<p>Done.</p>", representation: "storage" } }
}
