/** The contract of surface C: management of all resources. Specification: Surface C. */
import { HttpApi } from "@effect/platform"
import { Authenticated } from "../auth/CurrentExchange.js"
import { ManagementFailures } from "../ErrorSchemas.js"
import { ApiKeysApi } from "./ApiKeysApi.js"
import { AuditApi } from "./AuditApi.js"
import { CallbackSecretApi } from "./CallbackSecretApi.js"
import { ConfigApi } from "./ConfigApi.js"
import { ConnectionsApi } from "./ConnectionsApi.js"
import { ConnectorsApi } from "./ConnectorsApi.js"
import { AuthProvidersApi } from "./AuthProvidersApi.js"
import { CustomersApi } from "./CustomersApi.js"
import { DeadLettersApi } from "./DeadLettersApi.js"
import { EventsApi } from "./EventsApi.js"
import { ExecutionsApi } from "./ExecutionsApi.js"
import { InstallationsApi } from "./InstallationsApi.js"
import { NotificationsApi } from "./NotificationsApi.js"
import { OrganisationsApi, WorkspacesApi } from "./OrganisationsApi.js"
import { QuotaApi } from "./QuotaApi.js"
import { SecretsApi } from "./SecretsApi.js"
import { RolesApi, UsersApi } from "./UsersApi.js"
import { TriggersApi } from "./TriggersApi.js"
import { WebhookEndpointsApi } from "./WebhookEndpointsApi.js"
import { WorkflowsApi } from "./WorkflowsApi.js"

/** Surface C without starting runs, which is `RunApi`. */
export const ResourceApi = HttpApi.make("resource")
  .addError(ManagementFailures)
  .add(OrganisationsApi.middleware(Authenticated))
  .add(WorkspacesApi.middleware(Authenticated))
  .add(CustomersApi.middleware(Authenticated))
  .add(WorkflowsApi.middleware(Authenticated))
  .add(TriggersApi.middleware(Authenticated))
  .add(ExecutionsApi.middleware(Authenticated))
  .add(EventsApi.middleware(Authenticated))
  .add(DeadLettersApi.middleware(Authenticated))
  .add(ApiKeysApi.middleware(Authenticated))
  .add(UsersApi.middleware(Authenticated))
  .add(RolesApi.middleware(Authenticated))
  .add(SecretsApi.middleware(Authenticated))
  .add(CallbackSecretApi.middleware(Authenticated))
  .add(ConfigApi.middleware(Authenticated))
  .add(ConnectorsApi.middleware(Authenticated))
  .add(AuthProvidersApi.middleware(Authenticated))
  .add(ConnectionsApi.middleware(Authenticated))
  .add(InstallationsApi.middleware(Authenticated))
  .add(WebhookEndpointsApi.middleware(Authenticated))
  .add(NotificationsApi.middleware(Authenticated))
  .add(QuotaApi.middleware(Authenticated))
  .add(AuditApi.middleware(Authenticated))
