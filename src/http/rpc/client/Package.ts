/** What the package exports as `./rpc`: the client of the typed RPC, its records and its failures. */
export type { ApiForm, CallOptions, ListedPage, RpcApi, WatchStart } from "./Api.js"
export { makeClient } from "./Client.js"
export { type FailureOf, Failures, type RpcFailure } from "./Failures.js"
export { ConnectionMethods, EventMethods, ExecutionMethods, SvcMethods, TenantMethods } from "./Methods.js"
export type { RpcClientOptions } from "./Options.js"
export { connect, type RpcClient } from "./PromiseClient.js"
export type { EndedExecution, ProviderReply, StartedExecution, WatchItem } from "./Records.js"
