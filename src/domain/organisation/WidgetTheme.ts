/** The look of a panel: colours with enough contrast to be read, corners and font. Contract: widget record. */
import { Schema } from "effect"
import { optional } from "../connector/Members.js"

/** Characters of a theme's fonts, and the largest radius in pixels. */
const themeLimits = { font: 200, radius: 32 } as const

const Colour = Schema.String.pipe(
  Schema.pattern(/^#[0-9a-fA-F]{6}$/, { message: () => "must be a colour as # and six hexadecimal digits" })
)

/** A list of fonts as CSS has it. What else CSS allows in a value could begin another declaration, or load an address. */
const Font = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(themeLimits.font),
  Schema.pattern(/^[\p{L}\p{M}\p{N} ,'"&+._-]+$/u, {
    message: () => "must be names of fonts with commas between them, without brackets, semicolons and backslashes"
  })
)

const Colours = Schema.Struct({
  background: optional(Colour, "The panel's background."),
  text: optional(Colour, "Text on the background."),
  accent: optional(Colour, "Buttons and links."),
  accentText: optional(Colour, "Text on buttons."),
  border: optional(Colour, "Lines."),
  error: optional(Colour, "Messages of failures.")
})
type Colours = typeof Colours.Type

/** A theme as it is shown; each member that is absent is the panel's own. */
export const ThemeView = Schema.Struct({
  colors: optional(Colours),
  radius: optional(Schema.Int.pipe(Schema.between(0, themeLimits.radius)), "Of corners, in pixels."),
  font: optional(Font, "Fonts, as `font-family` of CSS has them.")
})

/** The smallest contrast of text with what is behind it: WCAG 2.2, success criterion 1.4.3. */
const leastContrast = 4.5

/** Text, and what is behind it. */
const pairs: ReadonlyArray<readonly [keyof Colours, keyof Colours]> = [
  ["text", "background"],
  ["accentText", "accent"]
]

const channel = (colour: string, at: number): number => {
  const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

/** The relative luminance of a colour: WCAG 2.2. */
const luminance = (colour: string): number =>
  0.2126 * channel(colour, 1) + 0.7152 * channel(colour, 3) + 0.0722 * channel(colour, 5)

/** The contrast ratio of two colours `#rrggbb`, from 1 to 21: WCAG 2.2. */
export const contrastRatio = (one: string, other: string): number => {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

const contrastIssues = ({ colors = {} }: typeof ThemeView.Type): ReadonlyArray<Schema.FilterIssue> =>
  pairs.flatMap(([text, behind]) => {
    const [one, other] = [colors[text], colors[behind]]
    if (one === undefined || other === undefined) return []
    const ratio = contrastRatio(one, other)
    // Rounded down, so that no ratio that is refused is shown as one that is enough.
    const figure = (Math.floor(ratio * 100) / 100).toFixed(2)
    return ratio >= leastContrast
      ? []
      : [
          {
            path: ["colors", text],
            message: `has a contrast of ${figure}:1 with ${behind}: choose colours with at least ${leastContrast}:1`
          }
        ]
  })

/** A theme that can be read: a pair of text and what is behind it, both given, has a contrast of at least 4.5:1. */
export const WidgetTheme = ThemeView.pipe(Schema.filter(contrastIssues))
export type WidgetTheme = typeof WidgetTheme.Type
