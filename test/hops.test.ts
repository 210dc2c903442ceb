/** The ways through the service that ARCHITECTURE.md lists are as short as it says, and lead from file to file. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

interface Hop {
  readonly file: string
  readonly function: string
}

const ways = [...readFileSync("ARCHITECTURE.md", "utf8").matchAll(/^\| ([^|]+) \| (\d+) \| ([^|]+) \|$/gm)].map(
  ([, name = "", most = "", files = ""]) => ({
    name,
    most: Number(most),
    hops: [...files.matchAll(/`([^`]+)` `(\w+)`/g)].map(([, file = "", name = ""]): Hop => ({ file, function: name }))
  })
)

const sources = new Map<string, string>()

/** The code of a file, without its comments. */
const codeOf = ({ file }: Hop): string => {
  const code =
    sources.get(file) ??
    readFileSync(file, "utf8")
      .replace(/\/\*[\s\S]*?\*\//g, "")
      .replace(/^\s*\/\/.*$/gm, "")
  sources.set(file, code)
  return code
}

const names = (by: Hop, named: Hop): boolean => new RegExp(`\\b${named.function}\\b`).test(codeOf(by))

describe.each(ways)("the way $name", ({ hops, most }) => {
  it(`has at most ${most} files`, () => {
    assert.isAtMost(hops.length, most)
    assert.strictEqual(new Set(hops.map(({ file }) => file)).size, hops.length)
  })

  it.each(hops.map((hop, at) => ({ hop, before: hops.slice(0, at) })))(
    "leads to $hop.file, which defines $hop.function",
    ({ before, hop }) => {
      assert.match(codeOf(hop), new RegExp(`\\b${hop.function}\\b\\s*(?::|=(?!=)|\\(|,|\\}|<)`))
      if (before.length > 0) assert.isTrue(before.some((one) => names(one, hop) || names(hop, one)))
    }
  )
})

it("four ways are listed", () => {
  assert.lengthOf(ways, 4)
})
