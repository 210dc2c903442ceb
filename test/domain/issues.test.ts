/** Issues of a schema say what to write, and never repeat the value. */
import { assert, describe, it } from "@effect/vitest"
import { Either, ParseResult, Schema } from "effect"
import { detailsOf } from "../../src/domain/Issues.js"

const Request = Schema.Struct({
  kind: Schema.optional(Schema.Literal("crm", "ai", "chat")),
  label: Schema.optional(Schema.NullOr(Schema.String.pipe(Schema.maxLength(3)))),
  size: Schema.optional(Schema.NumberFromString.pipe(Schema.int(), Schema.positive())),
  flag: Schema.optional(Schema.Boolean),
  ids: Schema.optional(Schema.Array(Schema.String)),
  credential: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Number) })),
  tags: Schema.optional(
    Schema.Array(Schema.String).pipe(Schema.filter((tags) => tags.length < 2 || "may hold at most 1"))
  ),
  inner: Schema.optional(Schema.Struct({ name: Schema.String }).annotations({ identifier: "Inner" }))
})
const read = Schema.decodeUnknownEither(Request, { errors: "all", onExcessProperty: "error" })

const told = (value: unknown) =>
  Either.match(read(value), {
    onLeft: (error) =>
      detailsOf(ParseResult.ArrayFormatter.formatErrorSync(error), "is unknown").map(
        ({ code, message, path }) => `${path} ${code}: ${message}`
      ),
    onRight: () => []
  })

describe("a mistake is reported once for its path, with the expected form", () => {
  const secret = "sk_live_canary"
  it.each([
    [{ kind: secret }, 'kind INVALID_VALUE: must be "crm", "ai" or "chat"'],
    [{ label: secret }, "label INVALID_VALUE: must be a string at most 3 character(s) long or null"],
    [{ size: secret }, "size INVALID_VALUE: must be a number"],
    [{ size: "0" }, "size INVALID_VALUE: must be a positive number"],
    [{ flag: secret }, "flag INVALID_VALUE: must be a boolean"],
    [{ ids: secret }, "ids INVALID_VALUE: must be a list"],
    [{ ids: ["a", 5] }, "ids[1] INVALID_VALUE: must be a string"],
    [{ credential: secret }, "credential INVALID_VALUE: must be an object"],
    [{ credential: { key: [secret] } }, "credential.key INVALID_VALUE: must be a string or a number"],
    [{ tags: [secret, secret] }, "tags INVALID_VALUE: may hold at most 1"],
    [{ inner: secret }, "inner INVALID_VALUE: must be an object"],
    [{ inner: {} }, "inner.name REQUIRED: is required"],
    [{ surprise: secret }, "surprise UNKNOWN_FIELD: is unknown"],
    [secret, " INVALID_VALUE: must be an object"]
  ])("%j", (value, expected) => assert.deepStrictEqual(told(value), [expected]))

  it("several are reported in order", () =>
    assert.deepStrictEqual(
      told({ kind: 1, flag: 1 }).map((line) => line.split(" ")[0]),
      ["kind", "flag"]
    ))
})
