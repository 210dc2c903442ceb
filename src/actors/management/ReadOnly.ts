/**
 * A record that was read can be put back: a change may carry the record's read-only members as they are, and is refused
 * where one of them differs. Contract: conventions.
 */
import { Effect, Schema } from "effect"
import { type Detail, ValidationFailed } from "../../domain/Failure.js"
import { canonicalJson } from "../../domain/Json.js"

const detailOf = (path: string): Detail => ({
  path,
  code: "IMMUTABLE_FIELD",
  message: "cannot be changed: send it as it was read, or leave it out"
})

const valueOf = (record: object, member: string): unknown => Reflect.get(record, member)

/** Whether a member that the service moves by itself may have been read with this value: a time, if it is not later. */
const isEarlierValue = (sent: unknown, now: unknown): boolean => {
  if (sent === null) return true
  return typeof sent === "string" && typeof now === "string" ? sent <= now : typeof sent === typeof now
}

/**
 * The members of `sent` that `changes` lets a client change. Fails with `IMMUTABLE_FIELD` where another one is not as
 * `record`, the stored record as it is answered, has it. `moving`: read-only members that the service itself changes
 * without a new version of the record, such as the time of its last use; an earlier value of them is accepted.
 */
export const pickChanges = <A extends object, I>(
  changes: Schema.Schema<A, I> & { readonly fields: object },
  sent: A,
  record: object,
  moving: ReadonlyArray<string> = []
): Effect.Effect<A, ValidationFailed> =>
  Effect.suspend(() => {
    const isChanged = (member: string): boolean => {
      if (Object.hasOwn(changes.fields, member)) return false
      const [old, now] = [valueOf(sent, member), valueOf(record, member)]
      if (canonicalJson(old) === canonicalJson(now)) return false
      return !(moving.includes(member) && isEarlierValue(old, now))
    }
    const details = Object.keys(sent).filter(isChanged).map(detailOf)
    const [first] = details
    return first === undefined
      ? // Without the members that are not the client's to change, so that none of them reaches the stored record.
        Effect.orDie(Schema.validate(changes)(sent, { onExcessProperty: "ignore" }))
      : new ValidationFailed({ code: "IMMUTABLE_FIELD", message: `${first.path} ${first.message}`, details })
  })
