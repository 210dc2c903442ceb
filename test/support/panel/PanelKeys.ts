/** Uses a shown panel by keyboard alone. */
import type { Locator } from "playwright-core"
import { hasFocus, reachByTab } from "../console/Keyboard.js"
import { eventually } from "../eventually.js"
import type { ShownPanel } from "./ShownPanel.js"

/** Goes to a control and presses a key. */
export const use = async ({ page }: Pick<ShownPanel, "page">, control: Locator, key = "Enter"): Promise<void> => {
  await reachByTab(page, control)
  await page.keyboard.press(key)
}

/** Goes to a field and types over what it has. */
export const enter = async ({ page }: Pick<ShownPanel, "page">, control: Locator, text: string): Promise<void> => {
  await reachByTab(page, control)
  await page.keyboard.press("Control+a")
  await page.keyboard.type(text)
}

/** Goes to a choice and types the beginning of one. */
export const choose = async ({ page }: Pick<ShownPanel, "page">, control: Locator, text: string): Promise<void> => {
  await reachByTab(page, control)
  await page.keyboard.type(text)
}

/** Waits until it has the focus. */
export const isFocused = (control: Locator): Promise<boolean> => eventually(() => hasFocus(control), Boolean)

/** The section with this heading, or those of its rows that have the text. */
export const rowOf = ({ frame }: Pick<ShownPanel, "frame">, section: string, text: string): Locator =>
  frame
    .locator("section")
    .filter({ has: frame.getByRole("heading", { level: 2, name: section, exact: true }) })
    .locator("li.row")
    .filter({ hasText: text })
