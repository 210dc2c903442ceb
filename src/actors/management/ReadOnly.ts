/**
 * Lets a client send a record back as it was read: a change may contain read-only members with their current values, and
 * is refused if one of them differs. Contract: conventions.
 */
import { Effect, Schema } from "effect"
import { type Detail, type ValidationFailed, refusalOf } from "../../domain/Failure.js"
import { canonicalJson } from "../../domain/Json.js"

const detailOf = (path: string): Detail => ({
  path,
  code: "IMMUTABLE_FIELD",
  message: "cannot be changed: send it as it was read, or leave it out"
})

const valueOf = (record: object, member: string): unknown => Reflect.get(record, member)

/** Whether a member that the service itself changes may have had this value before: for a time, if it is not later. */
const isEarlierValue = (value: unknown, current: unknown): boolean => {
  if (value === null) return true
  return typeof value === "string" && typeof current === "string" ? value <= current : typeof value === typeof current
}

/**
 * Picks the members of `input` that a client may change, by the schema `changes`. Fails with `IMMUTABLE_FIELD` if another
 * member differs from `record`, the stored record's view. `moving`: read-only members that the service changes without a
 * new version, such as the time of last use; an earlier value of these is accepted.
 */
export const pickChanges = <A extends object, I>(
  changes: Schema.Schema<A, I> & { readonly fields: object },
  input: A,
  record: object,
  moving: ReadonlyArray<string> = []
): Effect.Effect<A, ValidationFailed> =>
  Effect.suspend(() => {
    const isChanged = (member: string): boolean => {
      if (Object.hasOwn(changes.fields, member)) return false
      const [old, now] = [valueOf(input, member), valueOf(record, member)]
      if (canonicalJson(old) === canonicalJson(now)) return false
      return !(moving.includes(member) && isEarlierValue(old, now))
    }
    const details = Object.keys(input).filter(isChanged).map(detailOf)
    return (
      refusalOf(details, "IMMUTABLE_FIELD") ??
      // Read-only members are dropped, so that none of them reaches the stored record.
      Effect.orDie(Schema.validate(changes)(input, { onExcessProperty: "ignore" }))
    )
  })
