/**
 * Evaluates a mapping: values by the paths of their targets, laid over a base. The result does not depend on the order of
 * the members. Guests run this module, so that it imports no library.
 */
import type { Json, JsonObject } from "../Json.js"
import { isList } from "../expression/List.js"
import { cachedPath, type Path } from "../expression/Path.js"
import { cachedSource, render, renderAll, renderTemplate, textsIn } from "../expression/Template.js"
import { Overlay } from "./Overlay.js"
import { applyTransforms } from "./TransformEvaluation.js"

/** What a mapping gives. */
export interface MappingResult {
  /** The base with the mapped values. */
  readonly value: Json
  /** The targets, or the places below them, with an expression that gave null. */
  readonly missing: ReadonlyArray<string>
  /** The targets that could not be set. */
  readonly failures: ReadonlyArray<{ readonly target: string; readonly message: string }>
}

/** A value by its path: any object with a member `from`. */
export const isMappedValue = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !isList(value) && Object.hasOwn(value, "from")

/** Lays the mapped values over a base. Shorter paths are set first. The base is not changed, and nothing in it evaluated. */
export const evaluateMapping = (mapping: JsonObject, base: Json, scope: JsonObject): MappingResult => {
  const overlay = new Overlay(base)
  const missing: Array<string> = []
  const failures: Array<{ readonly target: string; readonly message: string }> = []
  for (const [target, path] of targetsOf(mapping)) {
    if (typeof path === "string") {
      failures.push({ target, message: path })
      continue
    }
    const mapped = evaluateValue(mapping[target] ?? null, target, scope, missing)
    const message = "mistake" in mapped ? mapped.mistake : overlay.set(path, mapped.value)
    if (message !== undefined) failures.push({ target, message })
  }
  return { value: overlay.value, missing, failures }
}

type Targets = ReadonlyArray<readonly [target: string, path: Path | string]>

/** The targets with their paths, or what is wrong with them, by length and text. */
const sortedTargets = (mapping: JsonObject): Targets =>
  Object.keys(mapping)
    .map((target): readonly [string, Path | string] => [target, targetPath(target)])
    .sort(([a, one], [b, other]) => one.length - other.length || (a < b ? -1 : a > b ? 1 : 0))

/** By mapping: a loop evaluates the same one in each iteration. */
const cachedTargets = new WeakMap<JsonObject, Targets>()

const targetsOf = (mapping: JsonObject): Targets => {
  const targets = cachedTargets.get(mapping) ?? sortedTargets(mapping)
  cachedTargets.set(mapping, targets)
  return targets
}

/** The path of a target, or why it is none. */
export const targetPath = (target: string): Path | string => {
  const parsed = cachedPath(target)
  if ("mistake" in parsed) return parsed.mistake
  return parsed.value.some((segment) => typeof segment === "number" && segment < 0)
    ? "counts from the end, which a target cannot"
    : parsed.value
}

const evaluateValue = (value: Json, target: string, scope: JsonObject, missing: Array<string>) => {
  if (!isMappedValue(value)) return { value: evaluateTemplates(value, target, scope, missing) }
  const { default: fallback = null, from, transforms = [] } = value
  const source = cachedSource(typeof from === "string" ? from : "")
  if ("mistake" in source) return source
  if (!isList(transforms)) return { mistake: "has transforms that are not a list" }
  const mapped = applyTransforms(renderTemplate(source.value, scope), transforms, scope)
  if ("mistake" in mapped || mapped.value !== null) return mapped
  if (fallback === null) {
    missing.push(target)
    return mapped
  }
  return { value: evaluateTemplates(fallback, target, scope, missing) }
}

const evaluateTemplates = (value: Json, target: string, scope: JsonObject, missing: Array<string>): Json => {
  let isMissing = false
  const rendered = renderAll(value, scope, () => {
    isMissing = true
  })
  if (isMissing)
    for (const [at, text] of textsIn(value, target))
      render(
        text,
        scope,
        once(() => missing.push(at))
      )
  return rendered
}

const once = (run: () => unknown) => {
  let isDone = false
  return () => {
    if (!isDone) run()
    isDone = true
  }
}
