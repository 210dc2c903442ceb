/** The operations that tell who is calling, and on the caller's own sessions. Contract: users and sessions. */
import { Effect, Schema } from "effect"
import { Me } from "../../../domain/access/Me.js"
import { Session } from "../../../domain/access/Session.js"
import { OwnSessions } from "../../../actors/management/access/OwnSessions.js"
import { auditAction } from "../../operation/Contract.js"
import { operationsOf } from "../../operation/Operation.js"
import { record } from "../../operation/Output.js"

const ofCallers = operationsOf({
  with: OwnSessions,
  resource: "session",
  sharing: "customers",
  scoped: {},
  permit: "anyCaller"
})

/** The operations of the groups `me` and `sessions`. */
export const ownSessionsOperations = [
  ofCallers({
    name: "me.read",
    summary: "Read who is calling",
    description: "Tells the caller's name, organisation, workspace and permissions.",
    answers: { 200: "The caller." },
    route: "GET /api/v1/me",
    output: record(Me),
    use: (own, { context }) => Effect.succeed(own.me(context))
  }),
  ofCallers({
    name: "sessions.list",
    summary: "List own sessions",
    description: "Lists the sessions of the person who calls, the newest first. Keys have none.",
    answers: { 200: "The sessions." },
    route: "GET /api/v1/sessions",
    output: record(Schema.Array(Session.View)),
    use: (own, { context }) => own.list(context)
  }),
  ofCallers({
    name: "sessions.end",
    summary: "End a session",
    description: "Ends a session of the person who calls. It works on no node any more within a second.",
    answers: { 200: "The session has ended." },
    parameters: { ses: "The id of the session." },
    route: "DELETE /api/v1/sessions/:ses",
    output: record(Schema.Struct({ ended: Schema.Literal(true) })),
    audit: auditAction("auth.logout"),
    use: (own, { context, path }) => own.end(context, path.ses)
  })
] as const
