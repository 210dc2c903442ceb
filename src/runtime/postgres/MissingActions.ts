/**
 * Finds actions of built-in connectors that a live deployment is bound to and that this release does not contain: their
 * calls fail until the workflow is published again. Contract: versioning policy.
 */
import type { Sql } from "./database/Sql.js"
import { Effect, Schema } from "effect"
import type { BundledConnector } from "../../domain/connector/Definition.js"
import { builtInAtVersion } from "../../domain/connector/Versions.js"
import { rowDecoder } from "./record/Table.js"

/** An action of a built-in connector that published workflows call and this release does not have. */
export type MissingAction = ReturnType<typeof decode>

const decode = rowDecoder("workflow_versions", {
  connector: Schema.String,
  action: Schema.String,
  version: Schema.Number,
  /** Published workflows that call it. */
  workflows: Schema.Number
})

/** One query, at the start of the service: later publications are bound to the actions of this release. */
export const findMissingActions = (sql: Sql, builtIns: ReadonlyArray<BundledConnector>) =>
  Effect.map(
    sql`
      SELECT b ->> 'connector' AS connector, b ->> 'action' AS action, (b ->> 'version')::int AS version,
        count(DISTINCT d.workflow_id)::int AS workflows
      FROM deployments d
      JOIN workflows w ON w.id = d.workflow_id AND w.deleted_at IS NULL AND w.status = 'published'
      JOIN workflow_versions v ON v.workflow_id = d.workflow_id AND v.number = d.number
      CROSS JOIN LATERAL jsonb_array_elements(v.bindings) b
      WHERE (b ->> 'version') IS NOT NULL AND b ->> 'connector' = ANY(${builtIns.map(({ slug }) => slug)}::text[])
        AND NOT EXISTS (SELECT FROM connectors c WHERE c.org = d.org AND c.slug = b ->> 'connector' AND c.deleted_at IS NULL)
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    (bound) =>
      bound.map(decode).filter(({ action, connector, version }) => {
        const builtIn = builtIns.find(({ slug }) => slug === connector)
        return builtIn !== undefined && builtInAtVersion(builtIn, { name: action, version, bound: true }) === undefined
      })
  )
