/** JSON that a person types. */
type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string }

/** The value of the text, or what is wrong with it. */
export const parseJson = (text: string): Parsed => {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch (cause) {
    return { ok: false, message: `This is not JSON: ${cause instanceof Error ? cause.message : String(cause)}` }
  }
}
