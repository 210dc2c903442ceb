/** A definition is compared with the provider's own document: what differs is found, and what agrees is not. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { readProviderDocument } from "../../../src/domain/connector/check/ProviderDocument.js"
import type { ConnectorManifest } from "../../../src/domain/connector/Definition.js"
import type { Json, JsonObject } from "../../../src/domain/Json.js"
import {
  actions,
  compare,
  content,
  entity,
  found,
  largeOpenApi,
  openApi,
  text,
  withAction,
  withRequest
} from "../../support/comparedConnector.js"

describe("a definition that agrees with the document", () => {
  it("has no difference, and all its actions are compared", () => {
    const comparison = compare(openApi)
    assert.deepStrictEqual(found(comparison), [])
    assert.deepStrictEqual([comparison.compared, comparison.actions, comparison.entities], [3, 3, 1])
    assert.deepStrictEqual(comparison.documents, [{ title: "People", version: "7", operations: 5 }])
  })

  it("may have the host and what is before the path in its connection's config", () => {
    assert.deepStrictEqual(found(compare(openApi, { baseUrl: "{{connection.config.url}}" })), [])
  })
})

interface Row {
  readonly what: string
  readonly changes: Partial<ConnectorManifest>
  readonly expected: ReadonlyArray<string>
}
const rows: ReadonlyArray<Row> = [
  {
    what: "another path",
    changes: withRequest("getPerson", { path: "/persons/{{args.id}}" }),
    expected: ["getPerson request.path UNKNOWN_PATH"]
  },
  {
    what: "another base path",
    changes: { baseUrl: "https://people.example/api/v2", entities: [], actions: actions.slice(1, 2) },
    expected: ["getPerson request.path UNKNOWN_PATH"]
  },
  {
    what: "another method",
    changes: withRequest("getPerson", { method: "PATCH", body: {} }),
    expected: ["getPerson request.method UNKNOWN_METHOD"]
  },
  {
    what: "a parameter that the document lacks, and one that is required",
    changes: withRequest("listPeople", { query: { size: "{{args.limit}}" } }),
    expected: ["listPeople request.query.size UNKNOWN_PARAMETER", "listPeople request.query.since MISSING_PARAMETER"]
  },
  {
    what: "a parameter that is a header, which is missing there",
    changes: withRequest("listPeople", {
      query: { since: "{{args.since}}", "x-account": "{{args.limit}}" },
      headers: {}
    }),
    expected: [
      "listPeople request.query.x-account PARAMETER_PLACE",
      "listPeople request.headers.x-account MISSING_PARAMETER"
    ]
  },
  {
    what: "a required parameter whose argument is not",
    changes: withAction("listPeople", () => ({ inputSchema: { type: "object", properties: { since: {} } } })),
    expected: ["listPeople request.query.since OPTIONAL_PARAMETER"]
  },
  {
    what: "no body where one is required",
    changes: { ...withRequest("createPerson", { body: null }), entities: [] },
    expected: ["createPerson request.body MISSING_BODY"]
  },
  {
    what: "a body where there is none",
    changes: withRequest("getPerson", { body: { id: "{{args.id}}" } }),
    expected: ["getPerson request.body UNKNOWN_BODY"]
  },
  {
    what: "a form instead of JSON",
    changes: { ...withRequest("createPerson", { bodyType: "form" }), entities: [] },
    expected: ["createPerson request.bodyType BODY_TYPE"]
  },
  {
    what: "members of the body that the document lacks, in the definition and in an argument's schema",
    changes: {
      entities: [],
      ...withAction("createPerson", ({ inputSchema }) => ({
        request: { ...actions[2]?.request, body: { name: "{{args.name}}", title: "Dr", mails: "{{args.mails}}" } },
        inputSchema: {
          ...(inputSchema as JsonObject),
          properties: { name: text, mails: { type: "array", items: { type: "object", properties: { mail: text } } } }
        }
      }))
    },
    expected: [
      "createPerson request.body.title UNKNOWN_MEMBER",
      "createPerson request.body.mails[*].mail UNKNOWN_MEMBER"
    ]
  },
  {
    what: "a required member that is never sent, which excludes those that the provider sets",
    changes: { ...withRequest("createPerson", { body: { kind: "{{args.kind}}" } }), entities: [] },
    expected: ["createPerson request.body.name MISSING_MEMBER"]
  },
  {
    what: "a required member that is optional, another type and an unknown word",
    changes: {
      entities: [],
      ...withAction("createPerson", () => ({
        inputSchema: {
          type: "object",
          properties: { name: { type: "integer" }, kind: { type: "string", enum: ["lead", "foe"] } }
        }
      }))
    },
    expected: [
      "createPerson request.body.name OTHER_TYPE",
      "createPerson request.body.kind UNKNOWN_WORD",
      "createPerson request.body.name OPTIONAL_MEMBER"
    ]
  },
  {
    what: "a result and pages that the answer lacks",
    changes: {
      entities: [],
      ...withAction("listPeople", () => ({
        pagination: { type: "cursor", items: "$.persons", next: "$.cursor", param: "after" },
        outputSchema: { type: "object", properties: { persons: { type: "array" } } }
      }))
    },
    expected: [
      "listPeople outputSchema.persons UNREAD_MEMBER",
      "listPeople pagination.items UNREAD_MEMBER",
      "listPeople pagination.next UNREAD_MEMBER"
    ]
  },
  {
    what: "members that an entity's maps read and write",
    changes: {
      entities: [
        {
          ...entity,
          unifiedFields: [...(entity.unifiedFields ?? []), { from: "boss.email", to: "title" }],
          unifiedFieldsOut: [...(entity.unifiedFieldsOut ?? []), { from: "title", to: "mails[0].label" }]
        }
      ]
    },
    expected: [
      "listPeople (person) read: boss.email UNREAD_MEMBER",
      "getPerson (person) get: boss.email UNREAD_MEMBER",
      "createPerson (person) create: boss.email UNREAD_MEMBER",
      "createPerson (person) create: mails[0].label UNKNOWN_MEMBER"
    ]
  }
]

describe("a difference is found and named with action and place", () => {
  for (const { changes, expected, what } of rows)
    it(what, () => assert.deepStrictEqual(found(compare(openApi, changes)), expected))
})

describe("other forms of documents", () => {
  it("Swagger 2, with a base path, a body and a form", () => {
    const swagger: JsonObject = {
      swagger: "2.0",
      info: { title: "People", version: "6" },
      basePath: "/api/v1/",
      paths: {
        "/people/{id}": { get: { responses: { 200: { schema: { $ref: "#/definitions/Person" } } } } },
        "/people": {
          post: {
            consumes: ["application/json"],
            parameters: [
              { name: "body", in: "body", required: true, schema: { type: "object", properties: { name: text } } }
            ],
            responses: { 201: { schema: { $ref: "#/definitions/Person" } } }
          }
        },
        "/login": {
          post: {
            parameters: [{ name: "user", in: "formData", required: true, type: "string" }],
            responses: {}
          }
        }
      },
      definitions: { Person: { type: "object", properties: { id: text, name: text } } }
    }
    const login: ConnectorManifest["actions"][number] = {
      name: "login",
      request: { method: "POST", path: "/login", body: { name: "x" }, bodyType: "form" }
    }
    assert.deepStrictEqual(found(compare(swagger, { entities: [], actions: [...actions.slice(1), login] })), [
      "createPerson request.body.kind UNKNOWN_MEMBER",
      "createPerson request.body.mails UNKNOWN_MEMBER",
      "login request.body.name UNKNOWN_MEMBER",
      "login request.body.user MISSING_MEMBER"
    ])
  })

  it("a Google discovery document, with common parameters and uploads", () => {
    const discovery: JsonObject = {
      kind: "discovery#restDescription",
      title: "Files",
      version: "v3",
      revision: "20260101",
      servicePath: "files/v3/",
      parameters: { fields: { type: "string", location: "query" } },
      resources: {
        files: {
          methods: {
            list: { httpMethod: "GET", path: "files", response: { $ref: "List" } },
            update: {
              httpMethod: "PATCH",
              path: "files/{fileId}",
              parameters: { fileId: { location: "path", required: true } },
              request: { $ref: "File" },
              response: { $ref: "File" },
              mediaUpload: { protocols: { simple: { path: "/upload/files/v3/files/{fileId}" } } }
            }
          }
        }
      },
      schemas: {
        File: { type: "object", properties: { name: text } },
        List: { type: "object", properties: { files: { type: "array", items: { $ref: "File" } } } }
      }
    }
    const upload = "https://files.example/upload/files/v3/files/{{args.id}}"
    const comparison = compare(discovery, {
      entities: [],
      baseUrl: "https://files.example/files/v3",
      actions: [
        {
          name: "list",
          request: { method: "GET", path: "/files", query: { fields: "{{args.fields}}", q: "x" } },
          outputSchema: {
            type: "object",
            properties: { files: { type: "array", items: { properties: { size: {} } } } }
          }
        },
        { name: "rename", request: { method: "PATCH", path: "/files/{{args.id}}", body: { name: "x", size: 1 } } },
        { name: "upload", request: { method: "PATCH", path: upload, body: "{{args.text}}", bodyType: "text" } }
      ]
    })
    assert.deepStrictEqual(found(comparison), [
      "list request.query.q UNKNOWN_PARAMETER",
      "list outputSchema.files[*].size UNREAD_MEMBER",
      "rename request.body.size UNKNOWN_MEMBER",
      "upload request.query.uploadType MISSING_PARAMETER"
    ])
    assert.strictEqual(comparison.documents[0]?.version, "v3, revision 20260101")
  })

  it("values of several segments match the path that their pattern describes", () => {
    const document: JsonObject = {
      openapi: "3.1.0",
      paths: {
        "/issue/{key}": { get: { responses: { 200: content({ type: "object", properties: { key: text } }) } } },
        "/issue/{key}/comment/{id}": { get: { responses: { 200: content({ properties: { body: text } }) } } }
      }
    }
    const get: ConnectorManifest["actions"][number] = {
      name: "getComment",
      request: { method: "GET", path: "/issue/{{args.place}}", pathValues: "segments" },
      inputSchema: { type: "object", properties: { place: { type: "string", pattern: "^\\w+/comment/\\d+$" } } },
      outputSchema: { type: "object", properties: { body: text } }
    }
    const changes = { entities: [], baseUrl: "{{connection.config.url}}", actions: [get] }
    assert.deepStrictEqual(found(compare(document, changes)), [])
  })
})

describe("hostile documents", () => {
  const refused = (value: Json): string => Either.getOrThrow(Either.flip(readProviderDocument(value)))

  it("a value that is no document is refused with what it should be", () => {
    for (const value of [null, 1, "x", [], {}, { openapi: "9" }, { kind: "discovery" }])
      assert.match(refused(value), /OpenAPI document/)
    assert.strictEqual(
      refused({ openapi: "3.0.0", paths: { "/x": { get: 7, "x-post": {} }, y: null } }),
      "has no operations"
    )
  })

  it("schemas that contain themselves, and references that lead nowhere, leave members open", () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const circular: JsonObject = {
      ...openApi,
      components: {
        schemas: {
          Person: { allOf: [ref("Person"), ref("Other"), ref("Loop")] },
          Other: { anyOf: [ref("Person"), ref("Missing"), { $ref: "https://elsewhere.example/x.json" }] },
          Loop: ref("Pool"),
          Pool: ref("Loop")
        }
      }
    }
    const comparison = compare(circular)
    assert.deepStrictEqual(found(comparison), [])
    assert.isAbove(comparison.uncompared.length, 3)
  })

  it("names of the language's own members are members like others", () => {
    const strange: JsonObject = JSON.parse(
      `{"openapi":"3.0.0","paths":{"/people":{"post":{"requestBody":{"content":{"application/json":{"schema":{"properties":{"name":{"type":"string"},"__proto__":{"type":"object"}}}}}}}},"__proto__":{"get":{}}}}`
    )
    assert.deepStrictEqual(
      found(compare(strange, { baseUrl: "https://people.example", entities: [], actions: actions.slice(2) })),
      ["createPerson request.body.kind UNKNOWN_MEMBER", "createPerson request.body.mails UNKNOWN_MEMBER"]
    )
  })

  it("a large document, and schemas that fan out, are compared", () => {
    assert.strictEqual(compare(largeOpenApi).compared, 3)
  })
})
