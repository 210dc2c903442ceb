/**
 * Bounds the depth and the number of values of a JSON text before it is parsed, without recursion: a client chooses both,
 * and a megabyte of empty objects takes a second to process.
 */
import { jsonDepth, jsonWeight } from "./Limits.js"

const [quote, comma, backslash] = [34, 44, 92]
const [openArray, closeArray, openObject, closeObject] = [91, 93, 123, 125]

/** The weight of an object or array; a scalar has weight 1. */
const containerWeight = 5

/** The deepest nesting and the largest weight. */
export interface JsonBounds {
  readonly depth: number
  readonly weight: number
}

const defaultBounds: JsonBounds = { depth: jsonDepth, weight: jsonWeight }

/** The first bound that a JSON text exceeds; `undefined` if none. Meaningless for text that is not JSON. */
export const exceededBound = (text: string, bounds: JsonBounds = defaultBounds): "tooDeep" | "tooHeavy" | undefined => {
  // Too short to exceed either bound.
  if (text.length <= bounds.depth && text.length * containerWeight <= bounds.weight) return undefined
  let depth = 0
  let weight = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at + 1)
    else if (code === openArray || code === openObject) {
      weight += containerWeight
      depth += 1
      if (depth > bounds.depth) return "tooDeep"
    } else if (code === closeArray || code === closeObject) depth -= 1
    else if (code === comma) weight += 1
  }
  return weight > bounds.weight ? "tooHeavy" : undefined
}

/** The error message for a text that is too heavy. */
export const tooHeavyMessage = `holds too many values: at most ${jsonWeight} in all, of which an object or an array counts ${containerWeight}`

/** The index of the closing quote of the string that begins at `from`. */
const endOfString = (text: string, from: number): number => {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at += 1
    else if (code === quote) return at
  }
  return text.length
}
