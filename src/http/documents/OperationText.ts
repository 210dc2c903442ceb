/** The texts of an operation in the documents, with an example of its body. */
import type { HttpApi, HttpApiGroup } from "@effect/platform"
import type { Json } from "../../domain/Json.js"

/** The texts of one operation. */
export interface OperationText {
  /** A few words, without a full stop. */
  readonly summary: string
  readonly description: string
  /** A description of each successful answer, by status. */
  readonly answers: { readonly [status: number]: string }
  /** A body that the service accepts. Its ids are invented. */
  readonly example?: Json
}

type GroupsOf<Api> = Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _Error, infer _Context> ? Groups : never

/** The ids of the operations of a group. */
export type NamesOf<Group> =
  Group extends HttpApiGroup.HttpApiGroup<infer Id, infer Endpoints, infer _Error, infer _Context>
    ? `${Id}.${Endpoints["name"]}`
    : never

/** The ids of the operations of an API. */
export type OperationId<Api> = NamesOf<GroupsOf<Api>>

/** The texts of all operations of an API; does not compile if one is missing. */
export type TextsOf<Api> = { readonly [Id in OperationId<Api>]: OperationText }
