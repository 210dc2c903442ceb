/** Calls of parsers that read nothing large from outside on the main loop, each with the reason. */

/** Rooms whose every parser reads what the operator or the service itself wrote, or runs elsewhere. */
export const ownRooms: { readonly [reason: string]: ReadonlyArray<string> } = {
  "what the operator configured, and files of the service": [
    "src/runtime/audit/Checkpoints.ts",
    "src/runtime/backup/",
    "src/runtime/cli/",
    "src/runtime/configuration/",
    "src/runtime/embedded/",
    "src/runtime/jail/",
    "src/runtime/nats/Link.ts",
    "src/runtime/program/",
    "src/runtime/telemetry/Metrics.ts",
    "src/runtime/vault/"
  ],
  "a jailed worker, which a deadline ends": ["src/domain/connector/import/", "src/runtime/computing/worker/"],
  "a runner, within the CPU time of its guest": ["src/runtime/sandbox/runner/"],
  "text of the program": ["src/http/reference/", "src/http/Documents.ts"]
}

export const ownCalls: { readonly [reason: string]: ReadonlyArray<string> } = {
  "text of the program": [
    "src/actors/connection/ChangeRecords.ts#auditOf",
    "src/actors/provider/Actor.ts#layer",
    "src/domain/Ids.ts#id",
    "src/domain/Person.ts#checkRole",
    "src/domain/Workflow.ts#reservedNames",
    "src/domain/connector/Definition.ts#decodeActions",
    "src/domain/connector/Definition.ts#decodeManifest",
    "src/domain/connector/FileSchema.ts#fileSchema",
    "src/domain/connector/Path.ts#nextSegment",
    "src/http/operation/Contract.ts#auditAction",
    "src/http/operation/Operation.ts#contract",
    "src/runtime/http/DocumentFiles.ts#makeDocumentFiles",
    "src/runtime/http/Docs.ts#bytesFile",
    "src/runtime/http/Docs.ts#indexFile",
    "src/runtime/http/Docs.ts#readBuilt",
    "src/runtime/postgres/Keys.ts#load",
    "src/runtime/postgres/connections/ConnectionRows.ts#loadSql",
    "src/runtime/postgres/events/EventReads.ts#withoutPayload",
    "src/runtime/workspace/Walls.ts#allowed",
    "src/runtime/workspace/Walls.ts#views"
  ],
  "what the operator configured": [
    "src/runtime/egress/Address.ts#parseAllowList",
    "src/runtime/egress/OperatorNetworks.ts#make",
    "src/runtime/postgres/Pools.ts#withServerSettings",
    "src/runtime/postgres/Roles.ts#urlsOf",
    "src/runtime/postgres/Roles.ts#urlsOfLogin",
    "src/runtime/postgres/Roles.ts#variableOf",
    "src/runtime/postgres/Roles.ts#withAdmin",
    "src/runtime/postgres/UnreachableDatabase.ts#explainUnreachable",
    "src/runtime/workspace/WorkspaceDatabases.ts#makeLogins",
    "src/runtime/workspace/WorkspaceDatabases.ts#openWorkspaceDatabases"
  ],
  "written and sealed or signed by this service, which checks that first": [
    "src/actors/connection/AuthorizationRedirect.ts#challengeOf",
    "src/actors/connection/CallGrant.ts#ownsPermit",
    "src/actors/connection/CallGrant.ts#returnPermit",
    "src/actors/management/ExecutionHistory.ts#lineAfter",
    "src/actors/management/Pages.ts#readCursor",
    "src/actors/pipeline/DeliverySender.ts#mail",
    "src/domain/Notification.ts#payloads",
    "src/domain/Schedule.ts#cachedOffset",
    "src/domain/connection/Credential.ts#decode",
    "src/domain/connection/Grant.ts#decode",
    "src/domain/connector/ConnectorRecord.ts#readStoredDefinition",
    "src/http/pipeline/Idempotency.ts#makeReplySeal",
    "src/runtime/postgres/ProviderWindows.ts#decode"
  ],
  "a verdict of a runner, written by the program of the service": ["src/runtime/sandbox/RunnerProcess.ts#startRunner"],
  "a part of a request's head, by a parser that the rows of queryFields and readAppWebhookId measure": [
    "src/actors/connection/AuthorizationCallback.ts#isForeignIssuer",
    "src/actors/management/ConnectorPages.ts#list",
    "src/domain/WebhookPayload.ts#bodyForm",
    "src/http/auth/RefusalCounters.ts#groups",
    "src/http/auth/RefusalCounters.ts#subscriberOf",
    "src/http/connect/Pages.ts#queryOf",
    "src/http/pipeline/OperationHandlers.ts#decodeLax",
    "src/http/pipeline/OperationHandlers.ts#decodedPath",
    "src/http/pipeline/NamedCustomer.ts#customersNamedOutsideHeaders",
    "src/http/operations/Workflows.ts#workflowsOperations",
    "src/runtime/http/Docs.ts#takesGzip"
  ],
  "the bodies of all endpoints are measured, in each member": [
    "src/actors/management/ConnectorImport.ts#readImport",
    "src/domain/AutoReplay.ts#decode",
    "src/domain/Notification.ts#HookUrl",
    "src/domain/Notification.ts#decodeTargets",
    "src/domain/SchemaIssues.ts#decodeStrict",
    "src/domain/connection/Requests.ts#RedirectUrl",
    "src/http/pipeline/OperationHandlers.ts#decoderOf"
  ],
  "a URL or a name of a stored record, which was bounded when it was saved; parseUrl bounds the host": [
    "src/actors/connection/AuthorizationRedirect.ts#authorizationUrl",
    "src/actors/connection/CallAuthorizer.ts#sign",
    "src/actors/execution/ConnectorCalls.ts#makeConnectorCalls",
    "src/actors/execution/FetchCalls.ts#makeFetchCalls",
    "src/actors/execution/HostCalls.ts#make",
    "src/actors/execution/Progress.ts#Progress",
    "src/actors/execution/Trace.ts#connectorOf",
    "src/domain/Notification.ts#plainTargetUrls",
    "src/domain/Notification.ts#recordPath",
    "src/domain/connector/BaseUrl.ts#configuredUrl",
    "src/domain/connector/BaseUrl.ts#renderUrl",
    "src/domain/connector/BaseUrl.ts#urlBase",
    "src/domain/connector/Signing.ts#payloadParts",
    "src/http/connect/OutcomePages.ts#makeOutcomePages",
    "src/http/connect/Problem.ts#missingField",
    "src/http/connect/SessionForm.ts#redirectToProvider",
    "src/http/connect/SessionForm.ts#targetsOf",
    "src/runtime/egress/ConnectedEgress.ts#openGrant",
    "src/runtime/egress/Egress.ts#Journey",
    "src/runtime/egress/MailEgress.ts#readRequest",
    "src/runtime/egress/RequestForm.ts#readUrl"
  ],
  "a member of a definition, which a worker has validated": [
    "src/domain/connector/ConnectorOffer.ts#coverageOf",
    "src/domain/connector/Signing.ts#hmac",
    "src/domain/connector/Signing.ts#keyOf",
    "src/domain/connector/Template.ts#cachedTemplate",
    "src/domain/connector/UnsignedRequest.ts#pathOf"
  ],
  "runs in a worker: the validation of definitions, patterns, and differences of texts": [
    "src/domain/LineDiff.ts#diffLines",
    "src/domain/connector/ActionChecks.ts#readsArgument",
    "src/domain/connector/ActionChecks.ts#urlPathMistakes",
    "src/domain/connector/AuthChecks.ts#baseMistakes",
    "src/domain/connector/Checks.ts#pathMistakes",
    "src/domain/connector/Checks.ts#templateMistakes",
    "src/domain/connector/EntityChecks.ts#listCount",
    "src/domain/connector/EntityChecks.ts#targetMistakes",
    "src/domain/connector/Pattern.ts#compilePattern",
    "src/domain/connector/Pattern.ts#patternMistake",
    "src/domain/connector/Pattern.ts#schemaPatternMistake",
    "src/domain/connector/SharedSchemas.ts#decodePointer",
    "src/domain/connector/Validation.ts#decodeLeniently",
    "src/domain/connector/Validation.ts#decodeStrictly"
  ],
  "writes a request, and parses nothing": [
    "src/runtime/oauth/TokenEndpoint.ts#asForm",
    "src/runtime/oauth/TokenEndpoint.ts#formEncoded"
  ]
}
