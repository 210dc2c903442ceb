/** The variables of each node: secrets reach a node by its environment and by files, never by its command line. */
import { Duration, Effect, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import * as path from "node:path"
import { environment, type ServiceConfig } from "../configuration/Config.js"
import { makeDirectory, OperatorError, reasonOf } from "../process/OperatorError.js"
import { loginVariables } from "../postgres/database/Roles.js"
import { keysFolder } from "../vault/InstallationSecrets.js"
import { createSecretFile, readSecretFile } from "../vault/SecretFile.js"
import { type PlannedNode, shareOf } from "./NodePlan.js"
import type { NodePostgres } from "./NodePostgres.js"

/** What of the time that a stop may take nodes of each role have, one role after the other; Postgres has the rest. */
const graceShares = { api: 0.6, runner: 0.3 } as const

/** How long a node of this role may take to stop. */
export const graceOf = ({ shutdownGrace }: ServiceConfig, { role }: Pick<PlannedNode, "role">): Duration.Duration =>
  Duration.millis(Math.ceil(Duration.toMillis(shutdownGrace) * graceShares[role]))

/** The secret of the connections between nodes: the operator's, else that of the data directory, which this creates. */
export const clusterSecretOf = (config: ServiceConfig): Effect.Effect<Redacted.Redacted, OperatorError> => {
  if (Option.isSome(config.clusterSecret))
    return Effect.succeed(Redacted.make(Redacted.value(config.clusterSecret.value).join(",")))
  const file = path.join(config.dataDir, "cluster.secret")
  return Effect.try({
    try: () => {
      makeDirectory(config.dataDir)
      createSecretFile(file, randomBytes(32).toString("hex"))
      return Redacted.make(readSecretFile(file) ?? "")
    },
    catch: (cause) =>
      cause instanceof OperatorError
        ? cause
        : new OperatorError({
            message: `${file} cannot be used: ${reasonOf(cause)}. Set SVC_DATA_DIR to a directory that svc may write.`
          })
  })
}

/** All variables of a node. */
export const environmentOf = (
  node: PlannedNode,
  config: ServiceConfig,
  runners: number,
  { pools, urls, workspaces }: NodePostgres,
  clusterSecret: Redacted.Redacted
): Readonly<Record<string, string>> => {
  const share = shareOf(node, config, runners)
  const isApi = node.role === "api"
  const hasKeys = Option.isSome(config.masterKeys) && Option.isSome(config.keyPepper)
  return {
    ...environment(),
    SVC_ROLE: node.role,
    SVC_CLUSTER_SECRET: Redacted.value(clusterSecret),
    // All nodes are on this machine.
    SVC_NODE_ADDRESS: "",
    SVC_NODE_LISTEN: "",
    SVC_HOST: isApi ? config.host : "127.0.0.1",
    SVC_PORT: isApi ? `${config.port}` : "0",
    SVC_PUBLIC_URL: config.publicUrl,
    SVC_DATA_DIR: path.resolve(config.dataDir, "nodes", node.name),
    [loginVariables.owner]: Redacted.value(urls.owner),
    [loginVariables.writer]: Redacted.value(urls.writer),
    [loginVariables.app]: Redacted.value(urls.app),
    [loginVariables.auditReader]: Redacted.value(urls.auditReader),
    SVC_WS_DATABASE_URL: Option.match(workspaces, { onNone: () => "", onSome: Redacted.value }),
    // The files, which `svc keys rotate` replaces while nodes run.
    ...(hasKeys ? {} : { SVC_KEYS_DIR: path.resolve(keysFolder(config)) }),
    SVC_DEFAULT_PLAN: config.defaultPlan,
    SVC_DB_POOL_APP: `${pools.app}`,
    SVC_DB_POOL_WRITER: `${pools.writer}`,
    SVC_RUNNERS: `${share.runners}`,
    SVC_GUEST_MEMORY_MB: `${share.guestMemory}`,
    SVC_HELD_MEMORY_MB: `${share.heldMemory}`,
    SVC_LOG: config.logFormat,
    SVC_SHUTDOWN_GRACE: `${Duration.toMillis(graceOf(config, node))}ms`
  }
}
