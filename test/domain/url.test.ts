import { assert, describe, it } from "@effect/vitest"
import { parseUrl } from "../../src/domain/Url.js"

describe("a URL", () => {
  it("is read alike however often others were, with letters beyond ASCII too", () => {
    let refused = 0
    for (let n = 0; n < 200_000; n++) if (parseUrl("https://münchen.example/straße")?.host === undefined) refused++
    assert.strictEqual(refused, 0)
  })

  it("is none where the text is none", () => {
    assert.isUndefined(parseUrl("/relative"))
    assert.strictEqual(parseUrl("/relative", "https://a.example")?.href, "https://a.example/relative")
  })
})
