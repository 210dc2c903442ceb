/** Use cases of workspaces: an organisation has one or more, and each key belongs to one. Contract: organisation record. */
import { Effect } from "effect"
import { type Failure, PlanLimitReached } from "../../../domain/Failure.js"
import { workspacesPerOrganisation } from "../../../domain/Limits.js"
import {
  type CreateWorkspace,
  newWorkspace,
  type UpdateWorkspace,
  Workspace
} from "../../../domain/organisation/Organisation.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { checkVersion, type CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { type PageRequest, Pages } from "../Pages.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { findWorkspace } from "./WorkspaceRecords.js"

const resourceOf = ({ id, name }: Workspace) => ({ id, name })

/** Fails if the plan does not allow one more workspace. Exact, because a lock serialises creations. */
const checkRoom = Effect.fnUntraced(function* (tx: Tx): Effect.fn.Return<void, Failure> {
  yield* tx.lockKey("workspaces")
  const limit = workspacesPerOrganisation
  const used = yield* tx.workspaces.count({})
  if (used >= limit) return yield* new PlanLimitReached({ dimension: "workspaces", limit, used })
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers

  return {
    /** All workspaces of the organisation, newest first. */
    list: (context: CallContext, params: PageRequest) =>
      read(context, (tx) =>
        pages.views(tx.workspaces, params, { searchIn: ["name", "slug"] }, (one) => Workspace.show(one))
      ),

    create: (context: CallContext, input: CreateWorkspace) =>
      change(context, function* (tx) {
        const now = yield* currentTimestamp
        yield* checkRoom(tx)
        const workspace = newWorkspace(context.caller.organisationId, identifiers.next("spc"), input, now)
        yield* tx.workspaces.insert(workspace)
        const value = Workspace.show(workspace)
        return { value, resource: resourceOf(workspace), after: value }
      }),

    get: (context: CallContext, id: string) =>
      Effect.map(
        read(context, (tx) => findWorkspace(tx, context.caller, id)),
        (one) => Workspace.show(one)
      ),

    update: (context: CallContext, id: string, input: UpdateWorkspace) =>
      change(context, function* (tx) {
        const now = yield* currentTimestamp
        const before = yield* findWorkspace(tx, context.caller, id, true)
        yield* checkVersion(context, input.version, before.version)
        const changes = yield* pickChanges(Workspace.Update, input, Workspace.show(before))
        const after = Workspace.change(before, changes, now)
        yield* tx.workspaces.update(after)
        const value = Workspace.show(after)
        return { value, resource: resourceOf(after), before: Workspace.show(before), after: value }
      })
  }
})

export class Workspaces extends Effect.Service<Workspaces>()("svc/Workspaces", { effect: make }) {}
