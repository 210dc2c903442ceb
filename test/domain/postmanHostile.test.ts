/** Whatever a Postman collection has, its import ends, and gives a valid definition or the place of the mistake. */
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { importPostman } from "../../src/domain/connector/import/postman/PostmanCollection.js"
import { validateDefinition } from "../../src/domain/connector/Validation.js"
import type { Json, JsonObject } from "../../src/domain/Json.js"
import { computations } from "../../src/runtime/computing/worker/Table.js"
import { findSchemaMistakes } from "../../src/runtime/computing/worker/Contracts.js"
import { collection, collectionSchema } from "../support/postman.js"

const get = (url: Json, more: JsonObject = {}): JsonObject => ({
  name: "Call",
  request: { method: "GET", url, ...more }
})

const definitionOf = (document: Json) =>
  Either.flatMap(importPostman(document, {}), ({ definition }) => validateDefinition(definition, findSchemaMistakes))

/** A document as `JSON.parse` makes it, in which `__proto__` is a member like any other. */
const parsed = (text: string): JsonObject => JSON.parse(text)

describe("documents that are no collection of version 2.1", () => {
  const other = (schema: unknown): Json => JSON.parse(JSON.stringify({ info: { name: "A", schema }, item: [] }))
  it.each([
    [null, "", /not a Postman collection/],
    [[], "", /not a Postman collection/],
    [{ openapi: "3.0.0" }, "", /not a Postman collection/],
    [
      other(collectionSchema.replace("v2.1.0", "v2.0.0")),
      "info.schema",
      /version 2\.0\.0.*export it as Collection v2\.1/
    ],
    [{ collection: other(collectionSchema.replace("v2.1.0", "v2.0.0")) }, "collection.info.schema", /export it as/],
    [{ id: "1", name: "Old", requests: [] }, "", /version 1.*export it as/],
    [other("https://example.test/x"), "info.schema", /not a Postman collection/],
    [other(7), "info.schema", /not a Postman collection/],
    [other(collectionSchema), "item", /no requests/]
  ] as const)("%j: at %s", (document, place, message) => {
    const { at, message: why } = Either.getOrThrow(Either.flip(importPostman(document, {})))
    assert.strictEqual(at, place)
    assert.match(why, message)
  })

  it("are refused by the computation with the place in the request", () => {
    const compute = (source: Json) =>
      computations.importDefinition({ source, path: "import.source", format: "postman", options: {} })
    const refused = compute(collection([]))
    assert.deepStrictEqual(refused.ok ? [] : refused.mistakes.map(({ path }) => path), ["import.source.item"])
  })
})

describe("hostile collections", () => {
  it("with folders in folders without end are refused with the place", () => {
    let item: Json = get("https://a.test/x")
    for (let depth = 0; depth < 5_000; depth++) item = { item: [item] }
    const { at, message } = Either.getOrThrow(Either.flip(importPostman(collection([item]), {})))
    assert.match(message, /folder/)
    assert.strictEqual(at.split(".").length, 33)
  })

  it("with 10,000 requests of one name are imported, or refused as too large, and all names differ", () => {
    const items = Array.from({ length: 10_000 }, (_, n) => get(`https://h${n % 50}.test/{{v${n}}}/x`))
    const { definition, warnings } = Either.getOrThrow(importPostman(collection(items), {}))
    const { actions } = definition as { readonly actions: ReadonlyArray<{ readonly name: string }> }
    assert.strictEqual(new Set(actions.map(({ name }) => name)).size, 10_000)
    assert.isAtMost(warnings.length, 201)
  })

  it("with variables in circles or that double have none of these values", () => {
    const variable: ReadonlyArray<Json> = [
      { key: "a", value: "{{b}}" },
      { key: "b", value: "{{a}}" },
      { key: "self", value: "{{self}}{{self}}" },
      { key: "d0", value: "x".repeat(1_000) },
      ...Array.from({ length: 20 }, (_, n) => ({ key: `d${n + 1}`, value: `{{d${n}}}`.repeat(20) }))
    ]
    for (const name of ["a", "self", "d20", "__proto__", "constructor"]) {
      const document = collection([get(`{{${name}}}/x`, { header: [{ key: "X-A", value: `{{${name}}}` }] })], {
        variable
      })
      const definition = Either.getOrThrow(definitionOf(document))
      assert.match(definition.baseUrl, /^\{\{connection\.config\.\w+\}\}$/)
    }
  })

  it("with members called __proto__ change nothing else", () => {
    const document = parsed(
      JSON.stringify(
        collection([
          {
            name: "__proto__",
            request: {
              method: "POST",
              url: {
                raw: "https://a.test/:__proto__/{{__proto__}}?__proto__=1",
                host: ["a", "test"],
                path: [":__proto__", "{{__proto__}}"],
                query: [{ key: "__proto__", value: "1" }],
                variable: [{ key: "__proto__", description: "x" }]
              },
              header: [{ key: "__proto__", value: "1" }],
              body: { mode: "raw", raw: '{"__proto__": {"polluted": true}, "constructor": 1}' }
            }
          },
          get("https://a.test/x")
        ])
      ).replace('"item"', '"__proto__": {"polluted": true}, "item"')
    )
    const definition = Either.getOrThrow(definitionOf(document))
    assert.strictEqual(definition.actions.length, 2)
    assert.notProperty({}, "polluted")
  })

  it("with huge texts are cut or left out", () => {
    const huge = "é{{".repeat(300_000)
    const document = collection(
      [
        { ...get(`https://a.test/${"a".repeat(1_000)}`, { description: huge }), name: huge },
        get(`https://${"h".repeat(500_000)}.test/x`),
        get("https://a.test/x", { header: [{ key: "X-A", value: huge }], body: { mode: "raw", raw: huge } })
      ],
      { variable: [{ key: "v", value: huge }], info: { name: huge, schema: collectionSchema, description: huge } }
    )
    const definition = Either.getOrThrow(definitionOf(document))
    assert.isBelow(JSON.stringify(definition).length, 50_000)
  })

  it("with a body that nests without end has a schema of bounded depth", () => {
    const raw = `${"[".repeat(50)}1${"]".repeat(50)}`
    const deeper = `${"[".repeat(100_000)}1${"]".repeat(100_000)}`
    for (const one of [raw, deeper]) {
      const document = collection([
        { name: "Send", request: { method: "POST", url: "https://a.test/x", body: { mode: "raw", raw: one } } }
      ])
      assert.isTrue(Either.isRight(definitionOf(document)))
    }
  })
})

// --- Random collections ---

const hostileTexts =
  `|a|{{a}}|{{|}}|:id|{{baseUrl}}|https://a.test|__proto__|..|?|#|/|%|\\|"|ü|a b|http://{{h}}:{{p}}|[redacted]|{{$guid}}|{x}|@|secret|1x|{{1x}}|{{a.b}}`.split(
    "|"
  )

const text = FastCheck.oneof(FastCheck.constantFrom(...hostileTexts), FastCheck.string({ maxLength: 12 }))
const words = FastCheck.array(text, { maxLength: 3 }).map((all) => all.join(""))
const anything = FastCheck.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json)
const orAnything = <A extends Json>(wanted: FastCheck.Arbitrary<A>) =>
  FastCheck.oneof({ weight: 8, arbitrary: wanted as FastCheck.Arbitrary<Json> }, { weight: 1, arbitrary: anything })
const entry = orAnything(
  FastCheck.record(
    {
      key: words,
      value: words,
      description: words,
      disabled: FastCheck.boolean(),
      type: FastCheck.constantFrom("file", "text", "secret")
    },
    { requiredKeys: [] }
  ) as FastCheck.Arbitrary<JsonObject>
)
const entries = orAnything(FastCheck.array(entry, { maxLength: 3 }))
const auth = orAnything(
  FastCheck.constantFrom("bearer", "basic", "apikey", "oauth2", "noauth", "hawk", "__proto__").chain((type) =>
    entries.map((given): JsonObject => ({ type, [type]: given }))
  )
)
const partial = (members: { readonly [name: string]: FastCheck.Arbitrary<Json> }) =>
  FastCheck.record(members, { requiredKeys: [] }) as FastCheck.Arbitrary<JsonObject>
const url = orAnything(
  FastCheck.oneof(
    words,
    partial({
      raw: words,
      protocol: words,
      host: orAnything(FastCheck.array(words, { maxLength: 3 })),
      port: words,
      path: orAnything(FastCheck.array(orAnything(words), { maxLength: 4 })),
      query: entries,
      variable: entries
    })
  )
)
const body = orAnything(
  FastCheck.constantFrom("raw", "urlencoded", "formdata", "file", "graphql").chain((mode) =>
    FastCheck.oneof(
      entries,
      orAnything(words),
      anything.map((value) => JSON.stringify(value))
    ).map((content): JsonObject => ({ mode, [mode]: content }))
  )
)
const item: FastCheck.Arbitrary<Json> = orAnything(
  partial({
    name: words,
    request: orAnything(
      partial({
        method: FastCheck.constantFrom("GET", "POST", "get", "PURGE", "DELETE"),
        url,
        header: orAnything(entries),
        body,
        auth,
        description: words
      })
    ),
    response: orAnything(
      FastCheck.array(partial({ code: FastCheck.constant(200), name: words, body: words }), { maxLength: 2 })
    )
  })
)
const folder = partial({ name: words, item: orAnything(FastCheck.array(item, { maxLength: 3 })), auth })
const document = FastCheck.record({
  info: FastCheck.record({ name: orAnything(words), schema: FastCheck.constant(collectionSchema), version: anything }),
  item: FastCheck.array(FastCheck.oneof(item, folder), { maxLength: 4 }),
  variable: entries,
  auth
}) as FastCheck.Arbitrary<JsonObject>

describe("random collections", () => {
  it("are never an exception, and what is imported is valid", () => {
    FastCheck.assert(
      FastCheck.property(document, (one) => {
        const imported = importPostman(one, { slug: "random", name: "Random" })
        if (Either.isLeft(imported)) return
        const valid = validateDefinition(imported.right.definition, findSchemaMistakes)
        assert.isTrue(
          Either.isRight(valid),
          JSON.stringify([one, Either.isLeft(valid) ? valid.left : imported.right.definition])
        )
      }),
      { numRuns: 1_000 }
    )
  })
})
