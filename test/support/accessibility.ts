/** Checks a page by the rules of axe that need no layout. */
import axe from "axe-core"
import { JSDOM } from "jsdom"

/** Rules that need a layout, which jsdom does not compute. */
const needsDrawing = ["color-contrast", "target-size"]

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

/** The violations: the rule and the first elements of each. */
export const findViolations = async (html: string): Promise<ReadonlyArray<string>> => {
  // The page's own scripts do not run.
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
