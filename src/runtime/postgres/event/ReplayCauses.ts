/**
 * Starts replays of dead letters whose cause is gone. Part of the statement that publishes domain events, so that no cause
 * is lost, and none is followed twice at once.
 */
import { autoReplayKey } from "../../../domain/event/AutoReplay.js"
import type { PlatformValues } from "../../../domain/organisation/Configuration.js"
import { autoReplays, eventLimits } from "../../../domain/Limits.js"

/** The platform's policy as JSON; `null`: none. */
export const platformAutoReplay = (platform: PlatformValues): string | null =>
  Object.hasOwn(platform, autoReplayKey) ? JSON.stringify(platform[autoReplayKey]) : null

/**
 * The condition on dead letters `d` of runs and routes of a workflow. Expressions of SQL; `customerId` is null if it was
 * deployed for all customers.
 */
export const deployedLetters = (workflowId: string, environments: string, customerId: string): string =>
  `d.context->>'workflowId' = ${workflowId}
   AND COALESCE(d.context->>'environment' = ANY(${environments}), true)
   AND (${customerId} IS NULL OR d.customer_id = ${customerId})`

/**
 * The condition on dead letters `d` of a connection: of its events, and of runs for its customer that a connection
 * refused.
 */
export const reconnectedLetters = (connectionId: string, ownerId: string): string =>
  `(d.connection_id = ${connectionId}
    OR d.error->>'category' = 'auth' AND d.customer_id IS NOT DISTINCT FROM ${ownerId})`

const deployed = deployedLetters(
  "g.subject",
  "ARRAY(SELECT jsonb_array_elements_text(g.payload->'environments'))",
  "g.customer_id"
)
const reconnected = reconnectedLetters("g.subject", "g.customer_id")

/** The dead letters that one type of event replays, and the filter that finds them again. */
const causes = [
  {
    type: "connection.reactivated",
    cause: "connection.reactivated",
    subject: "g.subject",
    letters: reconnected,
    filter: `jsonb_build_object('cause', 'connection.reactivated', 'connectionId', g.subject, 'ownerId', g.customer_id)`
  },
  {
    type: "workflow.deployed",
    cause: "deploy",
    subject: "g.subject || (g.payload->>'environments') || COALESCE(g.customer_id, '')",
    letters: deployed,
    filter: `jsonb_build_object('cause', 'deploy', 'workflowId', g.subject, 'environments', g.payload->'environments',
      'customerId', g.customer_id)`
  }
] as const

const candidatesOf = (platform: string) =>
  causes.map(
    ({ cause, filter, letters, subject, type }) => `
    SELECT DISTINCT ON (g.org, w.id, ${subject}) g.org, w.id AS space, '${cause}' AS cause, ${subject} AS subject, g.at, ${filter} AS resolved
    FROM gone g JOIN workspaces w ON w.org = g.org
    WHERE g.type = '${type}' AND svc_has_auto_replay(g.org, ${platform}) AND EXISTS (
      SELECT FROM dead_letters d WHERE d.org = g.org AND d.space = w.id AND d.status = 'pending' AND d.created_at < g.at
        AND ${letters} AND svc_auto_replays(d, '${cause}', ${platform}))
    ORDER BY g.org, w.id, ${subject}, g.at DESC`
  )

/**
 * A CTE that starts a replay for each cause among the events of the CTE `gone`. One that runs for the same cause goes on
 * with the dead letters that came since. `platform`: the parameter of the platform's policy.
 */
export const startedReplays = (platform: string): string => `replaying AS (
    INSERT INTO replays (id, org, space, filter, most, per_second, created_by, cause, subject)
    SELECT svc_new_id('rpl'), c.org, c.space, json_build_object('createdBefore', c.at, 'resolved', c.resolved),
      ${eventLimits.replayed}, ${autoReplays.perSecond}, 'system', c.cause, c.subject
    FROM (${candidatesOf(platform)
      .map((one) => `(${one})`)
      .join(" UNION ALL ")}) c
    ON CONFLICT (org, space, cause, subject) WHERE status = 'running' AND cause IS NOT NULL
    DO UPDATE SET filter = excluded.filter, causes = replays.causes + 1
  )`
