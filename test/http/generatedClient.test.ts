/**
 * A client that openapi-typescript generates from the documents compiles strictly and can send what the service
 * accepts.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import openapiTypescript, { astToString } from "openapi-typescript"
import { documentText } from "../../src/http/Documents.js"
import { isObject, type Json, type JsonObject } from "../../src/domain/Json.js"

const members = (value: Json | undefined): JsonObject => (value !== undefined && isObject(value) ? value : {})
const listOf = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])
const code = JSON.stringify

/** Code that calls an operation and reads its answers by the generated types. */
const types = `
type JsonBody<T> = [T] extends [never] ? undefined : T extends { content: { "application/json": infer Body } } ? Body : undefined
type Sent<Operation extends { parameters: object; requestBody?: unknown }> =
  Omit<Operation["parameters"], "cookie"> & { body: JsonBody<NonNullable<Operation["requestBody"]>> }
type Headers<Answer> = Answer extends { headers: infer All } ? All : never
`

const valueOf = (schema: Json | undefined): Json => {
  const { enum: choices, type } = members(schema)
  const [choice] = listOf(choices)
  return choice ?? (type === "integer" || type === "number" ? 1 : type === "boolean" ? true : "text")
}

/** The values of an operation's parameters, by their place. */
const parametersOf = (document: JsonObject, operation: JsonObject): JsonObject => {
  const shared = members(members(document["components"])["parameters"])
  const all = listOf(operation["parameters"]).map((one) => {
    const { $ref } = members(one)
    return members(typeof $ref === "string" ? shared[$ref.split("/").at(-1) ?? ""] : one)
  })
  const places = new Set(all.map((one) => String(one["in"])))
  return Object.fromEntries(
    [...places].map((place) => [
      place,
      Object.fromEntries(
        all.filter((one) => one["in"] === place).map((one) => [String(one["name"]), valueOf(one["schema"])])
      )
    ])
  )
}

interface Program {
  readonly text: string
  readonly operations: number
}

/** A call of every operation with all parameters and its example, which reads the headers of every answer. */
const programOf = (name: string, document: JsonObject): Program => {
  const calls = Object.entries(members(document["paths"])).flatMap(([place, item]) =>
    Object.entries(members(item)).map(([method, operation], at) => {
      const { requestBody, responses } = members(operation)
      const { example } = members(members(members(requestBody)["content"])["application/json"])
      const type = `paths[${code(place)}][${code(method)}]`
      const sent = code({
        ...parametersOf(document, members(operation)),
        ...(example === undefined ? {} : { body: example })
      })
      const body = example === undefined ? `{ ...${sent}, body: undefined }` : sent
      const looks = Object.keys(members(responses)).map(
        (
          status
        ) => `  (answer: ${type}["responses"][${/^\d+$/.test(status) ? status : code(status)}]): string | undefined => {
    const headers: Headers<typeof answer> = answer.headers
    return headers["x-request-id"]
  }`
      )
      const id = `${String(members(operation)["operationId"]).replace(".", "_")}_${at}`
      return `export const ${id}: Sent<${type}> = ${body}\nexport const ${id}_answers = [\n${looks.join(",\n")}\n]`
    })
  )
  return {
    text: `import type { paths } from "./${name}.js"\n${types}\n${calls.join("\n")}\n`,
    operations: calls.length
  }
}

/** Requests beyond the examples: any JSON below \`input\`, and omitted members with defaults. */
const nested = `import type { components } from "./a.js"
import type { components as management } from "./c.js"
export const run: components["schemas"]["ExecuteRequest"] = {
  input: { order: { lines: [{ sku: "a", amount: 2.5, gift: null }], tags: ["x", true] } }
}
export const definition: management["schemas"]["ConnectorDefinition"] = {
  svcConnector: 1, slug: "a", name: "A", kind: "crm", version: "1.0.0", baseUrl: "https://a.example",
  auth: [{ id: "key", type: "api_key" }],
  actions: [{ name: "me", request: { method: "GET", path: "/me" } }]
}
export const returned = (value: components["schemas"]["Json"]): string => (typeof value === "string" ? value : "")
`

const compiled = (directory: string): Promise<{ readonly status: number | null; readonly output: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path.resolve("node_modules/typescript/bin/tsc"), "-p", directory])
    let output = ""
    child.stdout.on("data", (part) => (output += String(part)))
    child.on("error", reject)
    child.on("close", (status) => resolve({ status, output }))
  })

const config = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    module: "NodeNext",
    target: "ES2022",
    types: []
  }
}

describe("a client that is generated from the documents", () => {
  it("compiles strictly and calls every operation", async () => {
    const directory = await fs.mkdtemp(path.join(os.tmpdir(), "svc-client-"))
    try {
      const write = (file: string, text: string) => fs.writeFile(path.join(directory, file), text)
      let operations = 0
      for (const name of ["a", "b", "c"] as const) {
        const text = documentText(name)
        await write(`${name}.d.ts`, astToString(await openapiTypescript(text)))
        const program = programOf(name, JSON.parse(text))
        operations += program.operations
        await write(`calls-${name}.ts`, program.text)
      }
      await write("nested.ts", nested)
      await write("package.json", JSON.stringify({ type: "module" }))
      await write("tsconfig.json", JSON.stringify(config))
      assert.isAbove(operations, 80)
      assert.deepStrictEqual(await compiled(directory), { status: 0, output: "" })
    } finally {
      await fs.rm(directory, { recursive: true, force: true })
    }
  })
})
