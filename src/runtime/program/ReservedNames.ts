/** Tells the operator which workflows have names that a later release reserved: they are run by their ids only. */
import { Effect, Schedule, Schema } from "effect"
import { OrganisationId, WorkflowId } from "../../domain/Ids.js"
import { reservedNames } from "../../domain/workflow/Workflow.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { rowDecoder } from "../postgres/record/Table.js"

/** How many are named. */
const most = 20

const decode = rowDecoder("workflows", { id: WorkflowId, name: Schema.String, organisationId: OrganisationId })

/** Warns once, as soon as Postgres answers. */
export const warnOfReservedNames = Effect.gen(function* () {
  const sql = yield* WriterSql
  const read = sql`SELECT id, name, org AS "organisationId" FROM workflows
    WHERE deleted_at IS NULL AND lower(name) = ANY(${[...reservedNames]}::text[]) ORDER BY org, id LIMIT ${most}`
  const workflows = yield* Effect.retry(
    Effect.map(read, (rows) => rows.map(decode)),
    Schedule.spaced("30 seconds")
  )
  if (workflows.length > 0)
    yield* Effect.annotateLogs(Effect.logWarning("workflow.name_reserved"), {
      workflows,
      advice: "rename them: a reserved name cannot be called by POST /api/v1/{name}"
    })
})
