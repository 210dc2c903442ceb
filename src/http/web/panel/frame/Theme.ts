/** Shows the panel in the colours, corners and fonts of a theme; what a theme leaves open is chosen so that it can be read. */
import {
  colourPattern,
  contrastRatio,
  fontPattern,
  leastContrast,
  luminance,
  themeLimits
} from "../../../../domain/organisation/Contrast.js"
import type { WidgetTheme } from "../../../../domain/organisation/WidgetTheme.js"

const colourNames = ["background", "text", "accent", "accentText", "border", "error"] as const

interface Palette {
  readonly background: string
  readonly text: string
  readonly soft: string
  readonly accent: string
  readonly accentText: string
  /** Links, and buttons without a fill. */
  readonly link: string
  readonly border: string
  /** Of what can be filled in. */
  readonly edge: string
  readonly error: string
}

type Plain = Omit<Palette, "link">
const light: Plain = {
  background: "#ffffff",
  text: "#18181b",
  soft: "#55555f",
  accent: "#4338ca",
  accentText: "#ffffff",
  border: "#e1e1e7",
  edge: "#767680",
  error: "#b01c24"
}
const dark: Plain = {
  background: "#131316",
  text: "#ededf0",
  soft: "#a9a9b5",
  accent: "#a5b0ff",
  accentText: "#131316",
  border: "#2e2e37",
  edge: "#7a7a87",
  error: "#ff8f8f"
}

/** WCAG 2.2, success criterion 1.4.11: the contrast of what is no text. */
const leastEdge = 3

/** From here on black can be read better than white. */
const middle = 0.179

/** The colour, or black or white if it cannot be read on what is behind it. */
const legible = (colour: string, behind: string): string => {
  if (contrastRatio(colour, behind) >= leastContrast) return colour
  return luminance(behind) > middle ? "#000000" : "#ffffff"
}

/** A colour between two: `share` of the one, the rest of the other. */
const mixed = (one: string, other: string, share: number): string => {
  const channel = (at: number) => {
    const [a, b] = [one, other].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16))
    return Math.round((a ?? 0) * share + (b ?? 0) * (1 - share))
      .toString(16)
      .padStart(2, "0")
  }
  return `#${channel(1)}${channel(3)}${channel(5)}`
}

const isDark = (theme: WidgetTheme, prefersDark: boolean): boolean => {
  const { background, text } = theme.colors ?? {}
  if (background !== undefined) return luminance(background) <= middle
  return text === undefined ? prefersDark : luminance(text) > middle
}

/** All colours of the panel. `prefersDark`: what the person prefers, where the theme does not say. */
export const paletteOf = (theme: WidgetTheme, prefersDark: boolean): Palette => {
  const colors = theme.colors ?? {}
  const plain = isDark(theme, prefersDark) ? dark : light
  const { accent, background, error, text } = { ...plain, ...colors }
  const shown = legible(text, background)
  const isPlain = colors.background === undefined && colors.text === undefined
  const border = colors.border ?? (isPlain ? plain.border : mixed(shown, background, 0.2))
  const edges = [border, isPlain ? plain.edge : mixed(shown, background, 0.6)]
  return {
    background,
    text: shown,
    soft: isPlain ? plain.soft : shown,
    accent,
    accentText: legible(colors.accentText ?? plain.accentText, accent),
    link: contrastRatio(accent, background) >= leastContrast ? accent : shown,
    border,
    edge: edges.find((one) => contrastRatio(one, background) >= leastEdge) ?? shown,
    error: contrastRatio(error, background) >= leastContrast ? error : shown
  }
}

const isText = (value: unknown): value is string => typeof value === "string"

/** What is wrong with a value that should be a theme, as the end of a sentence; `undefined` if it is one. */
export const themeMistake = (theme: unknown): string | undefined => {
  if (typeof theme !== "object" || theme === null) return " must be an object"
  const { colors = {}, font, radius, ...others } = theme as Readonly<Record<string, unknown>>
  if (typeof colors !== "object" || colors === null) return ".colors must be an object"
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return `.${unknown} is not known`
  for (const [name, colour] of Object.entries(colors))
    if (!colourNames.some((one) => one === name)) return `.colors.${name} is not known`
    else if (!isText(colour) || !colourPattern.test(colour))
      return `.colors.${name} must be # and six hexadecimal digits`
  const isFont = isText(font) && font.length <= themeLimits.font && fontPattern.test(font)
  if (font !== undefined && !isFont) return ".font must be names of fonts with commas between them"
  const isRadius = Number.isInteger(radius) && Number(radius) >= 0 && Number(radius) <= themeLimits.radius
  return radius === undefined || isRadius ? undefined : `.radius must be a whole number up to ${themeLimits.radius}`
}

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
