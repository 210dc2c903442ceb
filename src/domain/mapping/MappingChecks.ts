/** Finds all mistakes of a mapping, and the paths that it reads. */
import type { Json, JsonObject } from "../Json.js"
import { mistakeAt, type Mistakes, mistakeUnless } from "../expression/Checks.js"
import { isList } from "../expression/List.js"
import { memberPath, type Path } from "../expression/Path.js"
import { joinReferences, type References, templateReferences } from "../expression/References.js"
import { scanSource, type Template, templatePaths } from "../expression/Template.js"
import { isMappedValue, targetPath } from "./MappingEvaluation.js"
import { maxListGrowth } from "./Overlay.js"
import { scanTransform } from "./TransformScan.js"

/** The most transforms of one value. */
const maxTransforms = 32

/** The references of a mapping, and its mistakes. `at`: the mapping's place. A mapping without mistakes sets each target. */
export const mappingReferences = (mapping: JsonObject, at: string): References => {
  const entries = Object.entries(mapping).map(([target, value]) => [memberPath(at, target), target, value] as const)
  return joinReferences([
    ofMistakes(targetMistakes(entries, at)),
    ...entries.map(([place, , value]) =>
      isMappedValue(value) ? mappedReferences(value, place) : templateReferences(value, place)
    )
  ])
}

const ofMistakes = (mistakes: Mistakes): References => ({ references: [], mistakes })

const members = ["from", "transforms", "default"]

const mappedReferences = (value: JsonObject, at: string): References => {
  const { default: fallback = null, from = null, transforms = [] } = value
  return joinReferences([
    ofMistakes(
      Object.keys(value).flatMap((name) =>
        mistakeUnless(
          members.includes(name),
          memberPath(at, name),
          "UNKNOWN_FIELD",
          "is unknown: beside from there are transforms and default; set an object with a member from by its members"
        )
      )
    ),
    sourceReferences(from, `${at}.from`),
    isList(transforms)
      ? joinReferences([
          ofMistakes(
            mistakeUnless(
              transforms.length <= maxTransforms,
              `${at}.transforms`,
              "OUT_OF_RANGE",
              `has more than ${maxTransforms} transforms`
            )
          ),
          ...transforms.map((one, index) => transformReferences(one, `${at}.transforms[${index}]`))
        ])
      : ofMistakes(mistakeAt(`${at}.transforms`, "INVALID_TYPE", "must be a list")),
    templateReferences(fallback, `${at}.default`)
  ])
}

const ofSources = (sources: ReadonlyArray<Template>, at: string): References => ({
  references: sources.flatMap(templatePaths).map((path) => ({ at, path })),
  mistakes: []
})

const sourceReferences = (from: Json, at: string): References => {
  if (typeof from !== "string") return ofMistakes(mistakeAt(at, "INVALID_TYPE", "must be a path"))
  const source = scanSource(from)
  return "mistake" in source
    ? ofMistakes(mistakeAt(at, from.includes("{{") ? "INVALID_TEMPLATE" : "INVALID_PATH", source.mistake))
    : ofSources([source.value], at)
}

/** The references of a transform, which are the paths of `CONCAT` and `COALESCE`. */
const transformReferences = (transform: Json, at: string): References => {
  const step = scanTransform(transform)
  if ("mistake" in step) return ofMistakes(mistakeAt(at, "INVALID_VALUE", step.mistake))
  return "sources" in step.value ? ofSources(step.value.sources, at) : ofMistakes([])
}

/** Checks the targets' paths, that none is set twice, and how long the lists become that they create. */
const targetMistakes = (entries: ReadonlyArray<readonly [at: string, target: string, value: Json]>, at: string) => {
  const used = new Map<string, string>()
  const lengths = new Map<string, number>()
  const mistakes = entries.flatMap(([place, target]): Mistakes => {
    const path = targetPath(target)
    if (typeof path === "string") return mistakeAt(place, "INVALID_PATH", `"${target}" ${path}`)
    const key = keyOf(path)
    const other = used.get(key)
    if (other !== undefined) return mistakeAt(place, "DUPLICATE", `sets the same value as "${other}"`)
    used.set(key, target)
    path.forEach((segment, index) => {
      if (typeof segment === "string" && !/^\d{1,9}$/.test(segment)) return
      const list = keyOf(path.slice(0, index))
      lengths.set(list, Math.max(lengths.get(list) ?? 0, Number(segment) + 1))
    })
    return []
  })
  const growth = [...lengths.values()].reduce((sum, length) => sum + length, 0)
  return [
    ...mistakes,
    ...mistakeUnless(
      growth <= maxListGrowth,
      at,
      "OUT_OF_RANGE",
      `makes lists of more than ${maxListGrowth} items in all`
    )
  ]
}

const keyOf = (path: Path): string => JSON.stringify(path.map(String))
