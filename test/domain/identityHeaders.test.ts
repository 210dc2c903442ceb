/** The text of headers that name a customer, a user or an installation: UTF-8 where the bytes are UTF-8, else Latin-1. */
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import { bytesOfHeader, headerOfText, identityHeaders, textOfHeader } from "../../src/domain/access/IdentityHeaders.js"
import { claimedExternalRef, parseTenancy, workflowHeaders } from "../../src/domain/Tenancy.js"

/** A header's value as node:http has it: the bytes, one character each. */
const sent = (...bytes: ReadonlyArray<number>) => String.fromCharCode(...bytes)
const utf8 = (text: string) => sent(...Buffer.from(text))

describe("the text of an identity header", () => {
  const table: ReadonlyArray<readonly [name: string, value: string, text: string]> = [
    ["ASCII", "ref:shop-17", "ref:shop-17"],
    ["UTF-8 of two bytes", utf8("ref:Zoë"), "ref:Zoë"],
    ["UTF-8 of three bytes", utf8("ref:日本"), "ref:日本"],
    ["UTF-8 of four bytes", utf8("ref:🍣"), "ref:🍣"],
    ["Latin-1", sent(0x5a, 0x6f, 0xeb), "Zoë"],
    ["Latin-1 at the end of what begins as UTF-8", sent(0xc3, 0xab, 0xeb), "Ã«ë"],
    ["a percent sign, which is not decoded", "ref:Zo%C3%AB", "ref:Zo%C3%AB"],
    ["percent signs beside UTF-8", utf8("ref:ë%41"), "ref:ë%41"],
    ["a byte order mark, which stays", utf8("\ufeffa"), "\ufeffa"],
    ["an overlong NUL, which is not UTF-8", sent(0xc0, 0x80), "\u00c0\u0080"],
    ["half of a surrogate pair, which is not UTF-8", sent(0xed, 0xa0, 0x80), "\u00ed\u00a0\u0080"],
    ["characters that are no bytes", "日本", "日本"]
  ]
  for (const [name, value, text] of table)
    it(name, () => {
      assert.strictEqual(textOfHeader(value), text)
    })

  it.prop("survives the way through a header", [fc.string({ unit: "binary" })], ([text]) => {
    const value = headerOfText(text)
    assert.strictEqual(textOfHeader(value), text)
    assert.deepStrictEqual(Buffer.from(bytesOfHeader(value)), Buffer.from(text))
  })
})

describe("the customer, installation and user of a request", () => {
  const named = (name: string, value: string) =>
    Either.getOrThrow(parseTenancy((asked) => (asked === name ? value : undefined), "org_1"))

  it("are read as text from each of the headers", () => {
    for (const name of ["x-end-org-id", "x-svc-space-tenantid", "x-org-id"])
      for (const value of [utf8("ref:Zoë"), "ref:Zo\xeb"])
        assert.deepStrictEqual(named(name, value).customer, { ref: "Zoë" }, name)
    assert.deepStrictEqual(named("x-end-org-ref", utf8("日本")).customer, { ref: "日本" })
    assert.strictEqual(
      claimedExternalRef(() => utf8("日本")),
      "日本"
    )
    assert.strictEqual(named("x-user-id", utf8("Zoë")).userId, "Zoë")
    assert.strictEqual(named("x-installation-id", utf8("日本")).installationId, "日本")
    assert.deepStrictEqual(named("x-svc-installation-config", utf8('{"city":"日本"}')).installationConfig, {
      city: "日本"
    })
  })

  it("agree whichever way each header is sent", () => {
    const headers: { readonly [name: string]: string } = {
      "x-end-org-id": utf8("ref:Zoë"),
      "x-org-id": "ref:Zo\xeb",
      "x-end-org-ref": utf8("Zoë")
    }
    assert.deepStrictEqual(Either.getOrThrow(parseTenancy((name) => headers[name], "org_1")).customer, { ref: "Zoë" })
  })

  it("reach workflows as text, and other headers as they are sent", () => {
    const sentHeaders = Object.fromEntries([...identityHeaders, "x-other"].map((name) => [name, utf8("日本")]))
    assert.deepStrictEqual(workflowHeaders(sentHeaders), {
      ...Object.fromEntries(identityHeaders.map((name) => [name, "日本"])),
      "x-other": utf8("日本")
    })
  })
})
