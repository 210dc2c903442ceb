/** Compares the items of a poll with those that it has seen. Pure. Contract: connector definition, `poll`. */
import { accountText } from "../event/WebhookPayload.js"
import { valueAt } from "../expression/Path.js"
import type { EventDefinition } from "../connector/Webhook.js"
import { canonicalJson, type Json } from "../Json.js"

/** What happened to an item since the poll before. */
export type ItemAction = "created" | "updated" | "deleted"

/** An item of a listing. */
export interface ListedItem {
  readonly item: Json
  /** The item with integers beyond 2^53 as text, by which it is recognised; the same value if it has none. */
  readonly exact: Json
}

/** A change that a poll found. */
export interface ItemChange {
  readonly key: string
  readonly action: ItemAction
  /** Of the item as it is now; empty for one that is gone. */
  readonly hash: string
  /** The item; of one that is gone only its key. */
  readonly payload: Json
  readonly exact: Json
}

/** The changes of a poll, and the items to store. */
export interface PollDifference {
  readonly changes: ReadonlyArray<ItemChange>
  readonly stored: ReadonlyArray<{ readonly key: string; readonly hash: string }>
  readonly removed: ReadonlyArray<string>
}

type PollRule = NonNullable<EventDefinition["poll"]>

/**
 * The difference between the items of a listing and those that were seen. Items without a key are left out; of several
 * with the same key the last one counts. `isComplete`: the listing has all items, so that missing ones are gone.
 */
export const pollDifference = (
  { changedAt, key: keyPath }: Pick<PollRule, "changedAt" | "key">,
  items: ReadonlyArray<ListedItem>,
  seen: ReadonlyMap<string, string>,
  isComplete: boolean,
  sha256Hex: (text: string) => string
): PollDifference => {
  const hashOf = (value: Json, mark = ""): string => {
    const version = changedAt === undefined ? undefined : valueAt(value, changedAt)
    return sha256Hex(`${mark}${canonicalJson(version ?? value)}`)
  }
  const keyOf = (value: Json): string | undefined => accountText(valueAt(value, keyPath))?.slice(0, maxKeyLength)
  const current = new Map<string, ListedItem & { readonly hash: string }>()
  for (const { exact, item } of items) {
    const key = keyOf(exact)
    if (key !== undefined) current.set(key, { hash: hashOf(exact, item === exact ? "" : exactMark), item, exact })
  }
  const stored: Array<{ readonly key: string; readonly hash: string }> = []
  const changes: Array<ItemChange> = []
  const roundedKeys = new Set<string>()
  /** Whether the item was stored as it is by a release that rounded its integers, which left no mark. */
  const wasRounded = (key: string, { exact, item }: ListedItem): boolean => {
    if (item === exact) return false
    const rounded = seen.has(key) ? key : keyOf(item)
    if (rounded === undefined || seen.get(rounded) !== hashOf(item)) return false
    if (rounded !== key) roundedKeys.add(rounded)
    return true
  }
  for (const [key, listed] of current) {
    const { exact, hash, item } = listed
    if (seen.get(key) === hash) continue
    stored.push({ key, hash })
    if (!wasRounded(key, listed))
      changes.push({ key, hash, action: seen.has(key) ? "updated" : "created", payload: item, exact })
  }
  const removed = isComplete ? [...seen.keys()].filter((key) => !current.has(key)) : []
  for (const key of removed)
    if (!roundedKeys.has(key)) changes.push({ key, hash: "", action: "deleted", payload: { key }, exact: { key } })
  return { changes, stored, removed }
}

/** Tells the hash of an item whose integers beyond 2^53 kept their digits. */
const exactMark = "exact "

/** Characters of an item's key. */
const maxKeyLength = 500

/** The verb with which an event's id ends decides which changes it is about; other ids are about all. */
const actionsOfVerb: { readonly [verb in string]?: ReadonlyArray<ItemAction> } = {
  created: ["created"],
  updated: ["created", "updated"],
  changed: ["created", "updated"],
  deleted: ["deleted"],
  removed: ["deleted"]
}

const verbOf = (eventId: string): string | undefined => {
  const verb = eventId.slice(eventId.lastIndexOf(".") + 1)
  return Object.hasOwn(actionsOfVerb, verb) ? verb : undefined
}

/** Whether an event is about changes of this kind. */
export const isAbout = (eventId: string, action: ItemAction): boolean => {
  const verb = verbOf(eventId)
  return verb === undefined || actionsOfVerb[verb]?.includes(action) === true
}

/** The type of the event of a change: what happened replaces the verb with which the event's id ends. */
export const polledType = (
  connector: string,
  { entity, id }: { readonly entity?: string; readonly id: string },
  action: ItemAction
): string => {
  const verb = verbOf(id)
  const subject = entity ?? (verb === undefined ? id : id.slice(0, -verb.length).replace(/\.$/, ""))
  return [connector, ...(subject === "" ? [] : [subject]), action].join(".")
}

/** The pause after failed polls in a row, in seconds: it doubles with each, up to an hour. */
export const pollPause = (intervalSeconds: number, failures: number): number =>
  Math.min(Math.max(intervalSeconds, 3_600), intervalSeconds * 2 ** Math.min(failures, 12))
