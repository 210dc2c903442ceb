/**
 * Templates of definitions and flows: text with `{{path ?? path ?? "default"}}`. Expressions only read data; they run no
 * code, and data that contains `{{` is never evaluated. Contract: connector definition, template language. Guests run this
 * module, so that it imports no library.
 */
import type { Json, JsonObject } from "../Json.js"
import { memoize } from "../RecentMap.js"
import { isList } from "./List.js"
import { memberPath, type Parsed, type Path, readPath, scanPath, setMember } from "./Path.js"

/** One alternative of an expression: a path or a literal. */
export type Operand =
  | { readonly _tag: "Path"; readonly path: Path }
  | { readonly _tag: "Literal"; readonly value: string | number | boolean | null }

/** The alternatives of an expression; its value is the first one that is not null. */
export type Expression = ReadonlyArray<Operand>

/** Text or an expression. */
export type TemplatePart =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Expression"; readonly operands: Expression }

/** The parts of a template in order. */
export type Template = ReadonlyArray<TemplatePart>

/** Characters of a text with expressions: each of them costs its parsing where it is used. */
export const templateLength = 64 * 1024

/** Parses a template. */
export const scanTemplate = (text: string): Parsed<Template> => {
  if (text.length > templateLength && text.includes("{{"))
    return { mistake: `has more than ${templateLength} characters, which a text with "{{" must not` }
  const parts: Array<TemplatePart> = []
  let from = 0
  while (from < text.length) {
    const open = text.indexOf("{{", from)
    if (open < 0) break
    if (open > from) parts.push({ _tag: "Text", text: text.slice(from, open) })
    const close = findClosing(text, open + 2)
    if (close < 0) return { mistake: `"{{" at position ${open} is never closed` }
    const operands = parseExpression(text.slice(open + 2, close))
    if ("mistake" in operands) return operands
    parts.push({ _tag: "Expression", operands: operands.value })
    from = close + 2
  }
  if (from < text.length) parts.push({ _tag: "Text", text: text.slice(from) })
  return { value: parts }
}

/** Like `scanTemplate`, cached; an invalid template is text. */
export const cachedTemplate: (text: string) => Template = memoize((text) => {
  const parsed = scanTemplate(text)
  return "mistake" in parsed ? [{ _tag: "Text", text }] : parsed.value
})

/** The value of an expression; null if no alternative has one. */
export const evaluate = (expression: Expression, scope: JsonObject): Json => {
  for (const operand of expression) {
    const value = operand._tag === "Literal" ? operand.value : readPath(scope, operand.path)
    if (value !== undefined && value !== null) return value
  }
  return null
}

/** Reads a value's source: a path, or a template. */
export const scanSource = (text: string): Parsed<Template> => {
  if (text.includes("{{")) return scanTemplate(text)
  const parsed = scanPath(text)
  return "mistake" in parsed
    ? { mistake: `"${text}" is not a path: it ${parsed.mistake}` }
    : { value: [{ _tag: "Expression", operands: [{ _tag: "Path", path: parsed.value }] }] }
}

/** Like `scanSource`, cached. */
export const cachedSource: (text: string) => Parsed<Template> = memoize(scanSource)

/** Called for an expression that gives null. */
type OnNull = () => void
const ignore: OnNull = () => undefined

/** The value of a template. A single `{{…}}` keeps its type, otherwise all parts are joined as text. */
export const renderTemplate = (parts: Template, scope: JsonObject, onNull: OnNull = ignore): Json => {
  const [only] = parts
  if (only === undefined) return ""
  if (parts.length > 1 || only._tag === "Text")
    return join(parts, scope, (value) => {
      if (value === null) onNull()
      return asText(value)
    })
  const value = evaluate(only.operands, scope)
  if (value === null) onNull()
  return value
}

/** The value of a template in text. */
export const render = (text: string, scope: JsonObject, onNull?: OnNull): Json =>
  text.includes("{{") ? renderTemplate(cachedTemplate(text), scope, onNull) : text

/** The template as text, with values converted by `write`. */
export const renderText = (text: string, scope: JsonObject, write: (value: Json) => string = asText): string =>
  join(cachedTemplate(text), scope, write)

/** Renders every string in a value as a template, but not member names. */
export const renderAll = (value: Json, scope: JsonObject, onNull?: OnNull): Json => {
  if (typeof value === "string") return render(value, scope, onNull)
  if (typeof value !== "object" || value === null) return value
  // Loops, which guests run several times as fast as closures over lists and entries.
  if (isList(value)) {
    const items: Array<Json> = []
    for (let at = 0; at < value.length; at++) items.push(renderAll(value[at] ?? null, scope, onNull))
    return items
  }
  const members = {}
  for (const name of Object.keys(value)) setMember(members, name, renderAll(value[name] ?? null, scope, onNull))
  return members
}

/** The strings in a value, which are its templates, with their places below `at`. Member names are no templates. */
export const textsIn = (value: Json, at: string): ReadonlyArray<readonly [at: string, text: string]> => {
  if (typeof value === "string") return [[at, value]]
  if (typeof value !== "object" || value === null) return []
  return isList(value)
    ? value.flatMap((item, index) => textsIn(item, `${at}[${index}]`))
    : Object.entries(value).flatMap(([name, child]) => textsIn(child, memberPath(at, name)))
}

/** Renders an object of templates; members with the value null are left out. */
export const renderMembers = (members: JsonObject, scope: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, child]) => {
      const value = renderBody(child, scope)
      return value === null && child !== null ? [] : [[name, value]]
    })
  )

/** Like `renderAll`, without members whose template has the value null. */
export const renderBody = (value: Json, scope: JsonObject): Json => {
  if (typeof value === "string") return render(value, scope)
  if (typeof value !== "object" || value === null) return value
  return isList(value) ? value.map((item) => renderBody(item, scope)) : renderMembers(value, scope)
}

/** A value as a part of a text: null is empty, objects and lists are JSON. */
export const asText = (value: Json): string => {
  if (value === null) return ""
  return typeof value === "object" ? JSON.stringify(value) : String(value)
}

/** The paths in a template. */
export const templatePaths = (parts: Template): ReadonlyArray<Path> => {
  const paths: Array<Path> = []
  for (const part of parts)
    if (part._tag === "Expression")
      for (const operand of part.operands) if (operand._tag === "Path") paths.push(operand.path)
  return paths
}

const join = (parts: Template, scope: JsonObject, write: (value: Json) => string): string => {
  let text = ""
  for (const part of parts) text += part._tag === "Text" ? part.text : write(evaluate(part.operands, scope))
  return text
}

/** The index at which the expression from `from` closes, ignoring quoted braces; -1: nowhere. */
const findClosing = (text: string, from: number): number => {
  let quote = ""
  for (let at = from; at < text.length; at++) {
    const letter = text.charAt(at)
    if (quote !== "") {
      if (letter === "\\") at++
      else if (letter === quote) quote = ""
    } else if (letter === '"' || letter === "'") quote = letter
    else if (letter === "}" && text.charAt(at + 1) === "}") return at
  }
  return -1
}

/** The operands and the `??` between them, which is none where it is quoted. */
const partsOf = (text: string): ReadonlyArray<string> =>
  text.match(/(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\?(?!\?)|[^?"'])+|\?\?/g) ?? []

const parseExpression = (text: string): Parsed<Expression> => {
  const parts = partsOf(text)
  const texts = parts.filter((part) => part !== "??")
  if (text.trim() === "") return { mistake: '"{{}}" has no path' }
  if (2 * texts.length !== parts.length + 1) return { mistake: `"{{${text}}}" has no value beside "??"` }
  const operands: Array<Operand> = []
  for (const one of texts) {
    const operand = parseOperand(one.trim())
    if ("mistake" in operand) return operand
    operands.push(operand.value)
  }
  return { value: operands }
}

const parseOperand = (text: string): Parsed<Operand> => {
  const literal = literalOf(text)
  if (literal !== undefined) return { value: { _tag: "Literal", value: literal } }
  if (text.startsWith("$")) return { mistake: `"${text}" begins with "$": in a template a path begins with its root` }
  const parsed = scanPath(text)
  return "mistake" in parsed
    ? { mistake: `"${text}" is not a path: it ${parsed.mistake}` }
    : { value: { _tag: "Path", path: parsed.value } }
}

const literalOf = (text: string): string | number | boolean | null | undefined => {
  if (text === "null") return null
  if (text === "true" || text === "false") return text === "true"
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (text.length >= 2 && /^"(?:[^"\\]|\\.)*"$|^'(?:[^'\\]|\\.)*'$/.test(text)) {
    return text.slice(1, -1).replace(/\\(.)/g, "$1")
  }
  return undefined
}
