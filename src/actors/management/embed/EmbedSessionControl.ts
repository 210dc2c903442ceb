/** Use cases of a backend that sees and ends embed sessions. Contract: embed. */
import { Effect, Schema } from "effect"
import { EmbedSession } from "../../../domain/access/EmbedSession.js"
import { embeddedSession } from "../../../domain/access/EmbeddedSession.js"
import { type Failure, NotFound } from "../../../domain/Failure.js"
import type { EmbedSessionId, WidgetId } from "../../../domain/Ids.js"
import type { Tx, Where } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { outOfScope, type Principal, scopedIds } from "../Caller.js"
import { Changes } from "../Changes.js"
import { customerListFilter } from "../organisation/CustomerRecords.js"
import { listQuery, optionalText, Pages } from "../Pages.js"
import { findReached } from "../ReachedRecord.js"
import { widgetOfSession } from "./SessionWidget.js"
import { currentTimestamp } from "../Timestamp.js"

export const EmbedSessionList = listQuery({
  customer_id: optionalText,
  user_id: optionalText,
  widget_id: optionalText,
  status: Schema.optional(Schema.Literal("active", "ended")).annotations({
    description:
      "ended: by DELETE, with its widget, or after seven days. Absent: active. A page may have fewer records than its size"
  })
})
type EmbedSessionList = typeof EmbedSessionList.Type

/** A key that is narrowed to widgets reaches the sessions of these only. */
const findSession = (
  tx: Tx,
  { caller }: CallContext,
  id: string,
  isLocked = false
): Effect.Effect<EmbedSession, Failure> =>
  Effect.tap(
    // Unchecked text from the request: an id of another form matches no row.
    findReached(tx.embedSessions, caller, "embed session", { id: id as EmbedSessionId }, isLocked),
    ({ widgetId }) => outOfScope(caller, "widget", widgetId ?? "") ?? Effect.void
  )

/** The condition of a list: the key's scope, and the widget that the request filters by. */
const widgetFilter = (caller: Principal, widget: string | undefined): Pick<Where<EmbedSession>, "widgetId"> => {
  const ids = scopedIds(caller, "widget") ?? (widget === undefined ? undefined : [widget])
  if (ids === undefined) return {}
  // The texts are only compared with stored ids.
  return { widgetId: ids.filter((one) => widget === undefined || one === widget).map((one) => one as WidgetId) }
}

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages

  /** Newest first. */
  const list = (context: CallContext, params: EmbedSessionList) =>
    read(context, function* (tx) {
      const { customer_id, status = "active", user_id, widget_id } = params
      const now = yield* currentTimestamp
      const page = yield* pages.views(
        tx.embedSessions,
        params,
        {
          where: {
            ...(yield* customerListFilter(tx, context.caller, customer_id)),
            ...widgetFilter(context.caller, widget_id),
            ...(status === "active" ? { endedAt: null } : {})
          },
          filters: { userId: user_id },
          searchIn: ["userEmail", "userName", "userId"] as const
        },
        EmbedSession.show
      )
      const isOver = ({ endedAt, expiresAt }: Pick<EmbedSession, "endedAt" | "expiresAt">) =>
        endedAt !== null || expiresAt <= now
      return { ...page, data: page.data.filter((one) => isOver(one) === (status === "ended")) }
    })

  /** Of the session itself, in its page; another one is as good as absent. */
  const getOwn = (context: CallContext, id: string) =>
    read(context, function* (tx) {
      const { caller } = context
      const session = yield* findReached(tx.embedSessions, caller, "embed session", { id: id as EmbedSessionId })
      if (session.id !== caller.embedded?.sessionId) return yield* new NotFound({ what: "embed session" })
      return embeddedSession(session, yield* widgetOfSession(tx, caller), caller.permissions)
    })

  /** Ends a session; without effect on one that was ended before. */
  const end = (context: CallContext, id: string) =>
    change(context, function* (tx) {
      const session = yield* findSession(tx, context, id, true)
      const resource = { id: session.id, name: session.userName, customerId: session.customerId }
      if (session.endedAt !== null) return { value: undefined, resource }
      const after: EmbedSession = { ...session, endedAt: yield* currentTimestamp }
      yield* tx.embedSessions.update(after)
      return { value: undefined, resource, before: EmbedSession.show(session), after: EmbedSession.show(after) }
    })

  const get = (context: CallContext, id: string) =>
    read(context, (tx) =>
      Effect.map(findSession(tx, context, id), (session) => {
        context.customerId = session.customerId
        return EmbedSession.show(session)
      })
    )

  return { list, get, getOwn, end }
})

export class EmbedSessionControl extends Effect.Service<EmbedSessionControl>()("svc/EmbedSessionControl", {
  effect: make
}) {}
