/** That the panel can be used in its frame by all. */
import { assert } from "@effect/vitest"
import { accessibilityOf } from "../console/Accessibility.js"
import type { ShownPanel } from "./ShownPanel.js"

/** Nothing is wider than the frame, and nobody is kept from using it. */
export const assertUsable = async (panel: ShownPanel, name: string): Promise<void> => {
  const widths = await panel.frame.evaluate("[document.documentElement.scrollWidth, innerWidth].join()")
  const [width, most] = String(widths).split(",").map(Number)
  assert.isAtMost(width ?? 0, most ?? 0, `${name} is wider than its frame`)
  assert.deepStrictEqual(await accessibilityOf(panel.page, panel.frame), [], name)
}
