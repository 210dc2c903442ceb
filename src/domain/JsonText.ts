/**
 * What a JSON text will cost once it is parsed, found without parsing it and without recursion: whoever sends a text
 * chooses how deep it nests and how many values it holds, and a megabyte of empty objects takes a second to handle.
 */
import { jsonDepth, jsonWeight } from "./Limits.js"

const [quote, comma, backslash] = [34, 44, 92]
const [openArray, closeArray, openObject, closeObject] = [91, 93, 123, 125]

/** An object or an array costs about as much as this many scalars. */
const containerWeight = 5

export interface JsonBounds {
  readonly depth: number
  readonly weight: number
}

const ofRecords: JsonBounds = { depth: jsonDepth, weight: jsonWeight }

/** The first bound that a JSON text exceeds, if it does. What a text that is no JSON says of itself means nothing. */
export const excessOf = (text: string, bounds: JsonBounds = ofRecords): "tooDeep" | "tooHeavy" | undefined => {
  // Too short for either bound.
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

/** What to tell whoever sent a text that is too heavy. */
export const tooHeavyMessage = `holds too many values: at most ${jsonWeight} in all, of which an object or an array counts ${containerWeight}`

/** Where the closing quote stands of the string that begins at `from`. */
const endOfString = (text: string, from: number): number => {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at += 1
    else if (code === quote) return at
  }
  return text.length
}
