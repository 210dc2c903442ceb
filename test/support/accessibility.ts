/** What the rules of axe find wrong with a page, as far as that shows without drawing it. */
import axe from "axe-core"
import { JSDOM } from "jsdom"

/** Rules that need a layout. */
const needsDrawing = ["color-contrast", "target-size"]

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

/** Each violation: its rule, and the first places. */
export const violations = async (html: string): Promise<ReadonlyArray<string>> => {
  // The page's own script does not run.
  const { window } = new JSDOM(html, { runScripts: "outside-only", url: "http://127.0.0.1/" })
  window.eval(axe.source)
  const rules = Object.fromEntries(needsDrawing.map((rule) => [rule, { enabled: false }]))
  const text = await window.eval(
    `axe.run(document, ${JSON.stringify({ rules })}).then(({ violations }) => JSON.stringify(violations))`
  )
  const found: ReadonlyArray<Violation> = JSON.parse(String(text))
  window.close()
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).join(" … ")}`)
}
