/** The rules of accessibility that a page in a browser breaks. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Frame, Page } from "playwright-core"

const script = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

const all = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

/**
 * Each with the elements that break it; in the dark theme its colours only, since all else is the same. `shown`: the page, or
 * the frame in it that is looked at.
 */
export const accessibilityOf = async (page: Page, shown: Page | Frame = page): Promise<ReadonlyArray<string>> => {
  const light = await violationsOf(shown, all)
  await page.emulateMedia({ colorScheme: "dark" })
  const dark = await violationsOf(shown, { type: "rule", values: ["color-contrast"] })
  await page.emulateMedia({ colorScheme: "light" })
  return [...light, ...dark.map((text) => `dark: ${text}`)]
}

const violationsOf = async (page: Page | Frame, runOnly: unknown): Promise<ReadonlyArray<string>> => {
  // As the browser's own tools do: the page's policy admits no script but its own.
  const isThere = await page.evaluate("typeof axe !== 'undefined'")
  if (isThere !== true) await page.evaluate(script)
  const violations = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(runOnly)} }).then(({ violations }) => violations)`
  )) as ReadonlyArray<Violation>
  return violations.map(
    ({ help, id, nodes }) =>
      `${id}: ${help}: ${nodes
        .slice(0, 3)
        .map(({ html }) => html.slice(0, 160))
        .join(" | ")}`
  )
}
