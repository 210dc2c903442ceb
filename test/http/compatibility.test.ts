/** The changes of an API's document that break clients of the previous one. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const released = {
  openapi: "3.1.0",
  paths: {
    "/things": {
      get: {
        parameters: [{ $ref: "#/components/parameters/Page" }],
        responses: {
          "200": {
            headers: { etag: {} },
            content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } }
          },
          "404": { $ref: "#/components/responses/Missing" }
        }
      },
      post: {
        parameters: [],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/NewThing" } } }
        },
        responses: { "201": {} }
      }
    },
    "/things/{id}": { delete: { parameters: [], responses: { "204": {} } } }
  },
  components: {
    parameters: { Page: { name: "page_size", in: "query", required: false, schema: { type: "string" } } },
    responses: {
      Missing: {
        content: { "application/json": { schema: { type: "object", properties: { code: { type: "string" } } } } }
      }
    },
    schemas: {
      Thing: {
        type: "object",
        required: ["id", "kind"],
        properties: {
          id: { type: "string" },
          kind: { type: "string", enum: ["a", "b"] },
          size: { anyOf: [{ type: "number" }, { type: "null" }] }
        }
      },
      NewThing: {
        type: "object",
        required: ["kind"],
        properties: { kind: { type: "string", enum: ["a", "b"] }, size: { type: "number" }, note: { type: "string" } },
        additionalProperties: false
      }
    }
  }
}

let directory: string
beforeAll(() => void (directory = fs.mkdtempSync(path.join(os.tmpdir(), "svc-compatibility-"))))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** Sets a value at a place of the released document; `undefined` removes it. */
const breaks = (...changes: ReadonlyArray<readonly [place: string, value: unknown]>): ReadonlyArray<string> => {
  const document = structuredClone(released)
  for (const [place, value] of changes) {
    const parts = place.split(" ")
    const last = parts.pop() ?? ""
    // Tests navigate anywhere in the document.
    // oxlint-disable-next-line typescript/no-explicit-any
    const holder = parts.reduce((at: any, part) => at[part], document)
    if (value === undefined) delete holder[last]
    else holder[last] = value
  }
  const write = (name: string, content: unknown) => {
    const file = path.join(directory, name)
    fs.writeFileSync(file, JSON.stringify(content))
    return file
  }
  const { status, stderr } = spawnSync(
    process.execPath,
    ["scripts/compatibility.mjs", write("old.json", released), write("new.json", document)],
    { encoding: "utf8" }
  )
  const lines = stderr.split("\n").filter((line) => line !== "")
  assert.strictEqual(status, lines.length === 0 ? 0 : 1)
  return lines.map((line) => line.replace(/ \(since .*\)$/, ""))
}

const thing = "components schemas Thing"
const newThing = "components schemas NewThing"

describe("a change breaks clients of the release", () => {
  it.each([
    ["a path is gone", ["paths /things/{id}", undefined], "/things/{id} is gone"],
    ["an operation is gone", ["paths /things post", undefined], "POST /things is gone"],
    ["a status is gone", ["paths /things get responses 404", undefined], "GET /things: 404 is gone"],
    [
      "a header of an answer is gone",
      ["paths /things get responses 200 headers", {}],
      "GET /things: 200: header etag is gone"
    ],
    ["a member of an answer is gone", [`${thing} properties size`, undefined], "GET /things: 200.size is gone"],
    ["a member may be missing", [`${thing} required`, ["id"]], "GET /things: 200.kind is no longer always there"],
    [
      "a member has another type",
      [`${thing} properties id`, { type: "number" }],
      "GET /things: 200.id may now be number"
    ],
    [
      "an answer has another alternative",
      [`${thing} properties size anyOf`, [{ type: "number" }, { type: "string" }]],
      "GET /things: 200.size may now be another than alternative 2"
    ],
    [
      "a shared answer lacks a member",
      ["components responses Missing content application/json schema properties", {}],
      "GET /things: 404.code is gone"
    ],
    ["a member is now required", [`${newThing} required`, ["kind", "note"]], "POST /things: body.note is now required"],
    ["a member is no longer taken", [`${newThing} properties note`, undefined], "POST /things: body.note is gone"],
    ["an enum is narrower", [`${newThing} properties kind enum`, ["a"]], 'POST /things: body.kind no longer takes "b"'],
    [
      "a member takes another type",
      [`${newThing} properties size`, { type: "integer" }],
      "POST /things: body.size no longer takes number"
    ],
    [
      "a parameter is now required",
      ["components parameters Page required", true],
      "GET /things: query page_size is now required"
    ],
    [
      "a new parameter is required",
      ["paths /things post parameters", [{ name: "x-a", in: "header", required: true, schema: {} }]],
      "POST /things: header x-a is now required"
    ],
    ["a parameter is gone", ["paths /things get parameters", []], "GET /things: query page_size is gone"]
  ] as const)("%s", (_name, change, told) => {
    assert.deepStrictEqual(breaks(change), [told])
  })
})

describe("a change leaves clients of the release alone", () => {
  it.each([
    ["nothing", []],
    ["a new path", [["paths /others", { get: { responses: {} } }]]],
    ["a new member of an answer", [[`${thing} properties more`, { type: "string" }]]],
    ["an enum of an answer that grows", [[`${thing} properties kind enum`, ["a", "b", "c"]]]],
    ["a new optional member of a body", [[`${newThing} properties more`, { type: "string" }]]],
    ["a body that takes more", [[`${newThing} properties kind enum`, ["a", "b", "c"]]]],
    ["a member that is no longer required", [[`${newThing} required`, []]]],
    ["a new optional parameter", [["paths /things post parameters", [{ name: "q", in: "query", schema: {} }]]]]
  ] as const)("%s", (_name, changes) => {
    assert.deepStrictEqual(breaks(...changes), [])
  })
})
