/** Calls of parsers that read nothing large from outside on the main loop, each with the reason. */

/** Rooms whose every parser reads what the operator or the service itself wrote, or runs elsewhere. */
export const ownRooms: { readonly [reason: string]: ReadonlyArray<string> } = {
  "what the operator configured, and files of the service": [
    "src/runtime/audit/Checkpoints.ts",
    "src/runtime/backup/",
    "src/domain/connector/check/",
    "src/runtime/cli/",
    "src/runtime/configuration/",
    "src/runtime/embedded/",
    "src/runtime/jail/",
    "src/runtime/nats/Link.ts",
    "src/runtime/oauth/UnstoredTokens.ts",
    "src/runtime/program/",
    "src/runtime/supervisor/",
    "src/runtime/telemetry/Metrics.ts",
    "src/runtime/vault/"
  ],
  "a jailed worker, which a deadline ends": [
    "src/domain/connector/import/",
    "src/domain/flow/Resume.ts",
    "src/domain/flow/Script.ts",
    "src/runtime/computing/worker/",
    "src/runtime/computing/workflow/FlowUse.ts"
  ],
  "a runner, within the CPU time of its guest": ["src/runtime/sandbox/runner/"],
  "the browser of the person who typed or asked for it": ["src/http/web/console/", "src/http/web/panel/"],
  "the service whose client asks, in the client's process": ["src/http/rpc/client/"],
  "text of the program": ["src/http/reference/", "src/http/Documents.ts"]
}

export const ownCalls: { readonly [reason: string]: ReadonlyArray<string> } = {
  "text of the program": [
    "src/actors/connection/ChangeRecords.ts#makeChangeRecords",
    "src/actors/provider/Actor.ts#layer",
    "src/actors/unified/OpenEntity.ts#categoryOf",
    "src/actors/execution/calls/UnifiedCalls.ts#metaOf",
    "src/domain/Ids.ts#id",
    "src/domain/model/Countries.ts#codes",
    "src/domain/access/Person.ts#checkRole",
    "src/domain/workflow/Workflow.ts#reservedNames",
    "src/domain/connector/Definition.ts#decodeActions",
    "src/domain/connector/Definition.ts#decodeManifest",
    "src/domain/connector/FileSchema.ts#fileSchema",
    "src/domain/flow/FlowSchema.ts#schemaOf",
    "src/http/mcp/OperationTool.ts#withMember",
    "src/http/operation/Contract.ts#auditAction",
    "src/http/operation/Operation.ts#contract",
    "src/http/operation/Operation.ts#operationsOf",
    "src/http/operations/Surfaces.ts#sharedNames",
    "src/runtime/http/DocumentFiles.ts#makeDocumentFiles",
    "src/runtime/http/BuiltFiles.ts#builtList",
    "src/runtime/http/BuiltFiles.ts#readBuilt",
    "src/runtime/postgres/organisation/Keys.ts#layer",
    "src/runtime/postgres/connection/ConnectionRows.ts#loadSql",
    "src/runtime/postgres/event/EventReads.ts#withoutPayload",
    "src/runtime/workspace/Walls.ts#allowed",
    "src/runtime/workspace/Walls.ts#views"
  ],
  "what the operator configured": [
    "src/runtime/egress/Address.ts#parseAllowList",
    "src/runtime/egress/OperatorNetworks.ts#make",
    "src/runtime/postgres/database/Pools.ts#withServerSettings",
    "src/runtime/postgres/database/Roles.ts#urlsOf",
    "src/runtime/postgres/database/Roles.ts#urlsOfLogin",
    "src/runtime/postgres/database/Roles.ts#variableOf",
    "src/runtime/postgres/database/Roles.ts#withAdmin",
    "src/runtime/postgres/database/UnreachableDatabase.ts#explainUnreachable",
    "src/runtime/workspace/WorkspaceDatabases.ts#makeLogins",
    "src/runtime/workspace/WorkspaceDatabases.ts#openWorkspaceDatabases"
  ],
  "written and sealed or signed by this service, which checks that first": [
    "src/actors/connection/credential/AuthorizationRedirect.ts#makeAuthorizationRedirect",
    "src/actors/management/run/RowCursor.ts#rowAfter",
    "src/actors/management/Pages.ts#readCursor",
    "src/actors/pipeline/DeliverySender.ts#makeSender",
    "src/actors/unified/ListCursors.ts#makeListCursors",
    "src/domain/trigger/Schedule.ts#cachedOffset",
    "src/domain/connection/Credential.ts#decode",
    "src/domain/connection/Grant.ts#decode",
    "src/domain/connector/ConnectorRecord.ts#readStoredDefinition",
    "src/http/pipeline/Idempotency.ts#makeReplySeal"
  ],
  "a message of another node of this build, of texts that its surface has read and bounded": [
    "src/actors/execution/ReceivedStarts.ts#decodeOrder",
    "src/actors/execution/RemoteStart.ts#decodeOutcome"
  ],
  "a verdict of a runner, written by the program of the service": ["src/runtime/sandbox/RunnerProcess.ts#startRunner"],
  "a path of at most a thousand characters, by the parser of paths, which has a row": [
    "src/actors/execution/calls/DiffCalls.ts#readPath"
  ],
  "a part of a request's head, by a parser that the rows of queryFields and readAppWebhookId measure": [
    "src/actors/connection/credential/AuthorizationCallback.ts#isForeignIssuer",
    "src/actors/management/access/ProviderSignIn.ts#make",
    "src/actors/management/connector/ConnectorPages.ts#make",
    "src/domain/event/WebhookPayload.ts#bodyForm",
    "src/actors/management/unified/UnifiedApi.ts#formOf",
    "src/domain/model/Models.ts#findModel",
    "src/http/auth/RefusalCounters.ts#groups",
    "src/http/auth/RefusalCounters.ts#subscriberOf",
    "src/http/connect/Pages.ts#queryOf",
    "src/http/pipeline/OperationHandlers.ts#decodeLax",
    "src/http/pipeline/OperationHandlers.ts#decodedPath",
    "src/http/pipeline/NamedCustomer.ts#customersNamedOutsideHeaders",
    "src/http/operations/Workflows.ts#workflowsOperations",
    "src/http/mcp/GatewayAddress.ts#queryOf",
    "src/http/mcp/GatewayAddress.ts#siteRefusal",
    "src/runtime/http/BuiltFiles.ts#takesGzip",
    "src/runtime/oauth/OidcProvider.ts#make"
  ],
  "the bodies of all endpoints are measured, in each member": [
    "src/actors/management/connector/ConnectorImport.ts#readImport",
    "src/domain/access/EmbedOrigin.ts#originMistake",
    "src/domain/event/AutoReplay.ts#decode",
    "src/domain/organisation/Notification.ts#HookUrl",
    "src/domain/organisation/Notification.ts#decodeTargets",
    "src/domain/SchemaIssues.ts#decodeStrict",
    "src/domain/connection/Requests.ts#RedirectUrl",
    "src/http/pipeline/OperationHandlers.ts#decoderOf"
  ],
  "a URL or a name of a stored record, which was bounded when it was saved; parseUrl bounds the host": [
    "src/actors/connection/credential/AuthorizationRedirect.ts#makeAuthorizationRedirect",
    "src/actors/connection/CallAuthorizer.ts#make",
    "src/actors/execution/calls/ConnectorCalls.ts#makeConnectorCalls",
    "src/actors/execution/calls/FetchCalls.ts#makeFetchCalls",
    "src/actors/execution/PendingCall.ts#tracedName",
    "src/actors/execution/trace/Trace.ts#connectorOf",
    "src/domain/organisation/Notification.ts#plainTargetUrls",
    "src/domain/organisation/Notification.ts#recordPath",
    "src/domain/connector/request/ActionTest.ts#staysWithin",
    "src/domain/connector/request/BaseUrl.ts#configuredUrl",
    "src/domain/connector/request/BaseUrl.ts#renderUrl",
    "src/domain/connector/request/BaseUrl.ts#urlBase",
    "src/domain/connector/request/Signing.ts#payloadParts",
    "src/http/connect/OutcomePages.ts#makeOutcomePages",
    "src/http/connect/Problem.ts#missingField",
    "src/http/connect/SessionForm.ts#makeSessionForm",
    "src/runtime/egress/ConnectedEgress.ts#layer",
    "src/runtime/egress/Egress.ts#Journey",
    "src/runtime/egress/MailEgress.ts#readRequest",
    "src/runtime/egress/RequestForm.ts#readUrl"
  ],
  "a member of a definition, which a worker has validated": [
    "src/domain/connector/EntityModels.ts#unifiedModelOf",
    "src/domain/mapping/ItemPath.ts#scan",
    "src/domain/connector/request/Signing.ts#hmac",
    "src/domain/connector/request/Signing.ts#keyOf",
    "src/domain/expression/Template.ts#cachedTemplate",
    "src/domain/connector/request/UnsignedRequest.ts#pathOf"
  ],
  "runs in a worker: the validation of definitions, patterns, and differences of texts": [
    "src/domain/LineDiff.ts#diffLines",
    "src/domain/connector/ActionChecks.ts#readsArgument",
    "src/domain/connector/ActionChecks.ts#urlPathMistakes",
    "src/domain/connector/AuthChecks.ts#baseMistakes",
    "src/domain/expression/Checks.ts#pathMistakes",
    "src/domain/expression/Checks.ts#templateMistakes",
    "src/domain/mapping/FieldMapChecks.ts#transformMistakes",
    "src/domain/expression/Pattern.ts#compilePattern",
    "src/domain/expression/Pattern.ts#patternMistake",
    "src/domain/expression/Pattern.ts#schemaPatternMistake",
    "src/domain/connector/Validation.ts#decodePointer",
    "src/domain/connector/Validation.ts#decodeLeniently",
    "src/domain/connector/Validation.ts#decodeStrictly"
  ],
  "a value of a provider's record, in at most 64 KiB of text": [
    "src/domain/mapping/ValueReading.ts#splitText",
    "src/domain/model/Numbers.ts#decimalPointOf",
    "src/domain/model/Times.ts#writeTime"
  ],
  "the name of a host call, which a frame of the runner bounds, or the action of a step, of 128 characters": [
    "src/actors/execution/calls/UnifiedCalls.ts#makeUnifiedCalls",
    "src/domain/unified/RecordCall.ts#readRecordCall"
  ],
  "a notice of another node, which Postgres limits to 8,000 bytes": [
    "src/runtime/cluster/ChangeNotices.ts#openChangeNotices",
    "src/runtime/cluster/CommitNotices.ts#openCommitNotices"
  ],
  "what the kernel tells of the service's own processes": ["src/runtime/process/StartPriority.ts#threadsOf"],
  "lines of the service's own processes, in pieces of 4 MiB at most": ["src/runtime/process/Lines.ts#splitLines"],
  "an answer that an operation of this node has just written": [
    "src/http/mcp/OperationTool.ts#valueIn",
    "src/http/rpc/RpcReplies.ts#failureIn"
  ],
  "writes a request, and parses nothing": [
    "src/http/mcp/OperationTool.ts#toolRequest",
    "src/http/rpc/RpcRequest.ts#queryText",
    "src/runtime/oauth/TokenEndpoint.ts#asForm",
    "src/runtime/oauth/TokenEndpoint.ts#formEncoded"
  ]
}
