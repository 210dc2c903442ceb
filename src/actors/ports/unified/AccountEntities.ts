/** Asks providers which fields an account has of a connector's entities. Nothing is kept. Contract: connector record, discover. */
import { type Effect, Context } from "effect"
import type { AccountEntity } from "../../../domain/connector/AccountFields.js"
import type { ConnectorDefinition } from "../../../domain/connector/Definition.js"
import type { EntityDefinition } from "../../../domain/connector/Entity.js"
import type { Failure } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"
import type { CallableConnection } from "../connection/ConnectionReads.js"
import type { RecordCallFailed } from "./UnifiedRecords.js"

/** The account, and the entities whose definition names an action that describes them. */
export interface AccountQuery {
  readonly organisationId: OrganisationId
  readonly connection: Pick<CallableConnection, "id" | "config">
  readonly definition: ConnectorDefinition
  readonly entities: ReadonlyArray<EntityDefinition>
}

export class AccountEntities extends Context.Tag("svc/AccountEntities")<
  AccountEntities,
  {
    /** By the entity's name. An action that several entities name with the same arguments is called once. */
    readonly describe: (
      query: AccountQuery
    ) => Effect.Effect<ReadonlyMap<string, AccountEntity>, Failure | RecordCallFailed>
  }
>() {}
