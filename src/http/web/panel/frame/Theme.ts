/** Shows the panel in the colours, corners and fonts of a theme. */
import type { WidgetTheme } from "../../../../domain/organisation/WidgetTheme.js"
import { isDark, paletteOf } from "./Palette.js"

const variableOf = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Shows the page in a theme. */
export const showTheme = (theme: WidgetTheme, prefersDark: boolean): void => {
  const { style } = document.documentElement
  for (const [name, colour] of Object.entries(paletteOf(theme, prefersDark)))
    style.setProperty(variableOf(name), colour)
  style.setProperty("color-scheme", isDark(theme, prefersDark) ? "dark" : "light")
  const { font, radius } = theme
  if (font === undefined) style.removeProperty("--font")
  else style.setProperty("--font", font)
  if (radius === undefined) style.removeProperty("--radius")
  else style.setProperty("--radius", `${radius}px`)
}
