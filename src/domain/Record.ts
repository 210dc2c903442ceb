/**
 * A record stated once: each member says its schema and who writes it. The stored record, the bodies that create and change
 * it, and its view are made from that, so that no body can hold what the service alone writes. Contract: conventions.
 */
import { Schema } from "effect"
import { Counter } from "./Scalars.js"

type AnySchema = Schema.Schema<any, any> // oxlint-disable-line typescript/no-explicit-any -- Members have every type.

/**
 * Who writes a member and where it is seen. `generated`: the service; shown. `owner`: the service; whose the record is, not
 * shown. `hidden`: the service; not shown. `derived`: nobody, it is computed when the record is shown.
 */
type Writer = "generated" | "owner" | "hidden" | "derived"
export interface Member<Stored extends AnySchema, Who extends Writer> {
  readonly who: Who
  readonly stored: Stored
}

/** A member of bodies. `isRequired`: to create the record; otherwise a new one has `initial`. */
export interface GivenMember<Stored extends AnySchema, Body extends AnySchema, Required extends boolean> {
  readonly who: "given"
  readonly stored: Stored
  readonly body: Body
  readonly isRequired: Required
  readonly initial: Stored["Type"] | undefined
}

type AnyMember = Member<AnySchema, Writer> | GivenMember<AnySchema, AnySchema, boolean>

/** Written by the service and shown: an id, a time. */
export const generatedValue = <S extends AnySchema>(stored: S): Member<S, "generated"> => ({ who: "generated", stored })
/** Written by the service: whose the record is. No body and no view has it. */
export const owner = <S extends AnySchema>(stored: S): Member<S, "owner"> => ({ who: "owner", stored })
/** Written by the service, and not shown. */
export const hidden = <S extends AnySchema>(stored: S): Member<S, "hidden"> => ({ who: "hidden", stored })
/** Not stored: computed when the record is shown. */
export const derivedValue = <S extends AnySchema>(shown: S): Member<S, "derived"> => ({ who: "derived", stored: shown })
/** Given by clients, who must give it to create the record. `body`: what they may give, where it is narrower. */
export const required = <S extends AnySchema, B extends AnySchema = S>(
  stored: S,
  body: B | S = stored
): GivenMember<S, B, true> => ({ who: "given", stored, body: body as B, isRequired: true, initial: undefined })
/** Given by clients, or `initial` in a new record; `undefined`: the creator makes one. */
export const optional = <S extends AnySchema, B extends AnySchema = S>(
  stored: S,
  initial: S["Type"] | undefined,
  body: B | S = stored
): GivenMember<S, B, false> => ({ who: "given", stored, body: body as B, isRequired: false, initial })

type Members = { readonly [name: string]: AnyMember }
type Simplify<T> = { readonly [K in keyof T]: T[K] }

type KeysBy<M extends Members, Who extends AnyMember["who"]> = {
  [K in keyof M]: M[K]["who"] extends Who ? K : never
}[keyof M]
type GivenKeys<M extends Members> = KeysBy<M, "given">
type ShownKeys<M extends Members> = Exclude<keyof M, KeysBy<M, "owner" | "hidden">>
type TypesOf<M extends Members, Keys extends keyof M> = { readonly [K in Keys]: M[K]["stored"]["Type"] }

/** The stored record. */
type StoredOf<M extends Members> = TypesOf<M, Exclude<keyof M, KeysBy<M, "derived">>>
type BodyOf<M> = M extends GivenMember<AnySchema, infer B, boolean> ? B : never

type CreateFields<M extends Members> = {
  [K in GivenKeys<M>]: M[K] extends GivenMember<AnySchema, infer B, true> ? B : Schema.optional<BodyOf<M[K]>>
}
type UpdateFields<M extends Members> = { [K in GivenKeys<M>]: Schema.optional<BodyOf<M[K]>> } & {
  version: Schema.optional<typeof Counter>
}
type ViewFields<M extends Members> = { [K in ShownKeys<M>]: M[K]["stored"] }

/** What a creator adds to a body: all that the service writes, and given members that have no initial value. */
type Written<M extends Members> = Simplify<
  TypesOf<M, KeysBy<M, "generated" | "owner" | "hidden">> & Partial<TypesOf<M, GivenKeys<M>>>
>

/**
 * States a record. `name`: of its view in the documents; its bodies are `Create…` and `Update…`. `members`: in the order of
 * the view. `bodyOrder`: given members whose order in the documents of bodies is another one; the others follow.
 */
export const recordOf = <const M extends Members>(
  name: string,
  members: M,
  bodyOrder: ReadonlyArray<GivenKeys<M> & string> = []
) => {
  const all = Object.entries<AnyMember>(members)
  const stored = all.filter(([, { who }]) => who !== "derived")
  const shown = all.filter(([, { who }]) => who !== "owner" && who !== "hidden")
  const orderOf = (member: string) => bodyOrder.findIndex((one) => one === member) >>> 0
  const given = all
    .flatMap(([member, one]) => (one.who === "given" ? [[member, one] as const] : []))
    .toSorted(([a], [b]) => orderOf(a) - orderOf(b))
  const fieldsOf = (list: ReadonlyArray<readonly [string, AnyMember]>) =>
    Object.fromEntries(list.map(([member, one]) => [member, one.stored]))

  // The types of all that follows are those of `members`, which a mapping over its entries cannot say.
  return {
    /** The columns, in their order. */
    names: stored.map(([member]) => member) as unknown as ReadonlyArray<keyof StoredOf<M> & string>,
    /** The schema of the stored record. */
    stored: Schema.Struct(fieldsOf(stored)) as unknown as Schema.Schema<StoredOf<M>, unknown>,
    /** The body that creates a record. */
    Create: Schema.Struct(
      Object.fromEntries(
        given.map(([member, { body, isRequired }]) => [member, isRequired ? body : Schema.optional(body)])
      )
    ).annotations({ identifier: `Create${name}` }) as unknown as Schema.Struct<CreateFields<M>>,
    /** The body that changes a record. */
    Update: Schema.Struct({
      ...Object.fromEntries(given.map(([member, { body }]) => [member, Schema.optional(body)])),
      version: Schema.optional(Counter)
    }).annotations({ identifier: `Update${name}` }) as unknown as Schema.Struct<UpdateFields<M>>,
    /** The record as the API shows it. */
    View: Schema.Struct(fieldsOf(shown)).annotations({ identifier: name }) as unknown as Schema.Struct<ViewFields<M>>,
    /** The record of a body. `written`: what the service writes. */
    create: (body: object, written: Written<M>): StoredOf<M> =>
      Object.fromEntries(
        stored.map(([member, one]) => [
          member,
          Reflect.get(body, member) ??
            Reflect.get(written, member) ??
            (one.who === "given" ? one.initial : undefined) ??
            null
        ])
      ) as StoredOf<M>,
    /** The record with the members that a body has, and its next version. `now`: RFC 3339. */
    change: <R extends StoredOf<M> & { readonly version: number }>(record: R, body: object, now: string): R => ({
      ...record,
      ...Object.fromEntries(
        given.flatMap(([member]) => {
          const value: unknown = Reflect.get(body, member)
          return value === undefined ? [] : [[member, value]]
        })
      ),
      updatedAt: now,
      version: record.version + 1
    }),
    /** What the API shows of a stored record. */
    show: (record: StoredOf<M>, computed: TypesOf<M, KeysBy<M, "derived">>): Simplify<TypesOf<M, ShownKeys<M>>> => {
      const values = { ...record, ...computed }
      return Object.fromEntries(shown.map(([member]) => [member, Reflect.get(values, member)])) as Simplify<
        TypesOf<M, ShownKeys<M>>
      >
    }
  }
}
