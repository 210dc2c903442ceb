/**
 * Remembers the cursors and links of a list's pages, to find one that comes again. The memory travels in the arguments of the
 * next page, so that every loop over pages has it, also after a restart. It has a constant size: of long lists it keeps every
 * second, fourth, … page, by which a repetition is still found. Pure.
 */
import { type Json, type JsonObject, isObject } from "../../Json.js"

/** The argument that holds the memory; it is no argument of the action. */
const memoryArgument = "$pages"

/** Pages of which the memory is complete. */
const most = 128
/** Characters of a page's hash. */
const hashLength = 9

/** `every`: the distance of the pages that are kept. `count`: pages so far. */
interface PageMemory {
  readonly every: number
  readonly count: number
  readonly hashes: ReadonlyArray<string>
}

/** The arguments of the action, without the memory. */
export const withoutPageMemory = (args: Json): Json => {
  if (!isObject(args) || !Object.hasOwn(args, memoryArgument)) return args
  const { [memoryArgument]: _, ...own } = args
  return own
}

/** The arguments of a page whose predecessors had no cursor or link `next`; `undefined` if one had it. `last`: that of the page before. */
export const rememberPage = (args: JsonObject, last: Json | undefined, next: string): JsonObject | undefined => {
  const before = readMemory(args[memoryArgument]) ?? add({ every: 1, count: 0, hashes: [] }, asKey(last))
  const hash = hashOf(next)
  return before.hashes.includes(hash) ? undefined : { ...args, [memoryArgument]: textOf(add(before, next)) }
}

/** The arguments with the number of empty pages in a row. */
export const rememberEmptyPages = (args: JsonObject, count: number): JsonObject => {
  const { [memoryArgument]: _, ...own } = args
  return count === 0 ? own : { ...own, [memoryArgument]: `empty:${count}` }
}

/** The number of empty pages in a row before this one. */
export const emptyPagesBefore = (args: JsonObject): number => {
  const text = args[memoryArgument]
  const found = typeof text === "string" ? /^empty:(\d{1,9})$/.exec(text) : null
  return found === null ? 0 : Number(found[1])
}

const asKey = (last: Json | undefined): string =>
  typeof last === "string" || typeof last === "number" ? `${last}` : ""

const add = ({ count, every, hashes }: PageMemory, key: string): PageMemory => {
  const kept = count % every === 0 ? [...hashes, hashOf(key)] : hashes
  return kept.length <= most
    ? { every, count: count + 1, hashes: kept }
    : { every: every * 2, count: count + 1, hashes: kept.filter((_, at) => at % 2 === 0) }
}

const memoryForm = /^(\d{1,9}):(\d{1,9}):([0-9a-z]*)$/

const textOf = ({ count, every, hashes }: PageMemory): string => `${every}:${count}:${hashes.join("")}`

const readMemory = (text: Json | undefined): PageMemory | undefined => {
  if (typeof text !== "string" || text.length > (most + 4) * hashLength) return undefined
  const [, every, count, hashes = ""] = memoryForm.exec(text) ?? []
  if (every === undefined || Number(every) === 0) return undefined
  return {
    every: Number(every),
    count: Number(count),
    hashes: Array.from({ length: Math.floor(hashes.length / hashLength) }, (_, at) =>
      hashes.slice(at * hashLength, (at + 1) * hashLength)
    )
  }
}

/** A hash of 46 bits, of two of 32 bits (FNV-1a and a variant). */
const hashOf = (key: string): string => {
  let first = 0x811c9dc5
  let second = 0x9e3779b9
  for (let at = 0; at < key.length; at++) {
    const unit = key.charCodeAt(at)
    first = Math.imul(first ^ unit, 0x01000193)
    second = Math.imul(second ^ unit, 0x85ebca6b)
    second ^= second >>> 13
  }
  first = Math.imul(first ^ (first >>> 15), 0x2c1b3c6d)
  first ^= first >>> 12
  second = Math.imul(second ^ (second >>> 16), 0xc2b2ae35)
  second ^= second >>> 16
  const text = ((first >>> 0) * 0x4000 + (second & 0x3fff)).toString(36)
  return text.padStart(hashLength, "0")
}
