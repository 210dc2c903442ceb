/**
 * Keeps the digits of integers beyond 2^53 through what is made of a JSON text: the same is made of the text as it is parsed
 * and of the text with every such integer quoted, and the two results are joined. Pure.
 */
import type { AskedText } from "./AskedTexts.js"
import { isList, isObject, type Json } from "./Json.js"
import { isRounded, mostPaths, pathLength, type RoundedIntegers } from "./LargeIntegers.js"

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
  const paths: Array<string> = []
  let more = false
  const note = (path: string): void => {
    if (paths.length < mostPaths) paths.push(path.slice(0, pathLength))
    else more = true
  }
  const join = (one: Json, other: Json, wanted: AskedText | undefined, path: string): Json => {
    if (one === other) return one
    if (typeof other === "string") {
      if (typeof one === "string" || (typeof one === "number" && wanted?.isAsked === true)) return other
      if (typeof one === "number" && integer.test(other) && isRounded(other)) note(path)
      return one
    }
    if (isList(one) && isList(other)) {
      if (one.length !== other.length) return one
      const next = one.map((item, at) => join(item, other[at] ?? null, wanted?.item(at), `${path}[${at}]`))
      return next.some((item, at) => item !== one[at]) ? next : one
    }
    if (!isObject(one) || !isObject(other)) return one
    const members = Object.entries(one).map(([name, member]) => {
      const exactMember = Object.hasOwn(other, name) ? (other[name] ?? null) : member
      const at = path === "" ? name : `${path}.${name}`
      return [name, join(member, exactMember, wanted?.member(name), at)] as const
    })
    return members.some(([name, member]) => member !== one[name]) ? Object.fromEntries(members) : one
  }
  const value = join(plain, exact, asked, "")
  return { value, rounded: paths.length === 0 ? undefined : { paths, more } }
}
