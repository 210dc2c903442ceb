/**
 * A record stated once: each member says its schema, who writes it and who sees it. The stored record, the bodies that
 * create and change it, and its view are made from that, so that no body can hold what only the service writes.
 * Contract: conventions.
 */
import { Schema } from "effect"
import { Counter } from "./Scalars.js"

type AnySchema = Schema.Schema<any, any> // oxlint-disable-line typescript/no-explicit-any -- Members have every type.

/**
 * Clients write `given` members, the service all others. Views show all members but `owner`, whose the record is, and
 * `hidden` ones. `derived` members are not stored: the service computes them to show the record.
 */
type Kind = "given" | "generated" | "owner" | "hidden" | "derived"

/** `shown`: its schema in views, where that is wider than the stored one. */
export interface Member<K extends Kind, Stored extends AnySchema, Shown extends AnySchema> {
  readonly kind: K
  readonly stored: Stored
  readonly shown: Shown
}

/** The bodies that have a member: the one that creates the record, the one that changes it, or both. */
type Bodies = "both" | "create" | "update"

/** A member of bodies. `isRequired`: to create the record; otherwise a new one has `initial`. */
export interface GivenMember<
  Stored extends AnySchema,
  Body extends AnySchema,
  Shown extends AnySchema,
  Required extends boolean,
  In extends Bodies
> extends Member<"given", Stored, Shown> {
  readonly body: Body
  readonly isRequired: Required
  readonly initial: Stored["Type"] | undefined
  readonly bodies: In
}

type AnyGiven = GivenMember<AnySchema, AnySchema, AnySchema, boolean, Bodies>
type AnyMember = Member<Exclude<Kind, "given">, AnySchema, AnySchema> | AnyGiven

// `NoInfer`: otherwise a schema that is left out is inferred from where the member stands, as any schema.

const member = <K extends Kind, S extends AnySchema, V extends AnySchema>(
  kind: K,
  stored: S,
  shown: V | undefined
) => ({
  kind,
  stored,
  // Left out: the type parameter is then that of `stored`.
  shown: shown ?? (stored as unknown as V)
})

/** Written by the service and shown: an id, a time. */
export const generatedValue = <S extends AnySchema, V extends AnySchema = S>(
  stored: S,
  shown?: V
): Member<"generated", S, NoInfer<V>> => member("generated", stored, shown)
/** Written by the service: whose the record is. No body and no view has it. */
export const owner = <S extends AnySchema>(stored: S): Member<"owner", S, S> => member("owner", stored, stored)
/** Written by the service, and not shown. */
export const hidden = <S extends AnySchema>(stored: S): Member<"hidden", S, S> => member("hidden", stored, stored)
/** Not stored: computed when the record is shown. */
export const derivedValue = <S extends AnySchema>(shown: S): Member<"derived", S, S> => member("derived", shown, shown)
/** Given by clients, who must give it to create the record. `body`: what they may give, where it is narrower. */
export const required = <S extends AnySchema, B extends AnySchema = S, V extends AnySchema = S>(
  stored: S,
  body?: B,
  shown?: V
): GivenMember<S, NoInfer<B>, NoInfer<V>, true, "both"> => ({
  ...member("given", stored, shown),
  body: body ?? (stored as unknown as B),
  isRequired: true,
  initial: undefined,
  bodies: "both"
})
/** Given by clients, or `initial` in a new record; `undefined`: the creator makes one. */
export const optional = <S extends AnySchema, B extends AnySchema = S, V extends AnySchema = S>(
  stored: S,
  initial: S["Type"] | undefined,
  body?: B,
  shown?: V
): GivenMember<S, NoInfer<B>, NoInfer<V>, false, "both"> => ({
  ...member("given", stored, shown),
  body: body ?? (stored as unknown as B),
  isRequired: false,
  initial,
  bodies: "both"
})
/** Given when the record is created, and never changed. */
export const fixedValue = <S extends AnySchema, B extends AnySchema, V extends AnySchema, R extends boolean>(
  member: GivenMember<S, B, V, R, "both">
): GivenMember<S, B, V, R, "create"> => ({ ...member, bodies: "create" })
/** Not given when the record is created, only to change it. */
export const changeable = <S extends AnySchema, B extends AnySchema, V extends AnySchema>(
  member: GivenMember<S, B, V, false, "both">
): GivenMember<S, B, V, false, "update"> => ({ ...member, bodies: "update" })

type Members = { readonly [name: string]: AnyMember }
type Simplify<T> = { readonly [K in keyof T]: T[K] }

type KeysBy<M extends Members, K extends Kind> = { [N in keyof M]: M[N]["kind"] extends K ? N : never }[keyof M]
type GivenIn<M extends Members, In extends Bodies> = {
  [N in keyof M]: M[N] extends { readonly bodies: In } ? N : never
}[keyof M]
type StoredKeys<M extends Members> = Exclude<keyof M, KeysBy<M, "derived">>
type ShownKeys<M extends Members> = Exclude<keyof M, KeysBy<M, "owner" | "hidden">>
type TypesOf<M extends Members, Keys extends keyof M> = { readonly [N in Keys]: M[N]["stored"]["Type"] }

type StoredFields<M extends Members> = { [N in StoredKeys<M>]: M[N]["stored"] }
type BodyOf<M> = M extends { readonly body: infer B extends AnySchema } ? B : never
type CreateFields<M extends Members> = {
  [N in GivenIn<M, "both" | "create">]: M[N] extends { readonly isRequired: true }
    ? BodyOf<M[N]>
    : Schema.optional<BodyOf<M[N]>>
}
type UpdateFields<M extends Members> = { [N in GivenIn<M, "both" | "update">]: Schema.optional<BodyOf<M[N]>> } & {
  version: Schema.optional<typeof Counter>
}
type ViewFields<M extends Members> = { [N in ShownKeys<M>]: M[N]["shown"] }

/** The stored record. */
type StoredOf<M extends Members> = TypesOf<M, StoredKeys<M>>

type WrittenKeys<M extends Members> = Exclude<
  KeysBy<M, "generated" | "owner" | "hidden">,
  "createdAt" | "updatedAt" | "version"
>
type NullableKeys<M extends Members> = {
  [N in WrittenKeys<M>]: null extends M[N]["stored"]["Type"] ? N : never
}[WrittenKeys<M>]

/** What a creator adds to a body: what the service writes, unless it is null, and given members without an initial value. */
type Written<M extends Members> = Simplify<
  TypesOf<M, Exclude<WrittenKeys<M>, NullableKeys<M>>> & Partial<TypesOf<M, NullableKeys<M> | KeysBy<M, "given">>>
>

/** What every change writes. `now`: RFC 3339. */
export const nextVersion = ({ version }: { readonly version: number }, now: string) => ({
  updatedAt: now,
  version: version + 1
})

/** Members that a view does not take from the stored record: derived ones, and those that are shown in another form. */
type ComputedKeys<M extends Members> = {
  [N in ShownKeys<M>]: M[N]["kind"] extends "derived"
    ? N
    : M[N]["stored"]["Type"] extends M[N]["shown"]["Type"]
      ? never
      : N
}[ShownKeys<M>]
type Computed<M extends Members> = { readonly [N in ComputedKeys<M>]: M[N]["shown"]["Type"] }
type ViewOf<M extends Members> = Simplify<TypesOf<M, Exclude<ShownKeys<M>, ComputedKeys<M>>> & Computed<M>>

/**
 * States a record. `name`: of its view in the documents; its bodies are `Create…` and `Update…`. `members`: in the order of
 * the view. `bodyOrder`: given members whose order in the documents of bodies is another one; the others follow.
 */
export const recordOf = <const M extends Members>(
  name: string,
  members: M,
  bodyOrder: ReadonlyArray<KeysBy<M, "given"> & string> = []
) => {
  const all = Object.entries<AnyMember>(members)
  const stored = all.filter(([, { kind }]) => kind !== "derived")
  const shown = all.filter(([, { kind }]) => kind !== "owner" && kind !== "hidden")
  const orderOf = (member: string) => bodyOrder.findIndex((one) => one === member) >>> 0
  const given = all
    .flatMap(([member, one]) => (one.kind === "given" ? [[member, one] as const] : []))
    .toSorted(([a], [b]) => orderOf(a) - orderOf(b))
  const bodyFields = (without: Bodies) =>
    Object.fromEntries(
      given
        .filter(([, { bodies }]) => bodies !== without)
        .map(([member, { body, isRequired }]) => [
          member,
          isRequired && without === "update" ? body : Schema.optional(body)
        ])
    )

  // The types of all that follows are those of `members`, which a mapping over its entries cannot say.
  return {
    /** The stored record; its columns are its members, in their order. */
    stored: Schema.Struct(
      Object.fromEntries(stored.map(([member, one]) => [member, one.stored]))
    ) as unknown as Schema.Struct<StoredFields<M>>,
    /** The body that creates a record. */
    Create: Schema.Struct(bodyFields("update")).annotations({
      identifier: `Create${name}`
    }) as unknown as Schema.Struct<CreateFields<M>>,
    /** The body that changes a record. */
    Update: Schema.Struct({ ...bodyFields("create"), version: Schema.optional(Counter) }).annotations({
      identifier: `Update${name}`
    }) as unknown as Schema.Struct<UpdateFields<M>>,
    /** The record as the API shows it. */
    View: Schema.Struct(Object.fromEntries(shown.map(([member, one]) => [member, one.shown]))).annotations({
      identifier: name
    }) as unknown as Schema.Struct<ViewFields<M>>,
    /** The first version of the record of a body. `written`: what the service writes. `now`: RFC 3339. */
    create: (body: object, written: Written<M>, now: string): StoredOf<M> => {
      const all = { createdAt: now, updatedAt: now, version: 1, ...written }
      return Object.fromEntries(
        stored.map(([member, one]) => [
          member,
          (one.kind === "given" ? Reflect.get(body, member) : undefined) ??
            Reflect.get(all, member) ??
            (one.kind === "given" ? one.initial : undefined) ??
            null
        ])
      ) as StoredOf<M>
    },
    /** The record with the members that a body has, and its next version. `now`: RFC 3339. */
    change: <R extends StoredOf<M> & { readonly version: number }>(record: R, body: object, now: string): R => ({
      ...record,
      ...Object.fromEntries(
        given.flatMap(([member, { bodies }]) => {
          const value: unknown = Reflect.get(body, member)
          return value === undefined || bodies === "create" ? [] : [[member, value]]
        })
      ),
      ...nextVersion(record, now)
    }),
    /** What the API shows of a stored record. `computed`: what it does not show as it is stored. */
    show: (
      record: StoredOf<M>,
      ...[computed]: [ComputedKeys<M>] extends [never] ? [] : [computed: Computed<M>]
    ): ViewOf<M> => {
      const values = { ...record, ...computed }
      return Object.fromEntries(shown.map(([member]) => [member, Reflect.get(values, member)])) as ViewOf<M>
    }
  }
}

// --- Lists ---

const PageInfo = Schema.Struct({
  size: Schema.Number,
  nextCursor: Schema.NullOr(Schema.String),
  hasMore: Schema.Boolean
}).annotations({ identifier: "Page" })

/** A page of records, newest first. */
export const Page = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  Schema.Struct({ data: Schema.Array(schema), page: PageInfo })
