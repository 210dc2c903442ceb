/** The forms that webhooks are sent are read in the character set that they name, or refused with what to do. */
import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { readPayload } from "../../src/http/webhook/Payload.js"

const read = (body: string, parameter: string) =>
  readPayload(
    {
      method: "POST",
      target: "/",
      remoteAddress: "127.0.0.1",
      headers: { "content-type": `application/x-www-form-urlencoded${parameter}` },
      body: Uint8Array.from(Buffer.from(body, "latin1"))
    },
    1_000
  )

describe("a form", () => {
  it.each([
    ["name=Jos%C3%A9", ""],
    ["name=Jos%C3%A9", "; charset=utf-8"],
    ["name=Jos%E9", "; charset=ISO-8859-1"],
    ["name=Jos\xe9", '; charset="iso-8859-1"']
  ])("%s%s is read", (body, parameter) =>
    assert.deepStrictEqual(Either.getOrThrow(read(body, parameter)).payload, { name: "José" })
  )

  it.each([
    ["name=Jos%E9", "", "InvalidRequest", /not UTF-8: name its character set .* charset=ISO-8859-1/],
    ["name=a", "; charset=klingon", "UnsupportedMediaType", /charset=klingon/],
    ["name=a", "; charset=utf-16", "UnsupportedMediaType", /charset=utf-16/]
  ] as const)("%s%s is refused: %s", (body, parameter, tag, words) => {
    const refused = Either.getOrThrow(Either.flip(read(body, parameter)))
    assert.strictEqual(refused._tag, tag)
    assert.match(JSON.stringify({ ...refused, message: refused.message }), words)
  })
})
