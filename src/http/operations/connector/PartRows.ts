/** What the operations on parts of connectors share: who may read a part, and who may change it in the draft. */
import { ConnectorPartReads } from "../../../actors/management/connector/ConnectorPartReads.js"
import { ConnectorParts } from "../../../actors/management/connector/ConnectorParts.js"
import { auditAction, type Words } from "../../operation/Contract.js"
import { operationsOf } from "../../operation/Operation.js"

type Parameters = NonNullable<Words["parameters"]>

/** Rows of operations that read parts. `parameters`: descriptions of those in their paths. */
export const readsOfParts = (parameters: Parameters) =>
  operationsOf({
    with: ConnectorPartReads,
    resource: "connector",
    sharing: "read",
    scoped: { connector: "record" },
    permit: "connectors:read",
    parameters
  })

/** Rows of operations that change parts of the draft. `parameters`: descriptions of those in their paths. */
export const changesOfParts = (parameters: Parameters) =>
  operationsOf({
    with: ConnectorParts,
    resource: "connector",
    sharing: "change",
    scoped: { connector: "record" },
    permit: "connectors:write",
    audit: auditAction("connector.update"),
    parameters
  })
