/** Whatever colours a theme names, what the panel shows can be read; and it refuses the themes that the API refuses. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { contrastRatio } from "../../src/domain/organisation/Contrast.js"
import { ThemeView, type WidgetTheme } from "../../src/domain/organisation/WidgetTheme.js"
import { paletteOf, themeMistake } from "../../src/http/web/panel/frame/Palette.js"

const names = ["background", "text", "accent", "accentText", "border", "error"] as const

/** The nth of many themes, each with some of the colours. */
const themeOf = (n: number): WidgetTheme => {
  let state = n + 1
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state
  }
  for (let skipped = 0; skipped < 5; skipped++) next()
  const entries = names.flatMap((name) => {
    const colour = `#${(next() >>> 8).toString(16).padStart(6, "0")}`
    return next() >>> 31 === 0 ? [] : [[name, colour] as const]
  })
  return { colors: Object.fromEntries(entries) }
}

describe("the colours of a theme", () => {
  it("can be read, whatever it names", () => {
    const wrong: Array<string> = []
    for (let n = 0; n < 4_000; n++) {
      const theme = themeOf(n)
      for (const prefersDark of [false, true]) {
        const { accent, accentText, background, edge, error, link, soft, text } = paletteOf(theme, prefersDark)
        const pairs = [
          ["text", text, background, 4.5],
          ["soft", soft, background, 4.5],
          ["accentText", accentText, accent, 4.5],
          ["link", link, background, 4.5],
          ["error", error, background, 4.5],
          ["edge", edge, background, 3]
        ] as const
        for (const [name, one, behind, least] of pairs)
          if (contrastRatio(one, behind) < least) wrong.push(`${name} of ${JSON.stringify(theme)}`)
      }
    }
    assert.deepStrictEqual(wrong.slice(0, 5), [])
  })

  it("are those that it names, where they can be read", () => {
    const colors = {
      background: "#0b3d2e",
      text: "#ffffff",
      accent: "#ffd166",
      accentText: "#000000",
      error: "#ffb3b3"
    }
    const { accent, accentText, background, error, link, text } = paletteOf({ colors }, false)
    assert.deepStrictEqual({ accent, accentText, background, error, text }, colors)
    assert.strictEqual(link, colors.accent)
  })

  it("follow what the person prefers, where it says nothing", () => {
    assert.notStrictEqual(paletteOf({}, false).background, paletteOf({}, true).background)
    const background = { colors: { background: "#fafafa" } }
    assert.deepStrictEqual(paletteOf(background, true), paletteOf(background, false))
  })
})

const themes: ReadonlyArray<unknown> = [
  {},
  { colors: {} },
  { colors: { background: "#A1b2C3" }, radius: 0, font: "Inter, 'Helvetica Neue', sans-serif" },
  { radius: 32 },
  { radius: 33 },
  { radius: -1 },
  { radius: 1.5 },
  { radius: "8" },
  { font: "" },
  { font: "x".repeat(200) },
  { font: "x".repeat(201) },
  { font: "Inter; background: url(https://evil.example)" },
  { font: "url(javascript:alert(1))" },
  { font: 7 },
  { colors: { background: "red" } },
  { colors: { background: "#fff" } },
  { colors: { background: "#12345g" } },
  { colors: { shadow: "#000000" } },
  { colors: { background: 0 } },
  { colors: [] },
  { colors: null },
  { shadow: 1 },
  [],
  null,
  "dark"
]

describe("a theme that the page sends", () => {
  it.each(themes.map((theme) => [JSON.stringify(theme).slice(0, 80), theme] as const))("%s", (_, theme) => {
    const isTheme = Schema.decodeUnknownEither(ThemeView, { onExcessProperty: "error" })(theme)._tag === "Right"
    assert.strictEqual(themeMistake(theme) === undefined, isTheme)
  })
})
