/**
 * Replaces the secret values that a run used wherever they appear in text and JSON, in every encoding of
 * `SecretForms.ts`. Specification: secrets never appear in logs, traces, errors.
 */
import { type Json, isList } from "../Json.js"
import { minSecretLength, secretForms } from "./SecretForms.js"
import { SecretIndex, type Span } from "./SecretIndex.js"
import { credentialHeaders, redacted } from "./SecretNames.js"

/** Replaces a growing set of secret values. */
export interface Scrubber {
  /** Whether there is no value to replace. */
  readonly isEmpty: boolean
  /** Adds a secret value. */
  readonly hide: (value: string) => void
  /** Adds a secret value. Each step is short also for a long value; the value is hidden once the iteration has ended. */
  readonly hideInSteps: (value: string) => Iterable<void>
  readonly scrubText: (text: string) => string
  /** The index from which the end of the text could be the beginning of a secret; its length if it could not. */
  readonly openSecretStart: (text: string) => number
  /**
   * Scrubs one chunk of a streamed text: `safe` can be forwarded; `pending` may be the beginning of a secret and must be
   * prepended to the next chunk.
   */
  readonly scrubChunk: (text: string) => { readonly safe: string; readonly pending: string }
  /** Scrubs values and member names, and credential headers by name. Returns the same object if nothing was replaced. */
  readonly scrubJson: (value: Json) => Json
}

/**
 * Finds each value also inside longer text, and encoded as base64 and base64url (even as part of a longer text, such as
 * `user:password`), hexadecimal, URL-encoded or in JSON. Takes time linear in the text and the values, and none without
 * values. If scrubbing fails, the whole text is replaced.
 */
export const makeScrubber = (values: Iterable<string>): Scrubber => {
  const index = new SecretIndex()
  function* hideInSteps(value: string): Generator<void, void> {
    if (value.length < minSecretLength) return
    const added = new Set<string>()
    for (const form of secretForms(value)) {
      yield
      if (form.length < minSecretLength || added.has(form)) continue
      added.add(form)
      yield* index.addInSteps(form)
    }
  }
  const hide = (value: string): void => {
    for (const _step of hideInSteps(value));
  }
  for (const value of values) hide(value)

  const text = (input: string): string => {
    if (index.isEmpty) return input
    const spans = index.spans(input)
    return spans.length === 0 ? input : replaceSpans(input, spans)
  }
  const piece = (input: string) => {
    const end = index.openSecretStart(input)
    // A complete secret in the text is not cut.
    const cut = index.spans(input).find(({ from, to }) => from < end && to > end)?.from ?? end
    return { safe: text(input.slice(0, cut)), pending: input.slice(cut) }
  }

  const json = (value: Json): Json => {
    if (typeof value === "string") return text(value)
    if (typeof value === "number") return scrubbedNumber(value)
    if (typeof value !== "object" || value === null) return value
    if (isList(value)) {
      const items = value.map(json)
      return items.some((item, at) => item !== value[at]) ? items : value
    }
    const members = Object.entries(value)
    const scrubbed = members.map(([name, member]): [string, Json] => [text(name), scrubbedMember(name, member)])
    const changed = scrubbed.some(([name, member], at) => name !== members[at]?.[0] || member !== members[at]?.[1])
    return changed ? Object.fromEntries(scrubbed) : value
  }
  const scrubbedMember = (name: string, member: Json): Json =>
    typeof member === "string" && credentialHeaders.has(name.toLowerCase()) ? redacted : json(member)
  const scrubbedNumber = (value: number): Json => {
    const written = String(value)
    return text(written) === written ? value : redacted
  }

  return {
    get isEmpty() {
      return index.isEmpty
    },
    hide,
    hideInSteps,
    scrubText: (input) => orRedacted(() => text(input)),
    openSecretStart: (input) => (index.isEmpty ? input.length : index.openSecretStart(input)),
    scrubChunk: (input) => (index.isEmpty ? { safe: input, pending: "" } : piece(input)),
    scrubJson: (value) => (index.isEmpty ? value : orRedacted(() => json(value)))
  }
}

/** Replaces the whole value if it cannot be searched, for example because it nests too deep. */
const orRedacted = <A>(scrub: () => A): A | typeof redacted => {
  try {
    return scrub()
  } catch {
    return redacted
  }
}

const replaceSpans = (input: string, spans: ReadonlyArray<Span>): string => {
  let shown = ""
  let at = 0
  for (const { from, to } of spans) {
    shown += input.slice(at, from) + redacted
    at = to
  }
  return shown + input.slice(at)
}
