import { assert, describe, it } from "@effect/vitest"
import { parseUrl } from "../../src/domain/Url.js"

describe("a URL", () => {
  it("is parsed the same however often others were, also beyond ASCII", () => {
    let refused = 0
    for (let n = 0; n < 200_000; n++) if (parseUrl("https://münchen.example/straße")?.host === undefined) refused++
    assert.strictEqual(refused, 0)
  })

  it("is undefined for other text", () => {
    assert.isUndefined(parseUrl("/relative"))
    assert.strictEqual(parseUrl("/relative", "https://a.example")?.href, "https://a.example/relative")
  })
})
