/** Writes data as JavaScript. */
import { isList, type Json } from "../Json.js"

const identifier = /^[A-Za-z_$][\w$]*$/
/** Characters of a value that stands on one line. */
const lineLength = 80

/** The name of a member in a literal. `__proto__` would set the prototype otherwise. */
export const memberName = (name: string): string =>
  name === "__proto__" ? '["__proto__"]' : identifier.test(name) ? name : JSON.stringify(name)

/** `object.name` or `object["name"]`. */
export const memberAccess = (object: string, name: string): string =>
  identifier.test(name) ? `${object}.${name}` : `${object}[${JSON.stringify(name)}]`

/** How a text is written. */
type WriteText = (text: string) => string

/** A value as an expression, on several lines where it is long. `indent`: the blanks of the line on which it begins. */
export const literal = (value: Json | undefined, indent = "", text: WriteText = JSON.stringify): string => {
  if (value === undefined) return "undefined"
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const [open, close, parts] = isList(value)
    ? ["[", "]", value.map((one) => literal(one, inner, text))]
    : ["{", "}", Object.entries(value).map(([name, one]) => `${memberName(name)}: ${literal(one, inner, text)}`)]
  if (parts.length === 0) return open + close
  const line = `${open} ${parts.join(", ")} ${close}`
  if (line.length <= lineLength && !line.includes("\n")) return isList(value) ? `[${parts.join(", ")}]` : line
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
}

/** A text with line breaks, such as code, as a template, in which each line stands on its own. */
export const textWithLines: WriteText = (text) =>
  // Half a surrogate pair and control characters are written as escapes, which JSON has.
  text.includes("\n") && text.isWellFormed() && !/[^\P{Cc}\n\t]/u.test(text)
    ? `\`${text.replaceAll(/[\\`]|\$(?=\{)/g, "\\$&")}\``
    : JSON.stringify(text)
