/**
 * Templates of definitions: text with `{{path ?? path ?? "default"}}`. Expressions only read data; they run no code.
 * Contract: connector definition, template language.
 */
import { Either } from "effect"
import { type Json, type JsonObject, isList } from "../../Json.js"
import { memoize } from "../../RecentMap.js"
import { parsePath, type Path, readPath } from "./Path.js"

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

/** Parses a template. Left: what is wrong with it. */
export const parseTemplate = (text: string): Either.Either<Template, string> => {
  if (text.length > templateLength && text.includes("{{"))
    return Either.left(`has more than ${templateLength} characters, which a text with "{{" must not`)
  const parts: Array<TemplatePart> = []
  let from = 0
  while (from < text.length) {
    const open = text.indexOf("{{", from)
    if (open < 0) break
    if (open > from) parts.push({ _tag: "Text", text: text.slice(from, open) })
    const close = findClosing(text, open + 2)
    if (close < 0) return Either.left(`"{{" at position ${open} is never closed`)
    const operands = parseExpression(text.slice(open + 2, close))
    if (Either.isLeft(operands)) return Either.left(operands.left)
    parts.push({ _tag: "Expression", operands: operands.right })
    from = close + 2
  }
  if (from < text.length) parts.push({ _tag: "Text", text: text.slice(from) })
  return Either.right(parts)
}

/** Like `parseTemplate`, cached; an invalid template is text. */
export const cachedTemplate: (text: string) => Template = memoize((text) =>
  Either.getOrElse(parseTemplate(text), (): Template => [{ _tag: "Text", text }])
)

/** The value of an expression; null if no alternative has one. */
export const evaluate = (expression: Expression, scope: JsonObject): Json => {
  for (const operand of expression) {
    const value = operand._tag === "Literal" ? operand.value : readPath(scope, operand.path)
    if (value !== undefined && value !== null) return value
  }
  return null
}

/** The value of a template. A single `{{…}}` keeps its type, otherwise all parts are joined as text. */
export const render = (text: string, scope: JsonObject): Json => {
  const parts = cachedTemplate(text)
  const [only] = parts
  if (only === undefined) return ""
  if (parts.length === 1) return only._tag === "Text" ? only.text : evaluate(only.operands, scope)
  return join(parts, scope, asText)
}

/** The template as text, with values converted by `write`. */
export const renderText = (text: string, scope: JsonObject, write: (value: Json) => string = asText): string =>
  join(cachedTemplate(text), scope, write)

/** Renders every string in a value as a template, but not member names. */
export const renderAll = (value: Json, scope: JsonObject): Json => {
  if (typeof value === "string") return render(value, scope)
  if (typeof value !== "object" || value === null) return value
  if (isList(value)) return value.map((item) => renderAll(item, scope))
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, renderAll(child, scope)]))
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
export const templatePaths = (parts: Template): ReadonlyArray<Path> =>
  parts.flatMap((part) =>
    part._tag === "Text" ? [] : part.operands.flatMap((operand) => (operand._tag === "Path" ? [operand.path] : []))
  )

const join = (parts: Template, scope: JsonObject, write: (value: Json) => string): string =>
  parts.map((part) => (part._tag === "Text" ? part.text : write(evaluate(part.operands, scope)))).join("")

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

/** The operands between `??`, ignoring quoted ones. */
const operandsOf = (text: string): ReadonlyArray<string> =>
  text.match(/(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\?(?!\?)|[^?"'])+|\?\?/g)?.filter((part) => part !== "??") ?? []

const parseExpression = (text: string): Either.Either<Expression, string> => {
  const texts = operandsOf(text)
  const separators = (text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, "").match(/\?\?/g) ?? []).length
  if (text.trim() === "") return Either.left('"{{}}" has no path')
  if (texts.length !== separators + 1) return Either.left(`"{{${text}}}" has no value beside "??"`)
  return Either.all(texts.map((operand) => parseOperand(operand.trim())))
}

const parseOperand = (text: string): Either.Either<Operand, string> => {
  const literal = literalOf(text)
  if (literal !== undefined) return Either.right({ _tag: "Literal", value: literal })
  if (text.startsWith("$")) return Either.left(`"${text}" begins with "$": in a template a path begins with its root`)
  return Either.mapBoth(parsePath(text), {
    onLeft: (why): string => `"${text}" is not a path: it ${why}`,
    onRight: (path): Operand => ({ _tag: "Path", path })
  })
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
