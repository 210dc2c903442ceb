/** Use cases of every caller: read who is calling, list and end the caller's own sessions. Contract: users and sessions. */
import { Effect } from "effect"
import type { Me } from "../../../domain/access/Me.js"
import { toMatrix } from "../../../domain/access/Permission.js"
import { Session } from "../../../domain/access/Session.js"
import { canEditCode } from "../../../domain/organisation/Organisation.js"
import { NotFound } from "../../../domain/Failure.js"
import type { SessionId } from "../../../domain/Ids.js"
import { Sessions } from "../../ports/access/Sessions.js"
import type { CallContext } from "../CallContext.js"

const make = Effect.gen(function* () {
  const sessions = yield* Sessions

  return {
    me: ({ caller }: CallContext): Me => {
      const { customers, id, kind, name, organisation, permissions, person, spaceId } = caller
      const own = { id: organisation.id, name: organisation.name }
      return {
        kind,
        id,
        name,
        email: person?.email ?? null,
        organisation: { ...own, codeEditing: canEditCode(organisation) },
        spaceId,
        permissions: toMatrix(permissions),
        customerIds: customers === "all" ? [] : [...customers],
        organisations: person?.organisations ?? [own]
      }
    },

    /** The caller's own sessions, the newest first; of a caller who is no person none. */
    list: ({ caller: { person } }: CallContext) =>
      person === null
        ? Effect.succeed([])
        : Effect.map(sessions.list(person.identityId), (found) =>
            found.map((one) => Session.show(one, { current: one.id === person.sessionId }))
          ),

    /** Ends one of the caller's own sessions. */
    end: ({ caller: { person } }: CallContext, id: string) =>
      Effect.flatMap(
        // Unchecked text from the request: an id of another form matches no row.
        person === null ? Effect.succeed(false) : sessions.end(person.identityId, id as SessionId),
        (ended) => (ended ? Effect.succeed({ ended: true as const }) : new NotFound({ what: "session" }))
      )
  }
})

export class OwnSessions extends Effect.Service<OwnSessions>()("svc/OwnSessions", { effect: make }) {}
