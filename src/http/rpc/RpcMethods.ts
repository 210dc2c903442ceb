/**
 * The methods of the typed RPC: each asks one operation of the REST surfaces, by whose row it is guarded, decoded and
 * answered. Specification: typed RPC.
 */
import { Schema, SchemaAST } from "effect"
import type { Contract } from "../operation/Contract.js"
import { executeContract } from "../operations/Execution.js"
import { operationOf } from "../operations/Surfaces.js"

/**
 * How a method is served. `operation`: as the operation is. `start`, `run`: starts a run; `run` waits for its end. `await`:
 * waits for the end of a run. `proxy`: calls a provider, of any HTTP method. A topic: watches it, as a stream.
 */
export type RpcKind = "operation" | "start" | "run" | "await" | "proxy" | { readonly topic: "executions" | "events" }

/** A method. */
export interface RpcMethod {
  readonly contract: Contract
  readonly kind: RpcKind
  /** The parameter of the path, and the member of the payload that has it. */
  readonly id?: { readonly parameter: string; readonly member: string }
  /** Whether the operation answers with a record in an object that has nothing else. */
  readonly hasEnvelope: boolean
}

const answersRecord = ({ outputs }: Contract): boolean =>
  outputs.every(({ schema }) => {
    const members = SchemaAST.getPropertySignatures(Schema.encodedSchema(schema).ast)
    return members.length === 1 && members[0]?.name === "data"
  })

const methodOf = (contract: Contract, kind: RpcKind, id?: RpcMethod["id"]): RpcMethod => ({
  contract,
  kind,
  hasEnvelope: kind === "operation" && answersRecord(contract),
  ...(id === undefined ? {} : { id })
})

const asked = (name: string): RpcMethod => methodOf(operationOf(name), "operation")
const ofId = (name: string, parameter: string, kind: RpcKind = "operation"): RpcMethod =>
  methodOf(operationOf(name), kind, { parameter, member: "id" })
const started = (kind: "start" | "run"): RpcMethod =>
  methodOf(executeContract, kind, { parameter: "workflowId", member: "workflowId" })
const watched = (topic: "executions" | "events"): RpcMethod => methodOf(operationOf("watch.open"), { topic })

/** The method that calls providers; its contract is that of the HTTP method. */
export const proxyMethod = "connections.call"

/** Waits for a run that was started. */
export const awaitMethod = ofId("executions.get", "eid", "await")

/** By name. */
export const rpcMethods: ReadonlyMap<string, RpcMethod> = new Map<string, RpcMethod>([
  ["executions.start", started("start")],
  ["executions.run", started("run")],
  ["executions.await", awaitMethod],
  ["executions.get", ofId("executions.get", "eid")],
  ["executions.cancel", ofId("executions.cancel", "eid")],
  ["executions.list", asked("executions.list")],
  ["executions.watch", watched("executions")],
  ["events.publish", asked("events.inject")],
  ["events.get", ofId("events.get", "evt")],
  ["events.list", asked("events.list")],
  ["events.watch", watched("events")],
  ["connections.list", asked("connections.list")],
  ["connections.test", ofId("connections.test", "conn")],
  [proxyMethod, methodOf(operationOf("connections.get"), "proxy")],
  ["tenants.get", ofId("customers.get", "cid")],
  ["tenants.list", asked("customers.list")],
  ["tenants.usage", asked("quota.usage")]
])

/** Whether the method answers with a stream. */
export const isStream = ({ kind }: RpcMethod): boolean => typeof kind === "object"

/** Whether the method stays open for as long as a run: it counts with the streams of its connection. */
export const isLasting = ({ kind }: RpcMethod): boolean =>
  typeof kind === "object" || kind === "await" || kind === "run"
