/** JSON that a person types. */
import { firstRounded, isSchemaBound } from "../../../../domain/LargeIntegers.js"

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string }

/** The value of the text, or what is wrong with it: also an integer that the browser would round before it is sent. */
export const parseJson = (text: string): Parsed => {
  try {
    const value: unknown = JSON.parse(text)
    const rounded = firstRounded(text, isSchemaBound)
    return rounded === undefined
      ? { ok: true, value }
      : { ok: false, message: `${rounded} is an integer beyond 2^53, which would be rounded: write it in quotes.` }
  } catch (cause) {
    return { ok: false, message: `This is not JSON: ${cause instanceof Error ? cause.message : String(cause)}` }
  }
}
