/** Pages that people read: no violation of axe, each with a language and a title. */
import { assert, describe, it } from "@effect/vitest"
import { documentText } from "../../src/http/Documents.js"
import { referencePages } from "../../src/http/reference/ReferencePages.js"
import { findViolations } from "../support/accessibility.js"

describe("the rules of axe", () => {
  it("find what is wrong with a page", async () => {
    const found = await findViolations("<!doctype html><html><body><img src='a.png'><input></body></html>")
    for (const rule of ["html-has-lang", "document-title", "image-alt", "label"])
      assert.isTrue(
        found.some((one) => one.startsWith(`${rule}:`)),
        rule
      )
  })

  it("find nothing wrong with the reference of the API", async () => {
    const pages = referencePages({
      document: JSON.parse(documentText("b")),
      documents: [{ path: "/api/v1/openapi.json", title: "OpenAPI 3.1" }]
    })
    for (const path of ["/docs", "/docs/credentials", "/docs/schemas", "/docs/schemas/Credential"])
      assert.deepStrictEqual(await findViolations(pages[path] ?? ""), [], path)
  })
})
