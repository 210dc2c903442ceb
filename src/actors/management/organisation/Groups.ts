/** Use cases of teams and projects: list them, and create or replace one. Contract: organisations. */
import { Effect, Option } from "effect"
import { type Failure, invalid, PlanLimitReached } from "../../../domain/Failure.js"
import { nextVersion } from "../../../domain/Record.js"
import type { WorkflowId } from "../../../domain/Ids.js"
import {
  groupsPerOrganisation,
  mostGrouped,
  Project,
  type ProjectView,
  Team,
  type TeamView
} from "../../../domain/organisation/Group.js"
import type { CreateInOrganisation, OrganisationKind } from "../../../domain/organisation/NewOrganisation.js"
import { slugOf } from "../../../domain/Slug.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { AlreadyExists, Changed, Repository, Tx, Where } from "../../ports/Records.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { type PageOf, type PageRequest, Pages } from "../Pages.js"
import { currentTimestamp } from "../Timestamp.js"

type GroupKind = Exclude<OrganisationKind, "organization">
type GroupView = TeamView | ProjectView

interface StoredGroup {
  readonly isNew: boolean
  readonly value: GroupView
}

type ChangeFailure = Failure | AlreadyExists | Changed

/** The ids, without those that name no record. The records themselves are not read: they may be large. */
const knownIds = <R extends { readonly id: string }>(
  repository: Repository<R>,
  ids: ReadonlyArray<R["id"]>,
  more: Where<R> = {}
): Effect.Effect<ReadonlyArray<R["id"]>, Failure> => {
  const named = [...new Set(ids)]
  if (named.length === 0) return Effect.succeed([])
  const where = { ...more, id: named } as Where<R> // a condition on a member that each has
  return Effect.map(repository.countBy("id", where), (found) => named.filter((id) => found.has(id)))
}

/** Fails unless each of the ids names a record. */
const checkIds = <R extends { readonly id: string }>(
  repository: Repository<R>,
  { noun, path }: { readonly noun: string; readonly path: string },
  ids: ReadonlyArray<string>,
  more?: Where<R>
): Effect.Effect<ReadonlyArray<R["id"]>, Failure> =>
  Effect.flatMap(
    knownIds(repository, ids as ReadonlyArray<R["id"]>, more), // unchecked text from the request
    (known): Effect.Effect<ReadonlyArray<R["id"]>, Failure> => {
      const found = new Set<string>(known)
      const at = ids.findIndex((id) => !found.has(id))
      return at < 0
        ? Effect.succeed(known)
        : invalid(`${path}[${at}]`, "NOT_FOUND", `names no ${noun} of the organisation`)
    }
  )

/** Fails if there are as many as an organisation may have. Exact, because creations wait for the lock. */
const checkRoom = Effect.fnUntraced(function* (used: number, dimension: string): Effect.fn.Return<void, Failure> {
  if (used >= groupsPerOrganisation)
    return yield* new PlanLimitReached({ dimension, limit: groupsPerOrganisation, used })
})

/** The teams with their people. */
const teamViews = Effect.fnUntraced(function* (tx: Tx, teams: ReadonlyArray<Team>) {
  const members = yield* tx.teamMembers(
    teams.map(({ name }) => name),
    mostGrouped
  )
  return teams.map((team): TeamView => Team.show(team, { memberIds: members.get(team.name) ?? [] }))
})

/** The projects, without the workflows that were deleted since. */
const projectViews = Effect.fnUntraced(function* (tx: Tx, projects: ReadonlyArray<Project>) {
  const ids = projects.flatMap(({ workflowIds }) => workflowIds)
  const alive = new Set<WorkflowId>(yield* knownIds(tx.workflows, ids, { deletedAt: null }))
  return projects.map((one) => ({
    ...Project.show(one),
    workflowIds: one.workflowIds.filter((id) => alive.has(id))
  }))
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers

  /** Adds the first teams of a new organisation, in a transaction of it. */
  const addTeams = Effect.fnUntraced(function* (
    tx: Tx,
    organisationId: Team["organisationId"],
    names: ReadonlyArray<string>,
    now: string
  ): Effect.fn.Return<void, ChangeFailure> {
    for (const name of new Set(names))
      yield* tx.teams.insert(Team.create({}, { id: identifiers.next("team"), organisationId, name }, now))
  })

  const teams = (context: CallContext, params: PageRequest) =>
    read(context, (tx) =>
      Effect.flatMap(pages.list(tx.teams, params, { searchIn: ["name"] }), ({ data, page }) =>
        Effect.map(teamViews(tx, data), (views) => ({ data: views, page }))
      )
    )

  const projects = (context: CallContext, params: PageRequest) =>
    read(context, (tx) =>
      Effect.flatMap(pages.list(tx.projects, params, { searchIn: ["name", "slug"] }), ({ data, page }) =>
        Effect.map(projectViews(tx, data), (views) => ({ data: views, page }))
      )
    )

  const storeTeam = (context: CallContext, { memberIds, name }: CreateInOrganisation) =>
    change<StoredGroup>(context, function* (tx) {
      const now = yield* currentTimestamp
      yield* tx.lockKey("teams")
      const known = Option.getOrUndefined(yield* tx.teams.find({ name }))
      if (known === undefined) yield* checkRoom(yield* tx.teams.count({}), "teams")
      const [before = null] = known === undefined ? [] : yield* teamViews(tx, [known])
      const { organisationId } = context.caller
      const team =
        known === undefined
          ? Team.create({}, { id: identifiers.next("team"), organisationId, name }, now)
          : { ...known, ...nextVersion(known, now) }
      yield* known === undefined ? tx.teams.insert(team) : tx.teams.update(team)
      if (memberIds !== undefined)
        yield* tx.setTeamMembers(name, yield* checkIds(tx.users, { noun: "person", path: "memberIds" }, memberIds), now)
      const [value = Team.show(team, { memberIds: [] })] = yield* teamViews(tx, [team])
      return {
        value: { isNew: known === undefined, value },
        resource: { id: team.id, name },
        action: known === undefined ? "team.create" : "team.update",
        before,
        after: value
      }
    })

  const storeProject = (
    context: CallContext,
    { name, slug = slugOf(name), teamIds = [], workflowIds = [] }: CreateInOrganisation
  ) =>
    change<StoredGroup>(context, function* (tx) {
      const now = yield* currentTimestamp
      yield* tx.lockKey("projects")
      const known = Option.getOrUndefined(yield* tx.projects.find({ slug }))
      if (known === undefined) yield* checkRoom(yield* tx.projects.count({}), "projects")
      const members = {
        name,
        teamIds: yield* checkIds(tx.teams, { noun: "team", path: "teamIds" }, teamIds),
        workflowIds: yield* checkIds(tx.workflows, { noun: "workflow", path: "workflowIds" }, workflowIds, {
          deletedAt: null
        })
      }
      const { organisationId } = context.caller
      const project =
        known === undefined
          ? Project.create({}, { ...members, id: identifiers.next("prj"), organisationId, slug }, now)
          : { ...known, ...members, ...nextVersion(known, now) }
      yield* known === undefined ? tx.projects.insert(project) : tx.projects.update(project)
      const value = Project.show(project)
      return {
        value: { isNew: known === undefined, value },
        resource: { id: project.id, name },
        action: known === undefined ? "project.create" : "project.update",
        before: known === undefined ? null : Project.show(known),
        after: value
      }
    })

  return {
    addTeams,
    list: (context: CallContext, kind: GroupKind, params: PageRequest): Effect.Effect<PageOf<GroupView>, Failure> =>
      kind === "team" ? teams(context, params) : projects(context, params),
    /** Creates a team or a project, or replaces the one of that name, or of that slug. */
    store: (context: CallContext, kind: GroupKind, input: CreateInOrganisation) =>
      kind === "team" ? storeTeam(context, input) : storeProject(context, input)
  }
})

export class Groups extends Effect.Service<Groups>()("svc/Groups", { effect: make }) {}
