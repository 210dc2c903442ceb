/**
 * Lays values over a base: copies the objects and lists that it changes, each once, and creates those that are missing.
 * Every name becomes an own member, `__proto__` too. Guests run this module, so that it imports no library.
 */
import type { Json } from "../Json.js"
import { isList } from "../expression/List.js"
import { type Path, type Segment, setMember } from "../expression/Path.js"

/** The most items by which one overlay lengthens lists. */
export const maxListGrowth = 10_000

type Container = Array<Json> | { [member: string]: Json }

export class Overlay {
  /** The containers of this overlay, which it may change. */
  private readonly own = new Map<Json | undefined, Container>()
  private growth = 0

  constructor(private base: Json) {}

  get value(): Json {
    return this.base
  }

  /** Sets the value at a path; the empty path replaces all. Returns why it cannot. */
  set(path: Path, value: Json): string | undefined {
    const [top, ...rest] = path
    if (top === undefined) {
      this.base = value
      return undefined
    }
    let container = this.writable(this.base, top)
    this.base = container
    let segment = top
    for (const next of rest) {
      const child = this.writable(memberOf(container, segment), next)
      const mistake = this.define(container, segment, child)
      if (mistake !== undefined) return mistake
      container = child
      segment = next
    }
    return this.define(container, segment, value)
  }

  /** The value as an object or a list of this overlay that can have the segment. */
  private writable(value: Json | undefined, segment: Segment): Container {
    const own = this.own.get(value)
    if (own !== undefined && (!Array.isArray(own) || indexOf(segment) !== undefined)) return own
    const copy = copyFor(value, segment)
    this.own.set(copy, copy)
    return copy
  }

  private define(container: Container, segment: Segment, value: Json): string | undefined {
    if (!Array.isArray(container)) {
      setMember(container, String(segment), value)
      return undefined
    }
    const index = indexOf(segment) ?? 0
    this.growth += Math.max(0, index + 1 - container.length)
    if (this.growth > maxListGrowth) return `lengthens lists by more than ${maxListGrowth} items`
    while (container.length < index) container.push(null)
    container[index] = value
    return undefined
  }
}

/** The index that a segment is in a list. */
const indexOf = (segment: Segment): number | undefined => {
  if (typeof segment === "number") return segment < 0 ? undefined : segment
  return /^\d{1,9}$/.test(segment) ? Number(segment) : undefined
}

/** A value without members, or a list that is given a name, gives way to a new object or list. */
const copyFor = (value: Json | undefined, segment: Segment): Container => {
  if (isList(value) && indexOf(segment) !== undefined) return [...value]
  if (typeof value === "object" && value !== null && !isList(value)) return { ...value }
  return typeof segment === "number" ? [] : {}
}

const memberOf = (container: Container, segment: Segment): Json | undefined => {
  if (Array.isArray(container)) return container[indexOf(segment) ?? -1]
  const name = String(segment)
  return Object.hasOwn(container, name) ? container[name] : undefined
}
