/**
 * Keeps the digits of integers beyond 2^53 through what is made of a JSON text: the same is made of the text as it is parsed
 * and of the text with every such integer quoted, and the two results are joined. Pure.
 */
import type { AskedText } from "../../AskedTexts.js"
import { isList, type Json, type JsonObject } from "../../Json.js"
import { isRounded, mostPaths, type RoundedIntegers, shortPath } from "../../LargeIntegers.js"

/** A value, and which of its integers are not those that were sent; `undefined`: none. */
export interface KeptIntegers {
  readonly value: Json
  readonly rounded: RoundedIntegers | undefined
}

const integer = /^-?\d+$/

/**
 * The plain value with the exact digits where `asked` says that a text is wanted, and in texts that contain them. Where the
 * two differ otherwise, the plain one counts.
 */
export const keepIntegers = (plain: Json, exact: Json, asked: AskedText | undefined): KeptIntegers => {
  const join = new Join()
  const value = join.of(plain, exact, asked, undefined)
  return { value, rounded: join.paths.length === 0 ? undefined : { paths: join.paths, more: join.more } }
}

/** Where a value stands: its name or index in the one around it. */
interface Place {
  readonly around: Place | undefined
  readonly at: string | number
}

const pathTo = (place: Place | undefined): string => {
  const names: Array<string | number> = []
  for (let one = place; one !== undefined; one = one.around) names.push(one.at)
  let path = ""
  for (const at of names.toReversed()) path += typeof at === "number" ? `[${at}]` : `${path === "" ? "" : "."}${at}`
  return shortPath(path)
}

class Join {
  readonly paths: Array<string> = []
  more = false

  /** Returns the plain value itself, not a copy, if nothing in it changes. */
  of(plain: Json, exact: Json, asked: AskedText | undefined, place: Place | undefined): Json {
    if (plain === exact) return plain
    if (typeof exact === "string") return this.text(plain, exact, asked, place)
    if (typeof plain !== "object" || plain === null || typeof exact !== "object" || exact === null) return plain
    if (isList(plain)) return isList(exact) ? this.list(plain, exact, asked, place) : plain
    return isList(exact) ? plain : this.object(plain, exact, asked, place)
  }

  private text(plain: Json, exact: string, asked: AskedText | undefined, place: Place | undefined): Json {
    if (typeof plain === "string") return exact
    if (typeof plain !== "number") return plain
    if (asked?.isAsked === true) return exact
    if (!this.more && integer.test(exact) && isRounded(exact)) {
      if (this.paths.length < mostPaths) this.paths.push(pathTo(place))
      else this.more = true
    }
    return plain
  }

  private list(
    plain: ReadonlyArray<Json>,
    exact: ReadonlyArray<Json>,
    asked: AskedText | undefined,
    around: Place | undefined
  ) {
    if (plain.length !== exact.length) return plain
    let changed: Array<Json> | undefined
    for (let at = 0; at < plain.length; at++) {
      const [one = null, other = null] = [plain[at], exact[at]]
      if (one === other) continue
      const next = this.of(one, other, asked?.item(at), { around, at })
      if (next !== one) (changed ??= [...plain])[at] = next
    }
    return changed ?? plain
  }

  private object(plain: JsonObject, exact: JsonObject, asked: AskedText | undefined, around: Place | undefined) {
    let changed: Map<string, Json> | undefined
    for (const at in plain) {
      const one = plain[at] ?? null
      const other = Object.hasOwn(exact, at) ? (exact[at] ?? null) : one
      if (one === other) continue
      const next = this.of(one, other, asked?.member(at), { around, at })
      if (next !== one) (changed ??= new Map(Object.entries(plain))).set(at, next)
    }
    return changed === undefined ? plain : Object.fromEntries(changed)
  }
}
