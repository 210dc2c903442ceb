/** The scope rules of endpoints that reach resources of every type at once. */
import type { ScopeRules } from "./operation/Contract.js"

/** Refuses every key that is narrowed to particular resources of any type. */
export const closedToNarrowedKeys: ScopeRules = {
  connector: "closed",
  connection: "closed",
  workflow: "closed",
  widget: "closed",
  secret: "closed",
  environment: "closed"
}

/** The endpoint's record belongs to workflows and environments. */
export const recordOfRun: ScopeRules = { ...closedToNarrowedKeys, workflow: "record", environment: "record" }

/** Counts what belongs to workflows and environments in scope. */
export const countedByRun: ScopeRules = { ...closedToNarrowedKeys, workflow: "count", environment: "count" }

/** Reaches what belongs to workflows and environments in scope. */
export const reachingRuns: ScopeRules = { ...closedToNarrowedKeys, workflow: "reach", environment: "reach" }

/** Shows what belongs to workflows and environments in scope, which have no scope by other types. */
export const listedByRun: ScopeRules = { ...closedToNarrowedKeys, workflow: "list", environment: "list" }
