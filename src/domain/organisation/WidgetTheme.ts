/** The look of a panel: colours with enough contrast to be read, corners and font. Contract: widget record. */
import { Schema } from "effect"
import { optional } from "../connector/Members.js"
import { colourPattern, contrastRatio, fontPattern, leastContrast, themeLimits } from "./Contrast.js"

const Colour = Schema.String.pipe(
  Schema.pattern(colourPattern, { message: () => "must be a colour as # and six hexadecimal digits" })
)

const Font = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(themeLimits.font),
  Schema.pattern(fontPattern, {
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

/** Text, and what is behind it. */
const pairs: ReadonlyArray<readonly [keyof Colours, keyof Colours]> = [
  ["text", "background"],
  ["accentText", "accent"]
]

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
