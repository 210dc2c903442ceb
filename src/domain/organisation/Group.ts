/** Teams of people, and projects of workflows: how an organisation groups its own. Contract: organisations. */
import { Schema } from "effect"
import { OrganisationId, ProjectId, TeamId, WorkflowId } from "../Ids.js"
import { derivedValue, generatedValue, owner, recordOf } from "../Record.js"
import { AnsweredTime } from "../Time.js"

/** Teams that an organisation has, and projects: so many of each. */
export const groupsPerOrganisation = 100
/** People of a team; teams and workflows of a project. */
export const mostGrouped = 1_000

const Ids = Schema.Array(Schema.String)

/**
 * A team: its record and view. Its members are the people whose `teams` name it, so that an invitation can name the team
 * before it exists. Times are RFC 3339.
 */
export const Team = recordOf("Team", {
  id: generatedValue(TeamId, Schema.String),
  organisationId: owner(OrganisationId),
  name: generatedValue(Schema.String),
  memberIds: derivedValue(Ids.annotations({ description: `the people of the team: the first ${mostGrouped} of them` })),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored team. */
export type Team = typeof Team.stored.Type
/** A team as the API shows it. */
export type TeamView = ReturnType<typeof Team.show>

/** A project: its record and view. Times are RFC 3339. */
export const Project = recordOf("Project", {
  id: generatedValue(ProjectId, Schema.String),
  organisationId: owner(OrganisationId),
  name: generatedValue(Schema.String),
  slug: generatedValue(Schema.String),
  teamIds: generatedValue(Schema.Array(TeamId), Ids),
  workflowIds: generatedValue(
    Schema.Array(WorkflowId),
    Ids.annotations({ description: "its workflows; one that was deleted is left out" })
  ),
  createdAt: generatedValue(AnsweredTime),
  updatedAt: generatedValue(AnsweredTime),
  version: generatedValue(Schema.Number)
})
/** The stored project. */
export type Project = typeof Project.stored.Type
/** A project as the API shows it. */
export type ProjectView = ReturnType<typeof Project.show>
