/** What colours and fonts a theme may name, and which can be read; the panel in the browser asks it, too. Contract: widget record. */

/** A colour: `#` and six hexadecimal digits. */
export const colourPattern = /^#[0-9a-fA-F]{6}$/

/** A list of fonts as CSS has it. What else CSS allows in a value could begin another declaration, or load an address. */
export const fontPattern = /^[\p{L}\p{M}\p{N} ,'"&+._-]+$/u

/** Characters of a theme's fonts, and the largest radius in pixels. */
export const themeLimits = { font: 200, radius: 32 } as const

/** The smallest contrast of text with what is behind it: WCAG 2.2, success criterion 1.4.3. */
export const leastContrast = 4.5

const channel = (colour: string, at: number): number => {
  const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

/** The relative luminance of a colour `#rrggbb`, from 0 to 1: WCAG 2.2. */
export const luminance = (colour: string): number =>
  0.2126 * channel(colour, 1) + 0.7152 * channel(colour, 3) + 0.0722 * channel(colour, 5)

/** The contrast ratio of two colours `#rrggbb`, from 1 to 21: WCAG 2.2. */
export const contrastRatio = (one: string, other: string): number => {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}
