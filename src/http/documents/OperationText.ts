/** What the documents say of an operation in words, and an example of its body. */
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import type { Json } from "../../domain/Json.js"

export interface OperationText {
  /** A few words, without a full stop. */
  readonly summary: string
  readonly description: string
  /** What each answer of success holds, by status. */
  readonly answers: { readonly [status: number]: string }
  /** A body that the service takes. Ids in it are made up. */
  readonly example?: Json
}

type GroupsOf<Api> = Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _Error, infer _Context> ? Groups : never

type NamesOf<Group> =
  Group extends HttpApiGroup.HttpApiGroup<infer Id, infer Endpoints, infer _Error, infer _Context>
    ? `${Id}.${Endpoints["name"]}`
    : never

/** The ids of the operations of an API. */
export type OperationId<Api> = NamesOf<GroupsOf<Api>>

/** The texts of all operations of an API: the compiler names one that is missing. */
export type TextsOf<Api> = { readonly [Id in OperationId<Api>]: OperationText }
