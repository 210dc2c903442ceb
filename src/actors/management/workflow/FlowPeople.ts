/** Warns of approvers whom no mail would reach, and who could not be told to be among them. */
import { Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { FlowUses } from "../../../domain/flow/Checks.js"
import type { OrganisationId, RoleId, UserId } from "../../../domain/Ids.js"
import { Records, type Tx } from "../../ports/Records.js"

/** A warning at a place of the steps. */
interface PeopleWarning {
  readonly path: string
  readonly code: string
  readonly message: string
}

/** Those of the names that stand for someone: a confirmed address, or a user by id, address or role. */
const reachedNames = Effect.fnUntraced(function* (tx: Tx, names: ReadonlyArray<string>) {
  const lower = names.map((name) => name.toLowerCase())
  const limit = 2 * names.length
  // Unchecked texts of the document.
  const byId = yield* tx.users.list({ where: { id: names as ReadonlyArray<UserId> }, limit })
  const byEmail = yield* tx.users.list({ where: { email: [...names, ...lower] }, limit })
  const roles = [
    ...(yield* tx.roles.list({ where: { id: names as ReadonlyArray<RoleId> }, limit })),
    ...(yield* tx.roles.list({ where: { name: [...names, ...lower] }, limit }))
  ]
  return new Set(
    [
      ...(yield* tx.usableAddresses(names.filter((name) => name.includes("@")))),
      ...[...byId, ...byEmail].flatMap(({ email, id, status }) => (status === "disabled" ? [] : [email, id])),
      ...roles.flatMap(({ id, name }) => [id, name])
    ].map((name) => name.toLowerCase())
  )
})

/** Makes the function that warns of the people whom a flow asks. */
export const makeFlowPeople = Effect.map(
  Records,
  (records) =>
    (organisation: OrganisationId, { people }: FlowUses): Effect.Effect<ReadonlyArray<PeopleWarning>, Unavailable> =>
      people.length === 0
        ? Effect.succeed([])
        : Effect.map(
            records.transact(organisation, (tx) => reachedNames(tx, [...new Set(people.map(({ name }) => name))])),
            (reached) =>
              people.flatMap(({ name, path }) =>
                reached.has(name.toLowerCase())
                  ? []
                  : [
                      {
                        path: `spec.${path}`,
                        code: "UNKNOWN_APPROVER",
                        message: `"${name}" is no confirmed address, user or role: nobody is asked by mail`
                      }
                    ]
              )
          )
)
