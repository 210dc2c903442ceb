/** Use cases of teams and projects: list them, and create or replace one. Contract: organisations. */
import { Effect, Option } from "effect"
import { type Failure, invalid, PlanLimitReached } from "../../../domain/Failure.js"
import { nextVersion } from "../../../domain/Record.js"
import type { UserId, WorkflowId } from "../../../domain/Ids.js"
import type { User } from "../../../domain/access/Person.js"
import {
  groupsPerOrganisation,
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

/** People whose teams are read at once. */
const mostPeople = 10_000

const isIn = (team: string) => ({ some: [{ member: "teams", part: "items", among: [team] } as const] })

/** Fails unless a record has each of the ids. */
const checkIds = <R extends { readonly id: string }>(
  repository: Repository<R>,
  path: string,
  ids: ReadonlyArray<string>,
  more: Where<R> = {}
): Effect.Effect<ReadonlyArray<R>, Failure> => {
  const named = [...new Set(ids)]
  if (named.length === 0) return Effect.succeed([])
  const where = { ...more, id: named as ReadonlyArray<R["id"]> } as Where<R> // unchecked text from the request
  return Effect.flatMap(
    repository.list({ where, limit: named.length }),
    (found): Effect.Effect<ReadonlyArray<R>, Failure> => {
      const known = new Set(found.map(({ id }) => id))
      const at = ids.findIndex((id) => !known.has(id))
      return at < 0 ? Effect.succeed(found) : invalid(`${path}[${at}]`, "NOT_FOUND", "names none of the organisation")
    }
  )
}

/** Fails if there are as many as an organisation may have. Exact, because creations wait for the lock. */
const checkRoom = Effect.fnUntraced(function* (used: number, dimension: string): Effect.fn.Return<void, Failure> {
  if (used >= groupsPerOrganisation)
    return yield* new PlanLimitReached({ dimension, limit: groupsPerOrganisation, used })
})

/** The teams with their people. */
const teamViews = Effect.fnUntraced(function* (tx: Tx, teams: ReadonlyArray<Team>) {
  const names = teams.map(({ name }) => name)
  const people =
    names.length === 0
      ? []
      : yield* tx.users.list({ some: [{ member: "teams", part: "items", among: names }], limit: mostPeople })
  return teams.map((team): TeamView =>
    Team.show(team, { memberIds: people.filter((one) => one.teams.includes(team.name)).map(({ id }) => id) })
  )
})

/** Makes these the people of the team, and nobody else. */
const setMembers = Effect.fnUntraced(function* (
  tx: Tx,
  team: string,
  memberIds: ReadonlyArray<string>,
  now: string
): Effect.fn.Return<void, ChangeFailure> {
  const wanted = yield* checkIds(tx.users, "memberIds", memberIds)
  const before = yield* tx.users.list({ ...isIn(team), limit: mostPeople })
  const ids = new Set<UserId>(wanted.map(({ id }) => id))
  const change = (user: User, teams: ReadonlyArray<string>) =>
    tx.users.update({ ...user, ...nextVersion(user, now), teams })
  for (const user of before)
    if (!ids.has(user.id))
      yield* change(
        user,
        user.teams.filter((name) => name !== team)
      )
  for (const user of wanted) if (!user.teams.includes(team)) yield* change(user, [...user.teams, team])
})

/** The projects, without the workflows that were deleted since. */
const projectViews = Effect.fnUntraced(function* (tx: Tx, projects: ReadonlyArray<Project>) {
  const ids = [...new Set(projects.flatMap(({ workflowIds }) => workflowIds))]
  const found =
    ids.length === 0 ? [] : yield* tx.workflows.list({ where: { id: ids, deletedAt: null }, limit: ids.length })
  const alive = new Set<WorkflowId>(found.map(({ id }) => id))
  return projects.map((one) => ({
    ...Project.show(one),
    workflowIds: one.workflowIds.filter((id) => alive.has(id))
  }))
})

const make = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const pages = yield* Pages
  const identifiers = yield* Identifiers

  /** Adds teams of these names that do not exist yet, in a transaction of the organisation. */
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
      if (memberIds !== undefined) yield* setMembers(tx, name, memberIds, now)
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
      const ofProject = yield* checkIds(tx.teams, "teamIds", teamIds)
      const workflows = yield* checkIds(tx.workflows, "workflowIds", workflowIds, { deletedAt: null })
      const members = { name, teamIds: ofProject.map(({ id }) => id), workflowIds: workflows.map(({ id }) => id) }
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
