/** Goes to the controls of a page by keyboard alone. */
import { assert } from "@effect/vitest"
import type { Locator, Page } from "playwright-core"
import { eventually } from "../eventually.js"

/** As many presses of Tab as a person may need from one end of a page to the other. */
const mostTabs = 150

export const hasFocus = (control: Locator): Promise<boolean> =>
  control.evaluate((one) => one.ownerDocument.hasFocus() && one.getRootNode().activeElement === one)

/** Whether one sees that the control, or the editor that it is in, has the focus. */
const showsFocus = (control: Locator): Promise<boolean> =>
  control.evaluate((one) => {
    const { defaultView } = one.ownerDocument
    for (let shown = one; shown !== null; shown = shown.parentElement ?? shown.getRootNode().host ?? null) {
      const { boxShadow, outlineStyle, outlineWidth } = defaultView.getComputedStyle(shown)
      if ((outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none") return true
      if (!one.isContentEditable) return false
    }
    return false
  })

/** Goes to a control by Tab alone, and sees that it has the focus. `beforeTab`: what has to be done before each press. */
export const reachByTab = async (
  page: Page,
  found: Locator,
  beforeTab: () => Promise<void> = () => Promise.resolve()
): Promise<void> => {
  const control = found.filter({ visible: true }).first()
  await control.waitFor()
  for (let tabs = 0; tabs < mostTabs; tabs++) {
    if (await hasFocus(control)) {
      await eventually(() => showsFocus(control), Boolean)
      return
    }
    await beforeTab()
    await page.keyboard.press("Tab")
  }
  assert.fail(`${String(found)} is not reached by Tab`)
}
