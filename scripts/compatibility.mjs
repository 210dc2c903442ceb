// Compares docs/openapi with the released documents: those of the newest tag v*, or else those of
// docs/openapi/released. Fails on a change that breaks clients of a release. Without a release it compares nothing.
// With two file arguments it compares these files.
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"

const surfaces = ["a", "b", "c", "embed"]
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)
const entries = (value) => (isObject(value) ? Object.entries(value) : [])

/** The value, or the value that it refers to by `$ref`. */
const dereference = (document, value) =>
  isObject(value) && typeof value.$ref === "string"
    ? value.$ref
        .slice(2)
        .split("/")
        .reduce((at, name) => at?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], document)
    : value

/** The types that the member `type` of a schema allows; `undefined`: any type. */
const typesOf = ({ type }) => (type === undefined ? undefined : new Set([type].flat()))
const alternativesOf = (schema) => schema.anyOf ?? schema.oneOf

const difference = (from, to) => [...from].filter((one) => !to.has(one))

/** Adds `integer` where `number` is allowed. */
const withIntegers = (types) =>
  new Set([...types].flatMap((type) => (type === "number" ? ["number", "integer"] : [type])))

const typeBreaks = (before, after, sent, place) => {
  const [from, to] = sent ? [typesOf(before), typesOf(after)] : [typesOf(after), typesOf(before)]
  if (to === undefined) return []
  const others = from === undefined ? ["any type"] : difference(from, withIntegers(to))
  return others.map((type) => `${place} ${sent ? "no longer takes" : "may now be"} ${type}`)
}

/** Enums of answers may grow: clients must ignore unknown values. */
const enumBreaks = (before, after, sent, place) => {
  if (!sent) return before.enum !== undefined && after.enum === undefined ? [`${place} may now be any value`] : []
  if (after.enum === undefined) return []
  const removedValues =
    before.enum === undefined ? ["other values"] : difference(new Set(before.enum), new Set(after.enum))
  return removedValues.map((value) => `${place} no longer takes ${JSON.stringify(value)}`)
}

const requiredBreaks = (before, after, sent, place) => {
  const [was, is] = [new Set(before.required), new Set(after.required)]
  return sent
    ? difference(is, was).map((name) => `${place}.${name} is now required`)
    : difference(was, is).map((name) => `${place}.${name} is no longer always there`)
}

const memberBreaks = (before, after, sent, place, next) =>
  entries(before.properties).flatMap(([name, schema]) => {
    const newer = after.properties?.[name]
    if (newer !== undefined) return next(schema, newer, `${place}.${name}`)
    return !sent || after.additionalProperties === false ? [`${place}.${name} is gone`] : []
  })

const partBreaks = (before, after, place, next) =>
  [
    ["items", "[]"],
    ["additionalProperties", ".*"]
  ].flatMap(([part, mark]) =>
    isObject(before[part]) && isObject(after[part]) ? next(before[part], after[part], `${place}${mark}`) : []
  )

/** Every value that a client sends must fit a new alternative; every value that it reads must fit an old one. */
const alternativeBreaks = (before, after, sent, place, next) => {
  const [was, is] = [alternativesOf(before), alternativesOf(after)]
  if (was === undefined || is === undefined) return []
  const [all, others] = sent ? [was, is] : [is, was]
  const fits = (one) => others.some((other) => (sent ? next(one, other, place) : next(other, one, place)).length === 0)
  return all.flatMap((one, at) =>
    fits(one) ? [] : [`${place} ${sent ? "no longer takes" : "may now be another than"} alternative ${at + 1}`]
  )
}

/**
 * The breaking changes between two schemas. `sent`: clients send the values, so that the new schema must allow every
 * old value. Otherwise clients read them, so that every new value must fit the old schema; further members are allowed.
 */
const schemaBreaks = (was, is, sent, place, seen = new Set()) => {
  const before = dereference(was.document, was.schema)
  const after = dereference(is.document, is.schema)
  if (!isObject(before)) return []
  if (!isObject(after)) return [`${place} is gone`]
  const pair = `${was.schema.$ref ?? ""} ${is.schema.$ref ?? ""}`
  if (pair !== " " && seen.has(pair)) return []
  const next = (older, newer, at) =>
    schemaBreaks({ ...was, schema: older }, { ...is, schema: newer }, sent, at, new Set([...seen, pair]))
  return [
    ...typeBreaks(before, after, sent, place),
    ...enumBreaks(before, after, sent, place),
    ...requiredBreaks(before, after, sent, place),
    ...memberBreaks(before, after, sent, place, next),
    ...partBreaks(before, after, place, next),
    ...alternativeBreaks(before, after, sent, place, next)
  ]
}

const parametersOf = (document, operation) =>
  new Map(
    (operation.parameters ?? [])
      .map((one) => dereference(document, one))
      .map((one) => [`${one.in} ${one.name.toLowerCase()}`, one])
  )

const contentBreaks = (was, is, sent, place) =>
  entries(was.value?.content).flatMap(([type, content]) => {
    const newer = is.value?.content?.[type]
    if (newer === undefined) return [`${place} ${type} is gone`]
    return schemaBreaks(
      { document: was.document, schema: content.schema ?? {} },
      { document: is.document, schema: newer.schema ?? {} },
      sent,
      place
    )
  })

const operationBreaks = (was, is, before, after, place) => {
  const [older, newer] = [parametersOf(was, before), parametersOf(is, after)]
  const breaks = []
  for (const [name, parameter] of newer) {
    const earlier = older.get(name)
    if (parameter.required === true && earlier?.required !== true) breaks.push(`${place}: ${name} is now required`)
    if (earlier !== undefined)
      breaks.push(
        ...schemaBreaks(
          { document: was, schema: earlier.schema },
          { document: is, schema: parameter.schema },
          true,
          `${place}: ${name}`
        )
      )
  }
  for (const name of older.keys()) if (!newer.has(name)) breaks.push(`${place}: ${name} is gone`)
  if (after.requestBody?.required === true && before.requestBody?.required !== true)
    breaks.push(`${place}: a body is now required`)
  breaks.push(
    ...contentBreaks(
      { document: was, value: before.requestBody },
      { document: is, value: after.requestBody },
      true,
      `${place}: body`
    )
  )
  for (const [status, answer] of entries(before.responses)) {
    const now = dereference(is, after.responses?.[status])
    if (now === undefined) {
      breaks.push(`${place}: ${status} is gone`)
      continue
    }
    const then = dereference(was, answer)
    for (const name of Object.keys(then.headers ?? {}))
      if (now.headers?.[name] === undefined) breaks.push(`${place}: ${status}: header ${name} is gone`)
    breaks.push(
      ...contentBreaks({ document: was, value: then }, { document: is, value: now }, false, `${place}: ${status}`)
    )
  }
  return breaks
}

/** The changes in the second document that break clients of the first, one line each. */
const findBreaks = (was, is) =>
  entries(was.paths).flatMap(([path, item]) => {
    const now = is.paths?.[path]
    if (now === undefined) return [`${path} is gone`]
    return entries(item).flatMap(([method, operation]) => {
      const place = `${method.toUpperCase()} ${path}`
      return now[method] === undefined ? [`${place} is gone`] : operationBreaks(was, is, operation, now[method], place)
    })
  })

const git = (...args) =>
  execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 64 * 1024 * 1024 })

const lastRelease = () => {
  try {
    return git("describe", "--tags", "--match", "v[0-9]*", "--abbrev=0").trim()
  } catch {
    return undefined
  }
}

/** The released document; `undefined` if there is none. */
const readReleased = (tag, file) => {
  if (tag !== undefined) {
    try {
      return JSON.parse(git("show", `${tag}:docs/openapi/${file}`))
    } catch {
      return undefined
    }
  }
  const releasedFile = `docs/openapi/released/${file}`
  return existsSync(releasedFile) ? read(releasedFile) : undefined
}

const read = (file) => JSON.parse(readFileSync(file, "utf8"))

const main = () => {
  const [older, newer] = process.argv.slice(2)
  if (older !== undefined && newer !== undefined) return report(findBreaks(read(older), read(newer)), older)
  const tag = lastRelease()
  const breaks = surfaces.flatMap((surface) => {
    const file = `${surface}.json`
    const was = readReleased(tag, file)
    return was === undefined ? [] : findBreaks(was, read(`docs/openapi/${file}`))
  })
  report(breaks, tag ?? "docs/openapi/released")
}

const report = (breaks, since) => {
  for (const one of breaks) console.error(`${one} (since ${since})`)
  process.exit(breaks.length === 0 ? 0 : 1)
}

main()
